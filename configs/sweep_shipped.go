package configs

// Sweeps lists the sweeps that come with the program.
func Sweeps() []Preset { return presetsIn("sweeps") }

// LoadSweep reads a sweep that comes with the program, or else the file at a path.
func LoadSweep(nameOrPath string) (*Sweep, error) {
	file, src, err := Open(nameOrPath, Sweeps(), "sweep")
	if err != nil {
		return nil, err
	}
	return ParseSweep(file, src)
}
