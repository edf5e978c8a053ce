package configs

import (
	"testing"

	"dpsgd/internal/setting"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// AddLayer makes the tables of layers one row longer for the time of a test.
func AddLayer(t *testing.T, kind setting.Kind[model.Layer]) {
	before := layerKinds
	layerKinds = append(model.Kinds(), kind)
	t.Cleanup(func() { layerKinds = before })
}

// AddRule makes the table of update rules one row longer for the time of a test.
func AddRule(t *testing.T, kind setting.Kind[optimizer.UpdateRule]) {
	before := fields
	fields = fieldsOf(append(optimizer.UpdateRules(), kind), optimizer.Curves())
	t.Cleanup(func() { fields = before })
}

// AddCurve makes the table of schedules one row longer for the time of a test.
func AddCurve(t *testing.T, kind setting.Kind[optimizer.Curve]) {
	before := fields
	fields = fieldsOf(optimizer.UpdateRules(), append(optimizer.Curves(), kind))
	t.Cleanup(func() { fields = before })
}
