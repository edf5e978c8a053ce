package optimizer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// secret is a value that no test output has by chance.
const secret = 12345.6787109375

// released is a Noisy whose sum is the secret in every coordinate.
func released(t testing.TB, m Mechanism, sum *clip.Sum, dim int) Noisy {
	t.Helper()
	if err := sum.Add(slices.Repeat([]float32{secret}, dim)); err != nil {
		t.Fatal(err)
	}
	noisy, err := m.Privatize(sum)
	if err != nil {
		t.Fatal(err)
	}
	return noisy
}

// One release, one draw of noise: whatever copy is used first uses all of them up, for every rule.
func TestNoisyIsUsedOnce(t *testing.T) {
	const dim = 3
	for name, rule := range rules() {
		m := gaussian(t, 1, 70)
		noisy := released(t, m, clip.NewSum(1, dim), dim)
		again := noisy
		u, other := newUpdate(t, rule, dim), newUpdate(t, rule, dim)
		p := startingPoint(dim, 1)
		apply(t, u, p, noisy, 10, 0.1)
		before, state := slices.Clone(p), u.State()
		next := released(t, m, clip.NewSum(1, dim), dim) // has the place of the first one
		for _, user := range []Update{u, other} {
			for _, used := range []Noisy{noisy, again} {
				err := user.Apply(p, used, 10, 0.1)
				if !errors.Is(err, ErrUsed) || !errors.Is(err, ErrUpdate) {
					t.Errorf("%s: second use: error is %v, want %v and %v", name, err, ErrUsed, ErrUpdate)
				}
			}
		}
		if !slices.Equal(p, before) || fmt.Sprint(u.State()) != fmt.Sprint(state) || other.State().Step != 0 {
			t.Errorf("%s: a refused use changed something", name)
		}
		apply(t, u, p, next, 10, 0.1)
	}
}

// A use that is refused for other reasons is none.
func TestRefusedApplyDoesNotUseUp(t *testing.T) {
	u := newUpdate(t, Rule{Name: "sgd"}, 3)
	noisy := released(t, gaussian(t, 1, 71), clip.NewSum(1, 3), 3)
	p := make([]float32, 3)
	if err := u.Apply(p, noisy, math.NaN(), 0.1); errors.Is(err, ErrUsed) || !errors.Is(err, ErrUpdate) {
		t.Errorf("batch NaN: error is %v, want %v alone", err, ErrUpdate)
	}
	apply(t, u, p, noisy, 1, 0.1)
}

