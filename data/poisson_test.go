package data

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpsgd/accountant"
	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

var probabilities = []float64{1, math.Nextafter(1, 0), 0.999, 0.9, 0.5, 0.3, 0.1, 512.0 / 60000, 0.001, 1e-5, 1e-8, 1e-30, 0x1p-128}

// The guarantee of Poisson, record by record and in exact arithmetic: after k
// records left out, the next joins with a chance in (q − 2⁻¹²⁴, q].
func TestEveryRecordJoinsWithAtMostQ(t *testing.T) {
	one := new(big.Int).Lsh(big.NewInt(1), 128)
	tolerance := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 124))
	for _, q := range probabilities {
		var table skipTable
		table.fill(q, maxSkips)
		exact := new(big.Rat).SetFloat64(q)
		before := one
		for k, s := range table.survival[:table.len] {
			after := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(s.hi), 64), new(big.Int).SetUint64(s.lo))
			chance := new(big.Rat).SetFrac(new(big.Int).Sub(before, after), before)
			below := new(big.Rat).Sub(exact, chance)
			if below.Sign() < 0 || below.Cmp(tolerance) >= 0 {
				t.Fatalf("q=%v: record after %d left out: q minus its chance is %v", q, k, below.FloatString(50))
			}
			before = after
		}
		// It ends with the first entry below 1/16.
		if want := math.Min(maxSkips, math.Log(1./16)/math.Log1p(-q)); float64(table.len) < want-1 || float64(table.len) > want+1 {
			t.Errorf("q=%v: the table has %d entries, expected about %.0f", q, table.len, want)
		}
	}
}

// script replays words; after them every word is the last one again.
type script []uint64

func (s *script) Uint64() uint64 {
	w := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return w
}

// sampled draws one batch and fails the test, without delay, if that takes more than eight times
// the words that are expected, and 1,000: a broken sampler may go on for ever.
func sampled(t testing.TB, p Poisson, dst []int, n int, src words) []int {
	t.Helper()
	expected := p.SamplingProbability*float64(n)*16/15 + float64(n)/maxSkips + 2
	limited := &limitedWords{src, int(8*expected) + 1000}
	defer func() {
		if limited.left < 0 {
			recover()
			t.Fatalf("q=%v, n=%d: a batch takes more than %.0f words, expected about %.0f", p.SamplingProbability, n, 8*expected+1000, expected)
		}
	}()
	return p.sample(dst, n, limited)
}

// limitedWords panics when it has no words left.
type limitedWords struct {
	words
	left int
}

func (w *limitedWords) Uint64() uint64 {
	if w.left--; w.left < 0 {
		panic("no words left")
	}
	return w.words.Uint64()
}

// A uniform number leaves out as many records as there are entries above it, to
// the last of 128 bits.
func TestDrawInvertsTheTableExactly(t *testing.T) {
	for _, q := range []float64{0.999, 0.3, 0.01, 1e-5} {
		var table skipTable
		table.fill(q, maxSkips)
		for k := range table.len {
			s := table.survival[k]
			if s.lo == 0 || s.lo == math.MaxUint64 {
				continue // the neighbour would have another first word
			}
			for _, c := range []struct {
				lo   uint64
				want int
			}{{s.lo - 1, k + 1}, {s.lo, k}, {s.lo + 1, k}} {
				words := script{s.hi, c.lo}
				run, joins := table.draw(&words)
				if run != c.want || joins != (c.want < table.len) {
					t.Fatalf("q=%v, entry %d, second word %+d: left out %d, expected %d", q, k, int64(c.lo-s.lo), run, c.want)
				}
			}
		}
		words := script{0, 0}
		if run, joins := table.draw(&words); run != table.len || joins {
			t.Errorf("q=%v: the smallest number leaves out %d of %d", q, run, table.len)
		}
		words = script{math.MaxUint64}
		if run, joins := table.draw(&words); run != 0 || !joins {
			t.Errorf("q=%v: the largest number leaves out %d", q, run)
		}
	}
}

