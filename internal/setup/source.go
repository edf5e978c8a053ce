package setup

import (
	"bytes"
	"fmt"
	"path/filepath"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// Source is a data set with its outline. Its examples were read, unless kept features stand for
// them.
type Source struct {
	Outline
	Own     [][]int // the training examples of each person; nil where the configuration does not ask
	request Request
	config  *configs.Config
	read    *data.Split // nil where kept stands for it
	kept    *data.Split // features of published data that were computed before, or nil
}

// Find returns the given data set, or the configured one. It reads that now, unless it is a
// published one whose features were kept before.
func (r Request) Find(c *configs.Config) (*Source, error) {
	if set := data.Find(c.Data.Name); r.Given == nil && set != nil && c.Features.Any() {
		if kept := features.Cached(c.Features.Recipe, set, r.Features); kept != nil {
			return &Source{Outline: Declared(c), request: r, config: c, kept: kept}, nil
		}
	}
	read, err := r.Read(c)
	if err != nil {
		return nil, err
	}
	source := &Source{Outline: OutlineOfSource(read), request: r, config: c, read: read}
	if c.Privacy.Unit == configs.UnitPerson {
		err = source.findPersons()
	}
	return source, err
}

// findPersons sets Own and People: whose the training examples are.
func (s *Source) findPersons() error {
	spec, err := s.request.spec(s.config)
	if err != nil {
		return err
	}
	owners, err := data.Owners(spec)
	if err != nil {
		return err
	}
	if len(owners) != s.Examples {
		return fmt.Errorf("%w: found the owners of %d training examples, expected those of %d", ErrPlan, len(owners), s.Examples)
	}
	s.Own = data.ByOwner(owners, s.config.Privacy.ExamplesPerPerson, s.config.Training.Seed)
	s.People = len(s.Own)
	return nil
}

// Warning returns the warning of the reader of the files, if any; see [data.Split].
func (s *Source) Warning() string {
	if s.read == nil {
		return ""
	}
	return s.read.Warning
}

// Check decodes all pictures that training decodes when it needs them, so that a new run does not
// pay for steps that then fail. It takes as long as decoding in an epoch does. With features, Check
// does nothing: computing them reads all pictures.
func (s *Source) Check() error {
	if s.read == nil || s.request.Given != nil || s.config.Features.Any() {
		return nil
	}
	return s.read.Check(func(n, total int) {
		if s.request.Computed != nil {
			s.request.Computed(n, total)
		}
	})
}

// Seen returns what the network sees of the source: its examples, or features of them.
func (s *Source) Seen(pool *kernel.Pool) (*data.Split, error) {
	switch {
	case s.kept != nil:
		return s.kept, nil
	case !s.config.Features.Any():
		return s.read, nil
	}
	return features.Compute(s.config.Features.Recipe, s.read, features.Request{Cache: s.request.Features, Pool: pool, Computed: s.request.Computed})
}

// TestPictures returns the test examples if they are pictures, else nil. It reads them where kept
// features stood for them.
func (s *Source) TestPictures() (data.Pictures, error) {
	read := s.read
	if read == nil {
		var err error
		if read, err = s.request.Read(s.config); err != nil {
			return nil, err
		}
	}
	pictures, _ := read.Test.(data.Pictures)
	return pictures, nil
}

// DrawnPool is a line of the plan of a run whose pool was drawn.
const DrawnPool = "drawn_pool"

// Pool returns which of n test examples teachers are asked about, and which measure the model: all, if
// there are no teachers. Own data may be sorted by class, so there the public seed draws the pool;
// sets with a name begin with it, and so do all in the folder dir of a run of an earlier version. dir
// of a new run is "".
func Pool(c *configs.Config, dir string, n int) (pool, rest []int, drawn bool) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if !c.Pate.Any() {
		return nil, order, false
	}
	if drawn = c.Data.Own() != ""; drawn && dir != "" {
		plan, _ := folder.Content(filepath.Join(dir, folder.Plan)) // no plan has no such line
		drawn = bytes.Contains(plan, []byte("\n"+DrawnPool))
	}
	if drawn {
		random.Seeded(c.Training.Seed).Reorder(order)
	}
	return order[:c.Pate.Pool], order[c.Pate.Pool:], drawn
}

// Centre subtracts the mean from all rows of both sets, in their place.
func Centre(rows *data.Split, mean []float32, pool *kernel.Pool) error {
	for _, set := range []data.Set{rows.Train, rows.Test} {
		rows, ok := set.(*data.Features)
		if !ok || rows.Shape().Values() != len(mean) {
			return fmt.Errorf("%w: the mean of features has %d values, expected %d", ErrPlan, len(mean), set.Shape().Values())
		}
		if err := features.Centre(rows, mean, pool); err != nil {
			return err
		}
	}
	return nil
}

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
		read.Name = c.Data.OwnName()
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
	spec, err := r.spec(c)
	if err != nil {
		return nil
	}
	where := *c
	where.Data.Spec = spec
	outline, err := OutlineOf(&where, 0)
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