// A release waits for its update however the sum is used in the meantime: its values are the sum's no more.
func TestReleaseOutlivesItsSum(t *testing.T) {
	const dim = 5
	step := func(between func(*clip.Sum)) []float32 {
		sum := clip.NewSum(1, dim)
		noisy := released(t, gaussian(t, 1, 72), sum, dim)
		between(sum)
		p := make([]float32, dim)
		apply(t, newUpdate(t, Rule{Name: "sgd"}, dim), p, noisy, 1, 1)
		return p
	}
	want := step(func(*clip.Sum) {})
	got := step(func(sum *clip.Sum) {
		sum.Reset()
		if err := sum.Add([]float32{1, 2, 3, 4, 5}); err != nil {
			t.Error(err)
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("the step is %v, with another sum begun before it %v", want, got)
	}
}

// Every use of one sum has fresh noise, in whatever order several of them are used: five releases of nothing give
// 5·dim different values. 250 draws from some 2^31 points have two alike with a probability below 1e-5.
func TestEveryReleaseHasItsOwnNoise(t *testing.T) {
	const dim = 50
	m, sum := gaussian(t, 1, 73), clip.NewSum(1, dim)
	var pending []Noisy
	for range 5 {
		noisy, err := m.Privatize(sum)
		if err != nil {
			t.Fatal(err)
		}
		sum.Reset()
		pending = append(pending, noisy)
	}
	seen := map[float64]bool{}
	for _, i := range []int{3, 0, 4, 1, 2} {
		for _, v := range consumed(pending[i]) {
			seen[v] = true
		}
	}
	if len(seen) != 5*dim {
		t.Errorf("%d different values of noise, want %d", len(seen), 5*dim)
	}
}

// What a Noisy says of itself to a log does not have the sum in it, whatever verb the log is written with.
func TestNoisyPrintsNothing(t *testing.T) {
	noisy := released(t, gaussian(t, 1, 74), clip.NewSum(1, 1), 1)
	for verb := range strings.SplitSeq("vsqxXdobcUeEfFgGtTp", "") {
		for _, v := range []any{noisy, &noisy, []Noisy{noisy}, struct{ n Noisy }{noisy}} {
			for _, flag := range []string{"", "+", "#"} {
				if s := fmt.Sprintf("%"+flag+verb, v); strings.Contains(s, "12345") || strings.Contains(s, "1.2345") {
					t.Errorf("%%%s%s prints %q", flag, verb, s)
				}
			}
		}
	}
}

// The parameters depend on the source, not on how many threads drew from it.
func TestStepsDoNotDependOnThreads(t *testing.T) {
	const dim = 5*chunkLen + 17
	for name, rule := range rules() {
		var want []float32
		for _, threads := range []int{1, 2, 3, 16} {
			pool := kernel.NewPool(threads)
			u, err := NewParallelUpdate(rule, dim, pool)
			if err != nil {
				t.Fatal(err)
			}
			m, sum, p := gaussian(t, 1, 3), clip.NewParallelSum(1, dim, pool), startingPoint(dim, 4)
			for range 3 {
				apply(t, u, p, released(t, m, sum, dim), 100, 0.1)
				sum.Reset()
			}
			pool.Close()
			if want == nil {
				want = p
			}
			if !slices.Equal(p, want) {
				t.Errorf("%s: %d threads end elsewhere than one", name, threads)
			}
		}
	}
}

// Updates that share a mechanism may run at the same time: no word of noise is drawn by two of them.
func TestConcurrentUpdatesShareNoNoise(t *testing.T) {
	const updates, dim = 8, 50
	m := gaussian(t, 1, 75)
	moved := make([][]float32, updates)
	var done sync.WaitGroup
	for i := range moved {
		moved[i] = make([]float32, dim)
		u := newUpdate(t, Rule{Name: "sgd"}, dim)
		done.Go(func() {
			noisy, err := m.Privatize(clip.NewSum(1, dim))
			if err == nil {
				err = u.Apply(moved[i], noisy, 1, 1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	seen := map[float32]bool{}
	for _, p := range moved {
		for _, v := range p {
			seen[v] = true
		}
	}
	// Of 400 float32 some are equal by chance: 10 of them with a probability far below 1e-5.
	if len(seen) < updates*dim-10 {
		t.Errorf("%d different values of noise, want %d", len(seen), updates*dim)
	}
}

// A step of a run allocates nothing: sum, noise and update live in memory made once.
func TestStepsAllocateNothing(t *testing.T) {
	const dim = chunkLen + 100
	pool := kernel.NewPool(2)
	defer pool.Close()
	partial := [][]float32{make([]float32, 100), make([]float32, chunkLen)}
	for name, rule := range rules() {
		u, err := NewParallelUpdate(rule, dim, pool)
		if err != nil {
			t.Fatal(err)
		}
		m, sum, p := gaussian(t, 1, 5), clip.NewParallelSum(1, dim, pool), make([]float32, dim)
		step := func() {
			sum.Reset()
			if err := sum.Add(partial...); err != nil {
				t.Error(err)
			}
			noisy, err := m.Privatize(sum)
			if err != nil {
				t.Error(err)
			}
			apply(t, u, p, noisy, 100, 0.1)
		}
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%s: a step makes %g allocations, want none", name, n)
		}
	}
}

// The private half of a step of mlp1000, 795,010 parameters: sum, noise and update, on one thread and on two.
//
//	go test -run '^$' -bench PrivatizeAndUpdate -benchmem ./optimizer
func BenchmarkPrivatizeAndUpdate(b *testing.B) {
	const dim = 795_010
	for _, threads := range []int{1, 2} {
		for _, rule := range []Rule{{Name: "sgd"}, {Name: "momentum", Momentum: 0.9}, {Name: "adam", Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}} {
			b.Run(fmt.Sprintf("%s/threads=%d", rule.Name, threads), func(b *testing.B) {
				pool := kernel.NewPool(threads)
				defer pool.Close()
				u, err := NewParallelUpdate(rule, dim, pool)
				if err != nil {
					b.Fatal(err)
				}
				m, err := NewGaussian(1, random.New())
				if err != nil {
					b.Fatal(err)
				}
				sum, p, partial := clip.NewParallelSum(1, dim, pool), make([]float32, dim), make([]float32, dim)
				step := func() {
					sum.Reset()
					if err := sum.Add(partial); err != nil {
						b.Fatal(err)
					}
					noisy, err := m.Privatize(sum)
					if err != nil {
						b.Fatal(err)
					}
					apply(b, u, p, noisy, 256, 0.1)
				}
				step() // makes the streams
				b.ReportAllocs()
				for b.Loop() {
					step()
				}
				b.ReportMetric(1e9*b.Elapsed().Seconds()/float64(b.N)/dim, "ns/parameter")
			})
		}
	}
}
