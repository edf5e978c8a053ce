package configs

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.Marshal without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Schema returns the JSON schema (draft 2020-12) of configuration files, for editors that complete
// and check while one types. It is generated from the table that Parse uses; Parse checks more, such
// as keys that mean nothing beside others.
func Schema() []byte {
	root := sectionSchema("")
	return document2020("Configuration of a private training run", root)
}

// networkSchema returns the schema of the files in networks.
func networkSchema() []byte {
	return document2020("Network", object{
		{"type", "object"},
		{"additionalProperties", false},
		{"required", []string{"layers"}},
		{"properties", object{{"layers", layerList{nonEmpty: true}.schema()}}},
	})
}

// sweepSchema returns the schema of the files in sweeps.
func sweepSchema() []byte {
	grid, set := object{}, object{}
	for i := range fields {
		f := &fields[i]
		set = append(set, member{f.path, f.schema()})
		values := append(object{{"type", "array"}, {"minItems", 1}, {"items", f.format.schema()}}, member{"description", f.doc})
		grid = append(grid, member{f.path, values})
	}
	seeds := object{{"type", "array"}, {"minItems", 1}, {"items", seedFormat.schema()}, {"description", "Values of training.seed."}}
	return document2020("Sweep over configurations", object{
		{"type", "object"},
		{"additionalProperties", false},
		{"required", []string{"name", "base"}},
		{"properties", object{
			{"name", append(sweepName.schema(), member{"description", "Folder of the sweep within runs."})},
			{"base", append(basePath.schema(), member{"description", "A preset, or the path of a configuration from this file's folder."})},
			{"set", object{{"type", "object"}, {"additionalProperties", false}, {"properties", set}}},
			{"grid", object{{"type", "object"}, {"minProperties", 1}, {"additionalProperties", false}, {"properties", grid}}},
			{"seeds", seeds},
		}},
	})
}

// document2020 completes a schema to an indented file.
func document2020(title string, root object) []byte {
	all := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}}
	all = append(all, root...)
	all = append(all, member{"$defs", layerSchemas()})
	compact, err := marshal(all)
	if err != nil {
		panic("configs: the schema has no JSON form: " + err.Error())
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		panic("configs: the schema is no JSON: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// sectionSchema returns the schema of a section and what is below it; "" is the whole file.
func sectionSchema(section string) object {
	properties := object{}
	for _, name := range children(section) {
		path := strings.TrimPrefix(section+"."+name, ".")
		if f := fieldAt(path); f != nil {
			properties = append(properties, member{name, f.schema()})
		} else {
			properties = append(properties, member{name, sectionSchema(path)})
		}
	}
	s := object{{"type", "object"}, {"additionalProperties", false}}
	return append(append(s, requirements(section)...), member{"properties", properties})
}

// requirements are the keys that a section must or must not hold together.
func requirements(section string) object {
	require := func(keys ...string) object { return object{{"required", keys}} }
	switch section {
	case "":
		return require("data", "privacy")
	case "data":
		return object{{"oneOf", dataSchemas()}}
	case "model":
		return object{{"not", require("name", "layers")}}
	case "privacy":
		return object{{"anyOf", []object{require("epsilon"), require("noise_multiplier")}}}
	case "training":
		return object{{"not", require("epochs", "steps")}}
	}
	return nil
}

// schema returns the schema of a field, with its documentation.
func (f *field) schema() object {
	doc := f.doc
	if f.only != nil {
		doc += " Only with " + f.only.String() + "."
	}
	s := append(object{}, f.format.schema()...)
	s = append(s, member{"description", doc})
	if defaults := DefaultConfig(); f.hasDefault() {
		s = append(s, member{"default", f.at(&defaults)})
	}
	return s
}

// hasDefault reports whether a file may leave the key out and DefaultConfig says what counts then.
func (f *field) hasDefault() bool {
	defaults := DefaultConfig()
	if f.given(&defaults) {
		return true
	}
	n, isNumber := f.format.(number)
	optional := isNumber && n.word != ""
	ownData := f.only == withFolder || f.only == withTable || f.only == withOwnData
	return !optional && len(others(f.path)) == 0 && !ownData
}

// layerSchemas returns the definitions of a list of layers and of one layer.
func layerSchemas() object {
	var bare []string
	var forms []object
	for _, k := range layerKinds {
		if len(k.arguments) == 0 {
			bare = append(bare, k.name)
		}
		forms = append(forms, object{
			{"type", "object"},
			{"additionalProperties", false},
			{"required", []string{k.name}},
			{"description", k.doc},
			{"properties", object{{k.name, k.schema()}}},
		})
	}
	return object{
		{"layers", object{{"type", "array"}, {"items", object{{"$ref", "#/$defs/layer"}}}}},
		{"layer", object{{"oneOf", append([]object{{{"enum", bare}}}, forms...)}}},
	}
}

// schema returns the schema of the arguments of a layer.
func (k *layerKind) schema() object {
	properties, required := object{}, []string{}
	for _, a := range k.arguments {
		properties = append(properties, member{a.name, append(append(object{}, a.format.schema()...), member{"description", a.doc})})
		if a.required {
			required = append(required, a.name)
		}
	}
	s := object{{"type", "object"}, {"additionalProperties", false}}
	if len(required) > 0 {
		s = append(s, member{"required", required})
	}
	return append(s, member{"properties", properties})
}
