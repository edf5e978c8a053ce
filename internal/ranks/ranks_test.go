package ranks

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsgd/data"
	"dpsgd/internal/mpi"
	"dpsgd/internal/mpi/mpitest"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// images is a set of pictures of 9 values.
func images(t *testing.T, labels, pixels []uint8) *data.Images {
	t.Helper()
	return tiny.Must(data.NewImages(data.Shape{Height: 3, Width: 3, Channels: 1}, []string{"a", "b"}, labels, pixels))(t)
}

// Orders are refused by a rank with another program, with one pixel, one label or one owner
// changed.
func TestRanksNoticeWhatDiffers(t *testing.T) {
	set := func(change func(pixels, labels []uint8)) *data.Images {
		pixels, labels := make([]uint8, 20*9), make([]uint8, 20)
		for i := range pixels {
			pixels[i] = uint8(i)
		}
		change(pixels, labels)
		return images(t, labels, pixels)
	}
	same := func([]uint8, []uint8) {}
	mine := &setup.Source{Own: [][]int{{0, 1}, {2}}}
	var o Orders
	tiny.Check(t, o.sign(mine, set(same), nil, nil))
	if err := o.sameData(mine, set(same), nil); err != nil {
		t.Errorf("the same data are refused: %v", err)
	}
	mineToo := tiny.Must(program())(t)
	if err := (call{Program: mineToo}).sameProgram(); err != nil {
		t.Errorf("the same program is refused: %v", err)
	}
	for name, err := range map[string]error{
		"a pixel":  o.sameData(mine, set(func(p, _ []uint8) { p[100]++ }), nil),
		"a label":  o.sameData(mine, set(func(_, l []uint8) { l[19] = 1 }), nil),
		"an owner": o.sameData(&setup.Source{Own: [][]int{{0}, {1, 2}}}, set(same), nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "other training examples") {
			t.Errorf("%s differs: error is %v, expected one about other examples", name, err)
		}
	}
	if err := (call{Program: strings.Repeat("0", 64)}).sameProgram(); err == nil || !strings.Contains(err.Error(), "found a program") {
		t.Errorf("another program: error is %v", err)
	}
	other := Orders{}
	if err := other.sign(mine, set(same), nil, nil); err != nil || string(other.Data) == string(o.Data) {
		t.Errorf("two starts have the same hash of the data (%v): whoever knows it could try data", err)
	}
}

// Of a set that is too large to be read, ranks hold examples against each other that nobody knows
// ahead: one example that differs is noticed in some starts, a set that differs in all examples in
// each.
func TestRanksNoticeWhatDiffersInLargeSets(t *testing.T) {
	defer func(most int) { mostHashed = most }(mostHashed)
	const count, values, starts = 20, 9, 200
	mostHashed = 5 * values
	set := func(differ int) *data.Images {
		pixels := make([]uint8, count*values)
		for i := range differ {
			pixels[i*values]++
		}
		return images(t, make([]uint8, count), pixels)
	}
	noticed := 0
	for range starts {
		var o Orders
		tiny.Check(t, o.sign(&alone, set(0), nil, nil))
		if o.sameData(&alone, set(0), nil) != nil || o.sameData(&alone, set(count), nil) == nil {
			t.Fatal("the same examples are refused, or others pass")
		}
		if o.sameData(&alone, set(1), nil) != nil {
			noticed++
		}
	}
	// One of 20 is among 5 draws with probability 0.226: 45 of 200, with a deviation of 5.9. Both
	// ends are passed with probability below 1e-12.
	if noticed < 9 || noticed > 90 {
		t.Errorf("one example that differs is noticed in %d of %d starts, expected about 45", noticed, starts)
	}
}

// alone is the source of examples that belong to nobody.
var alone setup.Source

