package configs

import (
	"strings"
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

// Filled puts lists into the text of a message: {privacy} stands for the keys of a section,
// {optimizer.name} for what can be chosen as the value of a key, {only optimizer.beta1} for where
// it means something, {layers} for the names of layers. A table that gets another row leaves the
// tests as they are.
func Filled(text string) string {
	lists := []string{"{layers}", strings.Join(layerKinds.Names(), ", ")}
	sections := map[string]bool{"": true}
	for _, f := range fields {
		section, _ := f.split()
		sections[section] = true
		if f.only != nil {
			lists = append(lists, "{only "+f.path+"}", f.only.String())
		}
		if names, ok := f.format.(interface{ Names() []string }); ok {
			lists = append(lists, "{"+f.path+"}", strings.Join(names.Names(), ", "))
		}
	}
	for section := range sections {
		lists = append(lists, "{"+section+"}", strings.Join(children(section), ", "))
	}
	return strings.NewReplacer(lists...).Replace(text)
}
