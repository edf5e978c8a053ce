package sweeps

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/setting"
)

var update = flag.Bool("update", false, "rewrite schema.json")

func TestSchemaIsCurrent(t *testing.T) {
	if *update {
		if err := os.WriteFile("schema.json", Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("schema.json")
	if err != nil || !bytes.Equal(got, Schema()) {
		t.Errorf("schema.json is not current (%v); run go test ./configs/sweeps -update", err)
	}
}

type object = setting.Object

// Schema returns the JSON schema (draft 2020-12) of sweep files. Parse checks more.
func Schema() []byte {
	grid, set, random := object{}, object{}, object{}
	for _, key := range configs.Keys() {
		k, _ := configs.SettableAt(key.Path)
		list := object{"type", "array", "minItems", 1, "items", k.Format().Schema()}
		set = append(set, k.Path(), k.Schema())
		grid = append(grid, k.Path(), append(slices.Clone(list), "description", k.Doc()))
		random = append(random, k.Path(), section(1, object{lawChoices, list, lawUniform, interval, lawLogUniform, interval}, k.Doc()))
	}
	seeds := object{"type", "array", "minItems", 1, "items", seedFormat.Schema()}
	return configs.SchemaFile("Sweep over configurations", object{
		"type", "object",
		"additionalProperties", false,
		"required", []string{"name", "base"},
		"properties", object{
			"name", append(sweepName.Schema(), "description", "Folder of the sweep within runs."),
			"base", append(basePath.Schema(), "description", "A preset, or the path of a configuration from this file's folder."),
			"set", section(0, set, "Values that are the same for all trials."),
			"grid", section(1, grid, "Every combination of the listed values is a point."),
			"random", section(1, random, "What the values of each point are drawn from."),
			"trials", object{"anyOf", []object{fixedNumber.Schema(), drawnSchema()}, "description", "With random: how many points are drawn, or what that number is drawn from."},
			"seeds", object{"anyOf", []object{seedCount.Schema(), seeds}, "description", "Values of training.seed, or how many: 3 is [1, 2, 3]. Every point is trained with each."},
			"parallel", append(parallel.Schema(), "description", "How many trials are trained at a time."),
			"tan", section(1, object{"scale", scale.Schema()}, "Trials with batches and noise that are smaller by this factor, and as many steps."),
		},
		"$defs", configs.LayerSchemas(),
	})
}

var interval = object{"type", "array", "minItems", 2, "maxItems", 2, "items", object{"type", "number"}}

// section is the schema of a mapping with at least so many of these keys.
func section(least int, properties object, description string) object {
	return object{"type", "object", "minProperties", least, "additionalProperties", false, "properties", properties, "description", description}
}

func drawnSchema() object {
	s := section(2, object{"distribution", distributions.Schema(), "mean", meanNumber.Schema(), "shape", shapeNumber.Schema()},
		"A distribution of the number of trials. Shape is for truncated_negative_binomial alone.")
	return append(s, "required", []string{"distribution", "mean"})
}
