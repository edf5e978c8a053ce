package configs

import (
	"dpsgd/internal/setting"
)

// accountants can account for a run: they bound ε of Poisson-sampled Gaussian noise.
var accountants = choiceBut{
	Choice: setting.Choice{"exact", "pld", "rdp"},
	Refused: map[string]string{
		"gdp":      "gdp is an approximation and no bound",
		"zcdp":     "zcdp knows nothing of sampled batches",
		"basic":    "composition of (epsilon, delta) alone is far too loose",
		"advanced": "composition of (epsilon, delta) alone is far too loose",
		"optimal":  "composition of (epsilon, delta) alone is far too loose",
	},
}

// Names become folders, on every operating system; those of columns and labels stand in a table.
var (
	runName   = freeText{What: "a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_'", Pattern: `^([A-Za-z0-9_][A-Za-z0-9._-]*)?$`, Max: 64, Empty: true}
	className = freeText{What: "the name of a folder", Pattern: `^[^./\\:*?"<>|][^/\\:*?"<>|]*$`, Max: 100}
	folder    = freeText{What: "the path of a folder", Pattern: `^.+$`, Max: 4096}

	layerName  = freeText{What: "the name of a layer or parameter, such as 0 or 0.weight", Pattern: `^[A-Za-z0-9_.]+$`, Max: 200, Digits: true}
	weightFile = freeText{What: "the path of a .safetensors file", Pattern: `^$|\.safetensors$`, Max: 4096, Empty: true}

	columnName = freeText{What: "the name of a column", Pattern: `^\S.*$`, Max: 200}
	groupName  = freeText{What: "the name of a column, or prefix", Pattern: `^(\S.*)?$`, Max: 200, Empty: true}
	labelValue = freeText{What: "a value of the label column", Pattern: `^\S.*$`, Max: 100}
)
