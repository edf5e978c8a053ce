package ranks

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/kernel"
	"dpsgd/internal/mpi"
	"dpsgd/internal/records"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// follower is a rank that adds up its parts of sums for rank 0, one of the [release.Ranks]. It has
// no folder, no journal and no noise.
type follower struct {
	mpi.Group
	bounds  []int // of the examples of each rank, where it has its own
	work    records.Work
	records *records.Records
	sum     *clip.Sum // secret
	sample  []int     // of the step; secret
	body    []byte    // of a message; secret
}

// Follow does what rank 0 of the group says until rank 0 ends the run. It finds its data by the
// request, and takes as many threads as the function returns for the configuration of rank 0.
// Errors name this rank.
func Follow(g mpi.Group, request setup.Request, threads func(*configs.Config) int) error {
	f := &follower{Group: g}
	err := f.prepare(request, threads)
	if err == nil {
		err = f.listen()
	}
	f.work.Pool.Close()
	if err != nil {
		return fmt.Errorf("rank %d of %d: %w", g.Rank(), g.Size(), err)
	}
	return nil
}

// listen says that this rank is ready, and carries out what rank 0 says until that ends the run.
func (f *follower) listen() error {
	if err := f.Group.Reduce(ready(f.Group), 0); err != nil {
		return err
	}
	for {
		m := make([]message, 1)
		err := f.Broadcast(bytesOf(m))
		if err != nil {
			return err
		}
		switch m[0].kind {
		case ofEnd:
			return nil
		case ofMean:
			err = f.centre(int(m[0].length))
		case ofStep:
			err = f.step(m[0])
		default:
			err = fmt.Errorf("ranks: rank 0 says %d, expected the number of a message; start the same program on all ranks", m[0].kind)
		}
		if err != nil {
			return err
		}
	}
}

// prepare hears configuration and orders, finds the data, and compiles what the records of this
// rank contribute.
func (f *follower) prepare(request setup.Request, threads func(*configs.Config) int) error {
	var first call
	if err := hear(f.Group, &first); err != nil {
		return err
	}
	if err := first.sameProgram(); err != nil {
		return err
	}
	c, err := configs.Parse("the configuration of rank 0", first.Config, nil)
	if err != nil {
		return err
	}
	if err := request.Fit(c, setup.CheckMemory); err != nil {
		return err
	}
	var source *setup.Source
	if source, f.bounds, err = find(f.Group, c, request); err != nil {
		return err
	}
	var o Orders
	if err := hear(f.Group, &o); err != nil {
		return err
	}
	pool := kernel.NewPool(threads(c))
	f.work = records.Work{Source: source, Physical: o.Physical, Engines: o.Engines, Pool: pool}
	if f.work.Policy, err = clip.NewScheduled(c.Privacy.Clipping, c.Privacy.ClipNorm, c.Privacy.ClipSchedule, o.Steps); err != nil {
		return err
	}
	if f.work.Model, err = setup.Model(c, source.Shape, source.Classes); err != nil {
		return err
	}
	initial, err := setup.Start(c, f.work.Model)
	if err != nil {
		return err
	}
	if initial != o.Initial {
		return fmt.Errorf("ranks: found other initial weights in %s than rank 0, expected the same file on every machine", c.Model.Init)
	}
	if f.work.Examples, err = source.Seen(pool); err != nil {
		return err
	}
	if f.bounds != nil {
		err = apart(f.Group, f.bounds, f.work.Examples.Train, o.Salt, pool)
	} else {
		err = o.sameData(source, f.work.Examples.Train, pool)
	}
	if err != nil {
		return err
	}
	if f.records, err = records.New(c, f.work); err != nil {
		return err
	}
	if found := f.records.Coordinates(); found != o.Coordinates {
		return fmt.Errorf("ranks: found %d coordinates, expected the %d of rank 0", found, o.Coordinates)
	}
	if f.sum, err = clip.NewSum(f.work.Policy, o.Coordinates, pool); err == nil {
		f.sum.Refine(o.Room)
	}
	return err
}

// centre subtracts from features the mean that rank 0 has released.
func (f *follower) centre(length int) error {
	mean := make([]float32, length)
	if err := f.Broadcast(bytesOf(mean)); err != nil {
		return err
	}
	return setup.Centre(f.work.Examples, mean, f.work.Pool)
}

// step computes this rank's part of the sum of a step, and brings it to rank 0.
func (f *follower) step(m message) error {
	parameters := bytesOf(f.work.Model.Values)
	f.sample = slices.Grow(f.sample[:0], int(m.length))[:m.length]
	sample := bytesOf(f.sample)
	f.body = slices.Grow(f.body[:0], len(parameters)+len(sample))[:len(parameters)+len(sample)]
	if err := f.Broadcast(f.body); err != nil {
		return err
	}
	copy(sample, f.body[copy(parameters, f.body):])
	switch policy := f.work.Policy.(type) {
	case clip.Stepping:
		policy.Begin(int(m.step))
	case clip.Counting:
		if err := policy.Restore(math.Float64frombits(m.clipNorm)); err != nil {
			return err
		}
	}
	records := f.records.AtStep(int(m.step))
	if f.bounds != nil {
		records = &ofRank{Contributor: records, first: f.bounds[f.Rank()]}
	}
	return release.AddPart(f.sum, f.sample, records, f)
}

// Bounds implements [release.Ranks].
func (f *follower) Bounds() []int { return f.bounds }

// Share implements [release.Ranks]: it returns an error, as only rank 0 may share a sample.
func (*follower) Share(int, []int) error {
	return errors.New("ranks: only rank 0 has a sample to share")
}

// Reduce implements [release.Ranks].
func (f *follower) Reduce(values []int64) error { return f.Group.Reduce(values, 0) }
