package configs

import (
	"slices"
)

// sweepSchema returns the JSON schema (draft 2020-12) of sweep files. Parse checks more.
func sweepSchema() []byte {
	grid, set, random := object{}, object{}, object{}
	for _, key := range Keys() {
		k, _ := SettableAt(key.Path)
		list := object{"type", "array", "minItems", 1, "items", k.Format().Schema()}
		set = append(set, k.Path(), k.Schema())
		grid = append(grid, k.Path(), append(slices.Clone(list), "description", k.Doc()))
		random = append(random, k.Path(), sweepSection(1, object{lawChoices, list, lawUniform, endsSchema, lawLogUniform, endsSchema}, k.Doc()))
	}
	seeds := object{"type", "array", "minItems", 1, "items", seedFormat.Schema()}
	return SchemaFile("Sweep over configurations", object{
		"type", "object",
		"additionalProperties", false,
		"required", []string{"name", "base"},
		"properties", object{
			"name", append(sweepName.Schema(), "description", "Folder of the sweep within runs."),
			"base", append(basePath.Schema(), "description", "A preset, or the path of a configuration from this file's folder."),
			"set", sweepSection(0, set, "Values that are the same for all trials."),
			"grid", sweepSection(1, grid, "Every combination of the listed values is a point."),
			"random", sweepSection(1, random, "What the values of each point are drawn from."),
			"trials", object{"anyOf", []object{fixedNumber.Schema(), drawnSchema()}, "description", "With random: how many points are drawn, or what that number is drawn from."},
			"seeds", object{"anyOf", []object{seedCount.Schema(), seeds}, "description", "Values of training.seed, or how many: 3 is [1, 2, 3]. Every point is trained with each."},
			"parallel", append(parallelTrials.Schema(), "description", "How many trials are trained at a time."),
			"tan", sweepSection(1, object{"scale", tanScale.Schema()}, "Trials with batches and noise that are smaller by this factor, and as many steps."),
		},
		"$defs", LayerSchemas(),
	})
}

var endsSchema = object{"type", "array", "minItems", 2, "maxItems", 2, "items", object{"type", "number"}}

// sweepSection is the schema of a mapping with at least so many of these keys.
func sweepSection(least int, properties object, description string) object {
	return object{"type", "object", "minProperties", least, "additionalProperties", false, "properties", properties, "description", description}
}

func drawnSchema() object {
	s := sweepSection(2, object{"distribution", distributions.Schema(), "mean", meanNumber.Schema(), "shape", shapeNumber.Schema()},
		"A distribution of the number of trials. Shape is for truncated_negative_binomial alone.")
	return append(s, "required", []string{"distribution", "mean"})
}
