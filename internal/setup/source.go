package setup

import (
	"fmt"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/kernel"
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
