package configs

// statisticsSchema returns the JSON schema (draft 2020-12) of files of statistics, for editors. Parse checks
// more, such as keys that a kind of statistic does not have.
func statisticsSchema() []byte {
	shared := object{}
	for _, section := range []string{"data", "privacy"} {
		properties := object{}
		for _, name := range statisticsSections[section] {
			properties = append(properties, name, fieldAt(section+"."+name).schema())
		}
		shared = append(shared, section, object{"type", "object", "additionalProperties", false, "properties", properties})
	}
	return SchemaFile("Private statistics", object{
		"type", "object",
		"additionalProperties", false,
		"required", statisticsKeys,
		"properties", append(shared, "statistics", object{"type", "array", "minItems", 1, "maxItems", maxStatistics, "items", argumentsSchema(new(Statistic).arguments(), "statistic")}),
	})
}