// firstJoins feeds p numbers a hair (2⁻⁶⁰) above and below the chance (1−claimed)^k, in exact
// arithmetic, that k records in a row are left out, for every record from start on; records before
// it join at once. It returns the records of which the sampler answers otherwise than one with the
// claimed probability: the number above lets the record join, the one below does not.
func firstJoins(t *testing.T, p Poisson, claimed float64, start, n int) (wrong []int) {
	t.Helper()
	exact := new(big.Float).SetPrec(300).SetFloat64(claimed)
	leftOut := new(big.Float).SetPrec(300).Sub(big.NewFloat(1), exact)
	table := 1 // the least k with (1−claimed)^k < 1/16, up to the end of the table
	for x := 1 - claimed; x >= 1./16 && table < min(maxSkips, n); x *= 1 - claimed {
		table++
	}
	var before script
	joined := []int{}
	for i := range start {
		before, joined = append(before, math.MaxUint64), append(joined, i)
	}
	power := new(big.Float)
	for k := start; k < n; k++ {
		run := (k - start) % table
		if run == 0 {
			power.SetPrec(300).SetInt64(1)
			if k > start {
				before = append(before, 0) // leaves out a whole table
			}
		}
		power.Mul(power, leftOut)
		word, _ := new(big.Float).SetMantExp(power, 64).Uint64()
		above := append(slices.Clone(before), word+16, 0) // then leaves out the rest
		below := append(slices.Clone(before), word-16, 0)
		with, without := append(slices.Clone(joined), k), slices.Clone(joined)
		if run+1 < table && k+1 < n {
			without = append(without, k+1)
		}
		if !slices.Equal(sampled(t, p, nil, n, &above), with) || !slices.Equal(sampled(t, p, nil, n, &below), without) {
			wrong = append(wrong, k)
		}
	}
	return wrong
}

// Each record, the first and the last one too, joins with the claimed probability on either side
// of the ends of the table, and none does in a twin whose probability is off by 1e-12.
func TestEveryRecordJoinsAtItsExactChance(t *testing.T) {
	for _, q := range []float64{1e-5, 0.001, 512.0 / 60000, 0.3, 0.9} {
		for _, n := range []int{1, 2, 3, 511, 512, 513, 1024, 1025, 1026} {
			for _, start := range []int{0, 1} {
				if wrong := firstJoins(t, Poisson{q}, q, start, n); len(wrong) > 0 {
					t.Errorf("q=%v, n=%d, %d joined: wrong for the records %v", q, n, start, wrong)
				}
			}
			for _, other := range []float64{q * (1 + 1e-12), q * (1 - 1e-12)} {
				if wrong := firstJoins(t, Poisson{other}, q, 0, n); len(wrong) != n {
					t.Errorf("q=%v, n=%d: a twin with %v is told apart at %d records only", q, n, other, len(wrong))
				}
			}
		}
	}
}

// Every index is in about steps·q of the batches: each count lies between the binomial quantiles
// at 0.5e-6/indices and 1−0.5e-6/indices, so the test falsely rejects with probability 1e-6 at
// most. Those are about 6 standard deviations away; an index that is never drawn, or half or twice
// as often as the others, is 11 or more away.
func TestEveryIndexIsIncluded(t *testing.T) {
	const q, steps = 0.2, 2000
	sizes := []int{1, 2, 3, 12, 13, 14, 511, 512, 513}
	indices := 0
	for _, n := range sizes {
		indices += n
	}
	counts := distuv.Binomial{N: steps, P: q}
	least, most := 0, steps
	for counts.CDF(float64(least)) < 0.5e-6/float64(indices) {
		least++
	}
	for counts.Survival(float64(most-1)) < 0.5e-6/float64(indices) {
		most--
	}
	src := random.ForTest(6)
	for _, n := range sizes {
		count := make([]int, n)
		for range steps {
			for _, i := range sampled(t, Poisson{q}, nil, n, src) {
				count[i]++
			}
		}
		for i, c := range count {
			if c < least || c > most {
				t.Errorf("n=%d: index %d is in %d of %d batches, expected %d to %d", n, i, c, steps, least, most)
			}
		}
	}
}

