package configs

import (
	"testing"

	"dpsgd/clip"
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

// AddPolicy makes the table of clipping policies one row longer for the time of a test.
func AddPolicy(t *testing.T, kind setting.Kind[clip.Scheme]) {
	replace(t, fieldsOf(append(clip.Policies(), kind), optimizer.UpdateRules(), optimizer.Curves()))
}

// AddRule makes the table of update rules one row longer for the time of a test.
func AddRule(t *testing.T, kind setting.Kind[optimizer.UpdateRule]) {
	replace(t, fieldsOf(clip.Policies(), append(optimizer.UpdateRules(), kind), optimizer.Curves()))
}

// AddCurve makes the table of schedules one row longer for the time of a test.
func AddCurve(t *testing.T, kind setting.Kind[optimizer.Curve]) {
	replace(t, fieldsOf(clip.Policies(), optimizer.UpdateRules(), append(optimizer.Curves(), kind)))
}

func replace(t *testing.T, by []*field) {
	before := fields
	fields = by
	t.Cleanup(func() { fields = before })
}
