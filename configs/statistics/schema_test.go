package statistics

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
		t.Errorf("schema.json is not current (%v); run go test ./configs/statistics -update", err)
	}
}

type object = setting.Object

// Schema returns the JSON schema (draft 2020-12) of files of statistics, for editors. Parse checks
// more, such as keys that a kind of statistic does not have.
func Schema() []byte {
	shared := object{}
	for _, section := range []string{"data", "privacy"} {
		properties := object{}
		for _, name := range sections[section] {
			if key, err := configs.SettableAt(section + "." + name); err == nil {
				properties = append(properties, name, key.Schema())
			}
		}
		shared = append(shared, section, object{"type", "object", "additionalProperties", false, "properties", properties})
	}
	return configs.SchemaFile("Private statistics", object{
		"type", "object",
		"additionalProperties", false,
		"required", topKeys,
		"properties", append(shared, "statistics", object{"type", "array", "minItems", 1, "maxItems", maxStatistics, "items", statisticSchema()}),
	})
}

// statisticSchema is that of one statistic of any kind.
func statisticSchema() object {
	list := func(of setting.Format, least, most int) object {
		return object{"type", "array", "minItems", least, "maxItems", most, "items", of.Schema()}
	}
	mechanisms := setting.Choice{}
	for _, k := range kinds {
		for _, m := range k.mechanisms {
			if !slices.Contains(mechanisms, m) {
				mechanisms = append(mechanisms, m)
			}
		}
	}
	pair := list(finite, 2, 2)
	described := func(s object, text string) object { return append(s, "description", text) }
	return object{
		"type", "object",
		"additionalProperties", false,
		"required", []string{"statistic"},
		"properties", object{
			"statistic", setting.Choice(Kinds()).Schema(),
			"column", described(columnName.Schema(), "A column of the table, the number of a value of vectors, label, brightness, or pixel ROW COLUMN."),
			"columns", object{"anyOf", []object{list(columnName, 2, 65536), {"const", all}}, "description", "Of a covariance, or of a mean that is released as one vector."},
			"bounds", object{"anyOf", []object{pair, {"type", "array", "minItems", 2, "maxItems", 65536, "items", pair}, {"const", "private"}}, "description", "Public bounds [low, high] of the numbers, of several columns also a pair for each, or private to find them."},
			"range", described(append(object{}, pair...), "Of a count: [low, high] of what is counted."),
			"equals", described(className.Schema(), "Of a count: the class that is counted."),
			"bins", described(bins.Schema(), "Equal parts of the bounds."),
			"quantiles", described(list(inside, 1, maxQuantiles), "Shares of the records that lie below."),
			"interval", described(inside.Schema(), "Of quantiles that are chosen: the share of their cost that goes into the intervals; 0.2 if left out."),
			"queries", object{"type", "array", "minItems", 1, "maxItems", maxQueries, "items", object{
				"type", "object", "additionalProperties", false, "required", []string{"column"},
				"properties", object{"column", columnName.Schema(), "range", pair, "equals", className.Schema()},
			}, "description", "Of a search: the counts that are held against the threshold, in this order."},
			"threshold", described(threshold.Schema(), "Of a search: the number that a count has to reach."),
			"step", described(step.Schema(), "Of a median: by how much one record may move it."),
			"trust", described(trusts.Schema(), "Of a histogram: who may see values."),
			"mechanism", mechanisms.Schema(),
			"share", described(share.Schema(), "Of the budget, relative to the shares of the others; 1 if left out."),
		},
	}
}
