package configs

import "slices"

// sweepSchema returns the JSON schema (draft 2020-12) of sweep files. Parse checks more.
func sweepSchema() []byte {
	grid, set, random := object{}, object{}, object{}
	ends := object{"type", "array", "minItems", 2, "maxItems", 2, "items", object{"type", "number"}}
	for _, f := range fields {
		list := object{"type", "array", "minItems", 1, "items", f.format.Schema()}
		set = append(set, f.path, f.schema())
		grid = append(grid, f.path, append(slices.Clone(list), "description", f.doc))
		random = append(random, f.path, append(mapping(1, object{lawChoices, list, lawUniform, ends, lawLogUniform, ends}), "description", f.doc))
	}
	s, n := new(Sweep), new(TrialNumber)
	drawn := append(argumentsSchema(n.arguments()), "minProperties", 2, "description", "A distribution of the number of trials. Shape is for truncated_negative_binomial alone.")
	seeds := object{"type", "array", "minItems", 1, "items", fieldAt(SeedKey).format.Schema()}
	arguments := s.arguments()
	for i, a := range arguments {
		read := map[string]object{
			"set": mapping(0, set), "grid": mapping(1, grid), "random": mapping(1, random), "tan": mapping(1, object{"scale", tanScale.Schema()}),
			"trials": {"anyOf", []object{fixedNumber.Schema(), drawn}}, "seeds": {"anyOf", []object{seedCount.Schema(), seeds}},
		}[a.Name]
		if read != nil {
			arguments[i].Format = form[Sweep]{schema: read}
		}
	}
	return SchemaFile("Sweep over configurations", append(argumentsSchema(arguments), "$defs", LayerSchemas()))
}

// mapping is the schema of a mapping with at least so many of these keys.
func mapping(least int, properties object) object {
	return object{"type", "object", "minProperties", least, "additionalProperties", false, "properties", properties}
}