func TestSampleGoesOnPastTheTable(t *testing.T) {
	var table skipTable
	table.fill(0.01, maxSkips)
	// Twice past the end, then no more records left out: the next index joins. The
	// following words all leave out the rest.
	words := script{0, 0, math.MaxUint64, 0}
	got := Poisson{0.01}.sample(nil, 2*table.len+50, &words)
	if want := []int{2 * table.len}; !slices.Equal(got, want) {
		t.Errorf("sampled %v, expected %v", got, want)
	}
}

// modelTable is survival of proofs/sampler.v, cut off as extend and fill do: in units of 2⁻¹²⁸,
// S₀ = 1 and S_{k+1} = S_k − ⌊q·S_k⌋. It returns S₁ to S_len.
func modelTable(q float64, n int) (table []*big.Int) {
	exact := new(big.Rat).SetFloat64(q) // a mantissa over a power of two
	s := new(big.Int).Lsh(big.NewInt(1), 128)
	for range max(1, min(maxSkips, n)) {
		if s.BitLen() <= 124 { // below 1/16
			break
		}
		taken := new(big.Int).Mul(exact.Num(), s)
		s = new(big.Int).Sub(s, taken.Quo(taken, exact.Denom()))
		table = append(table, s)
	}
	return table
}

// modelSample is sample of proofs/sampler.v, with draw, search and below.
func modelSample(table []*big.Int, n int, src words) (batch []int) {
	for next := 0; ; {
		first, complete := src.Uint64(), false
		u := new(big.Int).Lsh(new(big.Int).SetUint64(first), 64)
		low, high := 0, len(table)
		for low < high {
			middle := (low + high) / 2
			if !complete && new(big.Int).Rsh(table[middle], 64).Uint64() == first {
				u.Add(u, new(big.Int).SetUint64(src.Uint64()))
				complete = true
			}
			if u.Cmp(table[middle]) < 0 {
				low = middle + 1
			} else {
				high = middle
			}
		}
		if n-next <= low {
			return batch
		}
		if next += low; low < len(table) {
			batch = append(batch, next)
			next++
		}
	}
}

// The sampler is the one that proofs/sampler.v speaks of, whose definitions the model follows line by
// line. Every third number is as close to an entry as can be, so that second words decide.
func TestSamplerIsTheOneOfTheProof(t *testing.T) {
	src, low64 := random.ForTest(27), new(big.Int).SetUint64(math.MaxUint64)
	for range slow.Number(t, "DPSGD_SAMPLES", 3000, 1_000_000) {
		q := math.Ldexp(0.5+0.5*float64(src.Uint64()>>12)*0x1p-52, -int(min(src.Uint64()%200, 127)*(src.Uint64()%2)))
		if src.Uint64()%16 == 0 {
			q = probabilities[src.Uint64()%uint64(len(probabilities))]
		}
		n := int(src.Uint64() % 40)
		table := modelTable(q, n)
		var code script
		for range n + 1 { // an entry, or a number next to it; then another number
			near := new(big.Int).Add(table[src.Uint64()%uint64(len(table))], big.NewInt(int64(src.Uint64()%3)-1))
			code = append(code, new(big.Int).Rsh(near, 64).Uint64(), new(big.Int).And(near, low64).Uint64(), src.Uint64())
		}
		rest := slices.Clone(code)
		want := modelSample(table, n, &rest)
		if got := (Poisson{q}).sample([]int{}, n, &code); !slices.Equal(got, want) || len(code) != len(rest) {
			t.Fatalf("q=%v, n=%d: sampled %v with %d words left, expected %v with %d", q, n, got, len(code), want, len(rest))
		}
	}
}

