package configs

import (
	"slices"

	"dpsgd/internal/setting"
)

// statisticsSchema returns the JSON schema (draft 2020-12) of files of statistics, for editors. Parse checks
// more, such as keys that a kind of statistic does not have.
func statisticsSchema() []byte {
	shared := object{}
	for _, section := range []string{"data", "privacy"} {
		properties := object{}
		for _, name := range statisticsSections[section] {
			if key, err := SettableAt(section + "." + name); err == nil {
				properties = append(properties, name, key.Schema())
			}
		}
		shared = append(shared, section, object{"type", "object", "additionalProperties", false, "properties", properties})
	}
	return SchemaFile("Private statistics", object{
		"type", "object",
		"additionalProperties", false,
		"required", statisticsKeys,
		"properties", append(shared, "statistics", object{"type", "array", "minItems", 1, "maxItems", maxStatistics, "items", statisticSchema()}),
	})
}

// statisticSchema describes one statistic of any kind.
func statisticSchema() object {
	list := func(of setting.Format, least, most int) object {
		return object{"type", "array", "minItems", least, "maxItems", most, "items", of.Schema()}
	}
	mechanisms := setting.Choice{}
	for _, k := range statisticKinds {
		for _, m := range k.mechanisms {
			if !slices.Contains(mechanisms, m) {
				mechanisms = append(mechanisms, m)
			}
		}
	}
	pair := list(finiteFormat, 2, 2)
	described := func(s object, text string) object { return append(s, "description", text) }
	return object{
		"type", "object",
		"additionalProperties", false,
		"required", []string{"statistic"},
		"properties", object{
			"statistic", setting.Choice(StatisticKinds()).Schema(),
			"column", described(statisticColumn.Schema(), "A column of the table, the number of a value of vectors, label, brightness, or pixel ROW COLUMN."),
			"columns", object{"anyOf", []object{list(statisticColumn, 2, 65536), {"const", allColumns}}, "description", "Of a covariance, or of a mean that is released as one vector."},
			"bounds", object{"anyOf", []object{pair, {"type", "array", "minItems", 2, "maxItems", 65536, "items", pair}, {"const", "private"}}, "description", "Public bounds [low, high] of the numbers, of several columns also a pair for each, or private to find them."},
			"range", described(append(object{}, pair...), "Of a count: [low, high] of what is counted."),
			"equals", described(countedClass.Schema(), "Of a count: the class that is counted."),
			"bins", described(binsFormat.Schema(), "Equal parts of the bounds."),
			"quantiles", described(list(insideFormat, 1, maxQuantiles), "Shares of the records that lie below."),
			"interval", described(insideFormat.Schema(), "Of quantiles that are chosen: the share of their cost that goes into the intervals; 0.2 if left out."),
			"queries", object{"type", "array", "minItems", 1, "maxItems", maxQueries, "items", object{
				"type", "object", "additionalProperties", false, "required", []string{"column"},
				"properties", object{"column", statisticColumn.Schema(), "range", pair, "equals", countedClass.Schema()},
			}, "description", "Of a search: the counts that are held against the threshold, in this order."},
			"threshold", described(thresholdFormat.Schema(), "Of a search: the number that a count has to reach."),
			"step", described(stepFormat.Schema(), "Of a median: by how much one record may move it."),
			"trust", described(trustFormat.Schema(), "Of a histogram: who may see values."),
			"mechanism", mechanisms.Schema(),
			"share", described(shareFormat.Schema(), "Of the budget, relative to the shares of the others; 1 if left out."),
		},
	}
}
