package sweeps

import (
	"embed"

	"dpsgd/configs"
)

//go:embed *.yaml
var files embed.FS

// Shipped lists the sweeps that come with the program.
func Shipped() []configs.Preset { return configs.PresetsIn(files) }

// Load reads a sweep that comes with the program, or else the file at a path.
func Load(nameOrPath string) (*Sweep, error) {
	file, src, err := configs.Open(nameOrPath, Shipped(), "sweep")
	if err != nil {
		return nil, err
	}
	return Parse(file, src)
}
