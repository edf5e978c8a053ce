package setup

import (
	"fmt"

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
	// Computed is called with how many pictures are done, of total, while their features are
	// computed, or while they are checked. It may be nil.
	Computed func(done, total int)
}

// Read reads the configured data set, or returns the given one. Data of a person's own that has
// moved keeps its name. As many pictures stay in memory as [PicturesHeld] says; see [TidyUp].
func (r Request) Read(c *configs.Config) (*data.Split, error) {
	if r.Given != nil {
		return r.Given, nil
	}
	spec, err := r.spec(c)
	if err != nil {
		return nil, err
	}
	spec.Memory = func(train, test int) int64 {
		o := Declared(c)
		o.Examples, o.Tests = train, test
		held := PicturesHeld(c, o)
		TidyUp(c, o, held)
		return held
	}
	read, err := data.Load(spec)
	if err == nil && r.DataFolder != "" {
		read.Name = folder.Name(c.Data.Own())
	}
	return read, err
}

// spec describes the configured examples, and where they lie now.
func (r Request) spec(c *configs.Config) (data.Spec, error) {
	spec := c.Data.Spec
	spec.Dir = r.DataDir
	if r.DataFolder == "" {
		return spec, nil
	}
	for _, own := range []*string{&spec.Folder, &spec.Table, &spec.Vectors, &spec.Text} {
		if *own != "" {
			*own = r.DataFolder
			return spec, nil
		}
	}
	return spec, fmt.Errorf("%w: found another folder, %s, for the data set %s, which has a name; expected the folder that holds it, as --data-dir", ErrPlan, r.DataFolder, c.Data.Name)
}

// Fit returns the error of check, such as [CheckMemory], for the outline of the data. It returns
// nil for data that cannot be counted: whoever reads the data says what is wrong.
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

// Flags returns the flags of a command line that say where the data is, each behind a space.
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
