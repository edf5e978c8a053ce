package setup

import (
	"fmt"
	"math"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
)

// Request says where examples lie and features are kept.
type Request struct {
	DataDir string // of named data sets; data.DefaultDir when empty
	// DataFolder is where the data of a person's own lies now, in place of the configured folder.
	DataFolder string
	Features   string // folder that computed features are kept in
	// Given is used instead of reading the configured data; nil reads.
	Given *data.Split
	// Computed is told how many pictures' features are computed, or how many pictures are checked, of how
	// many; nil tells nobody.
	Computed func(done, total int)
}

// Read reads the configured data set, or returns the given one. Data of a person's own that has moved
// keeps its name.
func (r Request) Read(c *configs.Config) (*data.Split, error) {
	if r.Given != nil {
		return r.Given, nil
	}
	if r.DataFolder == "" {
		return r.load(c)
	}
	moved := r.moved(c)
	if moved == c {
		return nil, fmt.Errorf("%w: found another folder, %s, for the data set %s, which has a name; expected the folder that holds it, as --data-dir", ErrPlan, r.DataFolder, c.Data.Name)
	}
	read, err := r.load(moved)
	if err == nil {
		read.Name = folder.Name(c.Data.Folder + c.Data.Table + c.Data.Vectors) // one of them is set
	}
	return read, err
}

// load reads the data of c, with as many pictures in memory as it lets.
func (r Request) load(c *configs.Config) (*data.Split, error) {
	spec := c.Data.Spec(r.DataDir)
	spec.Memory = func(train, test int) int64 {
		o, err := Declared(c, train)
		if err != nil {
			return math.MaxInt64
		}
		o.Examples, o.Tests = train, test
		held := PicturesHeld(c, o)
		TidyUp(c, o, held)
		return held
	}
	return data.Load(spec)
}

// moved is the configuration with its data where it lies now; c itself if it has no folder that could
// have moved.
func (r Request) moved(c *configs.Config) *configs.Config {
	moved := *c
	for _, own := range []*string{&moved.Data.Folder, &moved.Data.Table, &moved.Data.Vectors} {
		if *own != "" && r.DataFolder != "" {
			*own = r.DataFolder
			return &moved
		}
	}
	return c
}

// Fit refuses by check, [CheckMemory] of a training, what the machine has too little memory for. Data that
// cannot be counted is left to whoever reads it, who says what is wrong with it.
func (r Request) Fit(c *configs.Config, check func(*configs.Config, Outline) error) error {
	if r.Given != nil {
		return check(c, OutlineOfSource(r.Given))
	}
	outline, err := OutlineOf(c, 0)
	if err != nil {
		return nil
	}
	return check(c, outline)
}

// Flags repeats the flags of a command line that say where the data is, each behind a space.
func (r Request) Flags() string {
	given := ""
	if r.DataDir != "" {
		given += " --data-dir " + folder.Argument(r.DataDir)
	}
	if r.DataFolder != "" {
		given += " --data-folder " + folder.Argument(r.DataFolder)
	}
	return given
}
