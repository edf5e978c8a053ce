package configs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

var update = flag.Bool("update", false, "rewrite the generated files: the schemas and reference.md")

func TestGeneratedFilesAreCurrent(t *testing.T) {
	for path, want := range map[string][]byte{
		"schema.json":            Schema(),
		"networks/schema.json":   networkSchema(),
		"sweeps/schema.json":     sweepSchema(),
		"statistics/schema.json": statisticsSchema(),
		"reference.md":           Reference(),
	} {
		if *update {
			check(t, os.WriteFile(path, want, 0o644))
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current (%v); run go test ./configs -update", path, err)
		}
	}
}

// schemaOf decodes a schema.
func schemaOf(t *testing.T, src []byte) map[string]any {
	t.Helper()
	var s map[string]any
	check(t, json.Unmarshal(src, &s))
	return s
}

// decodeYAML reads YAML by the library's own decoder, as an editor would, into JSON's types.
func decodeYAML(t *testing.T, src string) any {
	t.Helper()
	// The library follows YAML 1.1, where 1e-5 is text; editors follow YAML 1.2.
	src = regexp.MustCompile(`: ([0-9])e-`).ReplaceAllString(src, ": $1.0e-")
	asJSON, err := yaml.YAMLToJSON([]byte(src))
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	var v any
	if err := json.Unmarshal(asJSON, &v); err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return v
}

func TestShippedFilesPassTheirSchema(t *testing.T) {
	for path, src := range shipped(t) {
		schema := must(os.ReadFile(filepath.Join(filepath.Dir(path), "schema.json")))(t)
		root := schemaOf(t, schema)
		if err := conforms(root, root, decodeYAML(t, src), ""); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestResolvedConfigurationsPassTheSchema(t *testing.T) {
	root := schemaOf(t, Schema())
	for _, p := range Presets() {
		c := mustParse(t, string(p.Source))
		if err := conforms(root, root, decodeYAML(t, string(c.YAML())), ""); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestSchemaRefusesMistakes(t *testing.T) {
	root := schemaOf(t, Schema())
	for _, name := range []string{
		"unknown-key", "unknown-section", "key-in-wrong-section", "key-in-wrong-case", "null", "null-section", "zero-noise", "zero-clip-norm",
		"delta-zero", "delta-one", "quoted-number", "fractional-integer", "zero-batch", "huge-physical-batch", "negative-seed", "epochs-and-steps",
		"quoted-boolean", "number-for-name", "run-name-escapes", "run-name-too-long", "scalar-for-section", "list-for-scalar", "scalar-for-list",
		"no-data", "empty-data", "no-budget", "no-privacy", "unknown-data", "name-and-folder", "folder-alone", "one-class", "class-escapes",
		"two-channels", "three-sizes", "zero-size", "zero-std", "unknown-network", "name-and-layers", "no-layers", "unknown-layer", "batch-norm",
		"missing-argument", "unknown-argument", "argument-of-relu", "layer-list", "layer-two-keys", "zero-kernel", "three-kernel-sizes", "zero-dilation", "dropout-one", "empty-body",
		"unknown-optimizer", "unknown-engine", "table-alone", "table-and-folder", "vectors-alone", "zero-std-of-table", "mean-in-bytes",
	} {
		src := must(os.ReadFile(filepath.Join("testdata", name+".bad.yaml")))(t)
		if conforms(root, root, decodeYAML(t, string(src)), "") == nil {
			t.Errorf("%s passes the schema", name)
		}
	}
}

// conforms checks a value by the keywords of JSON schema that are in use, and fails on any other.
func conforms(root, schema map[string]any, v any, at string) error {
	for keyword, want := range schema {
		ok := true
		switch keyword {
		case "$schema", "$defs", "title", "description", "default":
		case "$ref":
			target := root
			for part := range strings.SplitSeq(strings.TrimPrefix(want.(string), "#/"), "/") {
				target = target[part].(map[string]any)
			}
			if err := conforms(root, target, v, at); err != nil {
				return err
			}
		case "type":
			ok = typeOf(v, want.(string))
		case "const":
			ok = v == want
		case "enum":
			ok = slices.ContainsFunc(want.([]any), func(e any) bool { return reflect.DeepEqual(e, v) })
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			n, isNumber := v.(float64)
			signs := map[string][]int{"minimum": {0, 1}, "maximum": {-1, 0}, "exclusiveMinimum": {1}, "exclusiveMaximum": {-1}}
			ok = isNumber && slices.Contains(signs[keyword], cmp.Compare(n, want.(float64)))
		case "pattern":
			s, isText := v.(string)
			ok = !isText || regexp.MustCompile(want.(string)).MatchString(s)
		case "maxLength":
			s, isText := v.(string)
			ok = !isText || utf8.RuneCountInString(s) <= int(want.(float64))
		case "minItems":
			ok = len(items(v)) >= int(want.(float64))
		case "maxItems":
			ok = len(items(v)) <= int(want.(float64))
		case "uniqueItems", "minProperties":
		case "items":
			for i, item := range items(v) {
				if err := conforms(root, want.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
					return err
				}
			}
		case "required":
			for _, key := range want.([]any) {
				_, has := properties(v)[key.(string)]
				ok = ok && has
			}
		case "properties":
			for key, value := range properties(v) {
				if s, known := want.(map[string]any)[key]; known {
					if err := conforms(root, s.(map[string]any), value, at+"."+key); err != nil {
						return err
					}
				}
			}
		case "additionalProperties":
			for key := range properties(v) {
				if _, known := schema["properties"].(map[string]any)[key]; !known {
					return fmt.Errorf("%s: unknown key %s", at, key)
				}
			}
		case "anyOf":
			ok = matching(root, want, v) >= 1
		case "oneOf":
			ok = matching(root, want, v) == 1
		case "not":
			ok = conforms(root, want.(map[string]any), v, at) != nil
		default:
			return fmt.Errorf("the test does not know the keyword %s", keyword)
		}
		if !ok {
			return fmt.Errorf("%s: %v does not have %s %v", at, v, keyword, want)
		}
	}
	return nil
}

func typeOf(v any, want string) bool {
	switch v := v.(type) {
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	}
	return false
}

func items(v any) []any { list, _ := v.([]any); return list }

func properties(v any) map[string]any { m, _ := v.(map[string]any); return m }

func matching(root map[string]any, schemas, v any) int {
	n := 0
	for _, s := range schemas.([]any) {
		if conforms(root, s.(map[string]any), v, "") == nil {
			n++
		}
	}
	return n
}