// Where each rank has examples of its own, one that two ranks have is refused with their numbers:
// whatever its label there, and wherever it lies. One that a rank has twice is two records, as in
// one process.
func TestNoExampleIsOnTwoRanks(t *testing.T) {
	own := func(first ...int) *data.Images {
		pixels, labels := make([]uint8, 0, 9*len(first)), make([]uint8, len(first))
		for i, p := range first {
			pixels = append(pixels, uint8(p), uint8(p>>8), 1, 2, 3, 4, 5, 6, 7)
			labels[i] = uint8(i % 2)
		}
		return images(t, labels, pixels)
	}
	for name, c := range map[string]struct {
		sets []*data.Images
		want string // "" is no error
	}{
		"different":               {[]*data.Images{own(0, 1, 2), own(3), own(4, 5)}, ""},
		"one in common":           {[]*data.Images{own(0, 1, 2), own(3), own(4, 0)}, "rank 0 and rank 2"},
		"the same set":            {[]*data.Images{own(9), own(1, 2), own(1, 2)}, "rank 1 and rank 2"},
		"the same, in disorder":   {[]*data.Images{own(9), own(1, 2, 3), own(3, 4, 1)}, "rank 1 and rank 2"},
		"twice on a rank":         {[]*data.Images{own(0, 0), own(1), own(2, 2, 2)}, ""},
		"twice here, once there":  {[]*data.Images{own(0, 0), own(1), own(0)}, "rank 0 and rank 2"},
		"on all":                  {[]*data.Images{own(0), own(0), own(0)}, "rank 0 and rank 1"},
		"one, all others are not": {[]*data.Images{own(0), own(1), own(2)}, ""},
	} {
		members, found := mpitest.Local(len(c.sets)), make([]error, len(c.sets))
		var others sync.WaitGroup
		for rank, g := range members {
			others.Go(func() {
				bounds, err := boundsOf(g, c.sets[rank].Len())
				if err == nil {
					err = apart(g, bounds, c.sets[rank], []byte("salt"), nil)
				}
				found[rank] = err
			})
		}
		others.Wait()
		err := errors.Join(found...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: found the error %v, expected %q", name, err, c.want)
		}
	}
}

// asked keeps how long a sum was waited for.
type asked struct {
	mpi.Group
	patience time.Duration
}

func (a *asked) Reduce(_ []int64, patience time.Duration) error { a.patience = patience; return nil }

// The error about a rank that is missing says for how long it was waited for: that is a whole
// multiple of the configured patience, and does not tell how long rank 0 worked at its part of a
// sample.
func TestPatienceTellsNoTimeOfAStep(t *testing.T) {
	for worked, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Minute, 7 * time.Second: 3 * time.Minute} {
		g := &asked{}
		l := &Leader{Group: g, Run: Run{Patience: time.Minute}, shared: time.Now().Add(-worked)}
		if err := l.Reduce(nil); err != nil || g.patience != want {
			t.Errorf("rank 0 worked for %v: found %v (%v), expected a patience of %v", worked, g.patience, err, want)
		}
	}
}

// Another rank hears what rank 0 says as it was said, and leaves what is only for rank 0.
func TestRanksHearRankZero(t *testing.T) {
	members, heard := mpitest.Local(2), make(chan error)
	go func() {
		g := members[1]
		var first call
		m, mean := make([]message, 1), make([]float32, 2)
		err := errors.Join(hear(g, &first), g.Broadcast(bytesOf(m)), g.Broadcast(bytesOf(mean)))
		if err == nil && (string(first.Config) != "a" || first.Program != "b" || m[0] != message{kind: ofMean, length: 2} || mean[1] != 4) {
			err = fmt.Errorf("found %+v, %+v and %v", first, m[0], mean)
		}
		if err = errors.Join(err, g.Broadcast(bytesOf(m))); m[0].kind != ofEnd {
			err = errors.Join(err, fmt.Errorf("found %+v, expected the end", m[0]))
		}
		heard <- errors.Join(err, (&follower{Group: g, bounds: []int{0, 1, 2}}).Reduce([]int64{3}))
	}()
	tiny.Check(t, tell(members[0], call{Config: []byte("a"), Program: "b"}))
	l := &Leader{Group: members[0], Run: Run{Patience: time.Minute}, shared: time.Now()}
	tiny.Check(t, l.Centre([]float32{2, 4}))
	tiny.Check(t, l.Dismiss())
	sum := []int64{4}
	if err := l.Reduce(sum); err != nil || sum[0] != 7 {
		t.Errorf("found the sum %v (%v), expected 7", sum, err)
	}
	tiny.Check(t, <-heard)
	if f := (&follower{bounds: []int{0, 5}}); f.Share(0, nil) == nil || f.Bounds()[1] != 5 {
		t.Error("a rank that is not the first shares a sample, or has other bounds")
	}
}