func TestSampleAtTheEnds(t *testing.T) {
	src := random.ForTest(1)
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	for _, c := range []struct {
		q    float64
		n    int
		want []int
	}{
		{0, 100, []int{}},
		{1, 100, all},
		{1, 0, []int{}},
		{0.5, 0, []int{}},
		{0x1p-129, 100, []int{}},
		{math.SmallestNonzeroFloat64, 100, []int{}},
		{1e-30, 100, []int{}}, // with chance 1−1e-28
	} {
		got := sampled(t, Poisson{c.q}, nil, c.n, src)
		if got == nil || !slices.Equal(got, c.want) {
			t.Errorf("q=%v, n=%d: %v (nil: %v), expected %v", c.q, c.n, got, got == nil, c.want)
		}
	}
}

// Every record is in every batch, the last one too, of an even or an odd number; what dst held is
// forgotten.
func TestFullTakesEveryRecord(t *testing.T) {
	dst, all := []int{7, 7, 7}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for n := range 10 {
		if dst = (Full{}).Sample(dst, n, nil); !slices.Equal(dst, all[:n]) {
			t.Errorf("of %d records found %v", n, dst)
		}
	}
}

func TestSampleReusesItsMemory(t *testing.T) {
	p, src := Poisson{0.1}, random.ForTest(1)
	dst := sampled(t, p, make([]int, 7, 1000), 1000, src)
	if n := testing.AllocsPerRun(100, func() { dst = p.Sample(dst, 1000, src) }); n != 0 {
		t.Errorf("%v allocations for each call", n)
	}
	if !slices.IsSorted(dst) || len(slices.Compact(slices.Clone(dst))) != len(dst) || dst[0] < 0 || dst[len(dst)-1] > 999 {
		t.Errorf("not distinct, increasing indices below 1,000: %v", dst)
	}
}

func TestSampleRefusesNonsense(t *testing.T) {
	for _, q := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		p := Poisson{q}
		wantError(t, p.Validate(), nil, "expected a number from 0 to 1")
		if !panics(func() { p.Sample(nil, 10, random.ForTest(1)) }) {
			t.Errorf("q=%v: no panic", q)
		}
	}
}

// The accountant is told the sampler's own field, to the last bit.
func TestSampledTellsTheSameProbability(t *testing.T) {
	for _, q := range probabilities {
		e := Poisson{q}.Sampled(accountant.Gaussian{NoiseMultiplier: 1.1})
		want := accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: 1.1}}
		if e != want {
			t.Errorf("event is %v, expected %v", e, want)
		}
	}
}

// A probability that float32 cannot hold: a sampler that compares 24 random bits would use 2⁻²⁴ =
// 6e-8 instead of 1e-8 and find 128 of 2³¹ records, not 21. The bounds are the quantiles of
// Poisson(21.47) at 0.5e-5 and 1−0.5e-5: the test falsely rejects with probability 1e-5.
func TestSmallProbabilitiesAreNotRounded(t *testing.T) {
	got := len(sampled(t, Poisson{1e-8}, nil, 1<<31-1, random.ForTest(2)))
	if got < 5 || got > 46 {
		t.Errorf("%d of 2³¹−1 records, expected about 21", got)
	}
}

func ExamplePoisson_Sample() {
	sampler := Poisson{SamplingProbability: 0.001}
	src := random.ForTest(1) // training takes random.New()
	var batch []int
	empty := 0
	for range 1000 {
		batch = sampler.Sample(batch, 100, src)
		if len(batch) == 0 {
			empty++ // a step of noise alone, never skipped
		}
	}
	fmt.Println(empty > 850, sampler.Sampled(accountant.Gaussian{NoiseMultiplier: 1}))
	// Output: true PoissonSampled(q=0.001, Gaussian(σ=1))
}

func BenchmarkPoisson(b *testing.B) {
	for _, c := range []struct {
		q float64
		n int
	}{{512.0 / 60000, 60000}, {0.02, 20000}, {2048e-7, 10_000_000}, {16384e-7, 10_000_000}} {
		b.Run(fmt.Sprintf("q=%.4f,n=%d", c.q, c.n), func(b *testing.B) {
			src, dst := random.New(), []int(nil)
			for b.Loop() {
				dst = Poisson{c.q}.Sample(dst, c.n, src)
			}
		})
	}
}
