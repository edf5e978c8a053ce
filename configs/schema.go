package configs

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

type object = setting.Object

// Schema returns the JSON schema (draft 2020-12) of configuration files, for editors that complete
// and check while one types. It is generated from the table that Parse uses; Parse checks more,
// such as keys that mean nothing beside others.
func Schema() []byte {
	return SchemaFile("Configuration of a private training run", append(sectionSchema(""), "$defs", LayerSchemas()))
}

// SchemaFile returns the indented text of a schema file with this title and the keys of root.
func SchemaFile(title string, root object) []byte {
	all := object{"$schema", "https://json-schema.org/draft/2020-12/schema", "title", title}
	all = append(all, root...)
	compact, err := all.MarshalJSON()
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
			properties = append(properties, name, f.schema())
		} else {
			properties = append(properties, name, sectionSchema(path))
		}
	}
	s := append(object{"type", "object", "additionalProperties", false}, requirements(section)...)
	return append(s, "properties", properties)
}

// requirements returns the part of a section's schema that says which keys it must or cannot have.
func requirements(section string) object {
	require := func(keys ...string) object { return object{"required", keys} }
	return map[string]object{
		"":         require("data", "privacy"),
		"data":     {"oneOf", dataSchemas()},
		"model":    {"not", require("name", "layers")},
		"privacy":  {"anyOf", []object{require("epsilon"), require("noise_multiplier")}},
		"training": {"not", require("epochs", "steps")},
	}[section]
}

func (f *field) schema() object {
	s := append(f.format.Schema(), "description", f.meaning())
	if f.hasDefault() {
		s = append(s, "default", f.defaultValue())
	}
	return s
}

// meaning returns the documentation of a field, with the condition under which it counts.
func (f *field) meaning() string {
	if f.only == nil {
		return f.doc
	}
	return f.doc + " Only with " + f.only.String() + "."
}

// defaultValue returns a pointer to the field's value in DefaultConfig, or its name if it has one.
func (f *field) defaultValue() any {
	defaults := DefaultConfig()
	value := f.at(&defaults)
	if chosen, ok := reflect.ValueOf(value).Elem().Interface().(named); ok {
		return chosen.Name()
	}
	return value
}

// hasDefault reports whether a file may leave the key out, and has DefaultConfig's value then.
func (f *field) hasDefault() bool {
	defaults := DefaultConfig()
	if f.given(&defaults) {
		return true
	}
	n, isNumber := f.format.(setting.Number)
	optional := isNumber && n.Word != ""
	list := reflect.ValueOf(f.at(&defaults)).Elem()
	isList := list.Kind() == reflect.Slice && list.Len() == 0
	required := f.only == withFolder && !strings.HasPrefix(f.path, "performance.") || f.only == withTable || f.only == withText || f.only == withTokens || f.only == withVectors || f.only == withColumns || f.only == withOwnData || f.only == withInit
	return !optional && !isList && len(others(f.path)) == 0 && !required
}

// LayerSchemas returns the definitions of a list of layers and of one layer.
func LayerSchemas() object {
	var bare []string
	var forms []object
	for _, k := range layerKinds {
		arguments := setting.Arguments(k.New())
		if !slices.ContainsFunc(arguments, func(a setting.Argument) bool { return a.Required }) {
			bare = append(bare, k.Name)
		}
		forms = append(forms, object{
			"type", "object",
			"additionalProperties", false,
			"required", []string{k.Name},
			"description", k.Doc,
			"properties", object{k.Name, argumentsSchema(arguments)},
		})
	}
	return object{
		"layers", object{"type", "array", "items", object{"$ref", "#/$defs/layer"}},
		"layer", object{"oneOf", append([]object{{"enum", bare}}, forms...)},
	}
}

// argumentsSchema returns the schema of a mapping of arguments. required names more required keys.
func argumentsSchema(arguments []setting.Argument, required ...string) object {
	properties := object{}
	for _, a := range arguments {
		schema := a.Format.Schema()
		if a.Doc != "" {
			schema = append(schema, "description", a.Doc)
		}
		properties = append(properties, a.Name, schema)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	s := object{"type", "object", "additionalProperties", false}
	if len(required) > 0 {
		s = append(s, "required", required)
	}
	return append(s, "properties", properties)
}

// Key documents one key of a configuration.
type Key struct {
	Path    string // such as privacy.clip_norm
	Value   string // what it may hold, in words
	Default string // as in YAML; "" when there is none
	Doc     string // one sentence or two
}

// Keys lists every key of a configuration in file order.
func Keys() []Key {
	keys := make([]Key, len(fields))
	defaults := DefaultConfig()
	for i, f := range fields {
		keys[i] = Key{Path: f.path, Value: f.format.Expected(), Doc: f.meaning()}
		if f.hasDefault() {
			keys[i].Default = encode(f.format, f.at(&defaults))
		}
	}
	return keys
}
