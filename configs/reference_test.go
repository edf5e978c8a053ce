package configs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// Reference returns the documentation of all keys and layers in Markdown.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString("# Configuration reference\n\n" +
		"Generated from the table that the parser uses. A key without a default has to be given,\n" +
		"alone or as one of its pair.\n")
	section := ""
	for _, k := range Keys() {
		name, _, _ := strings.Cut(k.Path, ".")
		if name != section {
			b.WriteString(notes[section])
			section = name
			fmt.Fprintf(&b, "\n## %s\n\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n", name)
		}
		value := "`" + k.Default + "`"
		if k.Default == "" {
			value = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, cell(k.Value), value, cell(k.Doc))
	}
	b.WriteString(notes[section])
	b.WriteString("\n## Layers\n\nPyTorch's names and meanings; each layer works on one example at a time. Sizes, strides, paddings and\n" +
		"dilations are one number, or `[height, width]`.\n\n" +
		"| Layer | Arguments | Meaning |\n|---|---|---|\n")
	for _, k := range layerKinds {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, cell(describe(setting.Arguments(k.New()))), k.Doc)
	}
	return b.Bytes()
}

// notes stand below the table of a section. A test of package train computes the numbers again.
var notes = map[string]string{"privacy": `
### The accountant

Accountants bound the same ε from above; they differ in how closely. At the presets' budget of ε = 3, δ = 1e-5:

| Preset | steps | noise multiplier by rdp | by exact | ε by exact, with rdp's noise |
|---|--:|--:|--:|--:|
| digits | 586 | 1.2175 | 1.1494 | 2.714 |
| mnist-cnn | 4,688 | 1.1235 | 1.0682 | 2.746 |
| cifar-cnn | 1,465 | 1.4007 | 1.3216 | 2.744 |

- ` + "`exact`" + ` inverts the transform of the privacy loss of the whole run and adds what truncation (bounded) and rounding (estimated
  with a wide margin) may hide; no accountant can be tighter for Poisson sampling with Gaussian noise. An answer takes about a
  millisecond.
- ` + "`pld`" + ` discretises the privacy loss and composes it by Fourier transforms, rounding up; it agrees with ` + "`exact`" + ` to about 0.1 %
  and shares none of its numerics. An answer takes some ten milliseconds.
- ` + "`rdp`" + ` composes Rényi divergences. An answer takes microseconds.

With every one of them the number of steps that fit the budget is fixed before the first step, and a step beyond it, such as one
repeated after a crash, is asked about before it is made. Results also hold ε by RDP, as ` + "`epsilon_rdp`" + `. Where
` + "`exact`" + ` or ` + "`pld`" + ` cannot certify an answer RDP stands in; the run says so, and so does its privacy statement.
`}

// describe lists arguments with what they mean.
func describe(arguments []setting.Argument) string {
	parts := make([]string, len(arguments))
	for i, a := range arguments {
		parts[i] = "`" + a.Name + "`: " + a.Doc
	}
	return strings.Join(parts, " ")
}

// cell makes text safe for a cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s)
}

// networkSchema returns the schema of the files in networks.
func networkSchema() []byte {
	return SchemaFile("Network", object{
		"type", "object",
		"additionalProperties", false,
		"required", []string{"layers"},
		"properties", object{"layers", model.List{NonEmpty: true}.Schema()},
		"$defs", LayerSchemas(),
	})
}

// statisticsSchema returns the JSON schema (draft 2020-12) of files of statistics, for editors.
// Parse checks more, such as keys that a kind of statistic does not have.
func statisticsSchema() []byte {
	shared := object{}
	for _, section := range []string{"data", "privacy", "training"} {
		properties := object{}
		for _, name := range statisticsSections[section] {
			if f := fieldAt(section + "." + name); f != nil {
				properties = append(properties, name, f.schema())
			} else {
				properties = append(properties, name, sectionSchema(section+"."+name))
			}
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
