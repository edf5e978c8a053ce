package clip

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// examples are gradients of a model with every kind of part: stored rows, an outer product, rows
// that are formed.
type examples struct {
	shape        shape
	n            int
	norms        []float64 // squared, as an engine reports them
	rows, formed []float32
	x, z         []float32
	lies         []float64 // factors of what is said of the norms of x and z; 0 for none
}

// shape is the sizes of the parts; a part of size 0 is left out.
type shape struct{ rows, in, out, formed int }

func (s shape) dim() int { return s.rows + s.in*s.out + s.formed }

func newExamples(s shape, n int) examples {
	return examples{
		shape: s, n: n, norms: make([]float64, n), rows: make([]float32, n*s.rows), formed: make([]float32, n*s.formed),
		x: make([]float32, n*s.in), z: make([]float32, n*s.out), lies: make([]float64, n),
	}
}

// draw fills in numbers of about the given size, and honest norms.
func draw(s shape, n int, size float64, src *random.Public) examples {
	e := newExamples(s, n)
	for _, values := range [][]float32{e.rows, e.formed, e.x, e.z} {
		for i := range values {
			values[i] = float32(size * (2*src.Float64() - 1))
		}
	}
	e.measure()
	return e
}

// measure makes the reported norms honest.
func (e examples) measure() {
	for i := range e.n {
		one := e.at(i)
		e.norms[i] = kernel.SumSquares(one.rows) + kernel.SumSquares(one.formed) + kernel.SumSquares(one.x)*kernel.SumSquares(one.z)
	}
}

// at is example i alone; it shares memory with e.
func (e examples) at(i int) examples { return e.part(i, i+1) }

// part is examples [lo, hi).
func (e examples) part(lo, hi int) examples {
	s := e.shape
	return examples{
		shape: s, n: hi - lo, norms: e.norms[lo:hi], rows: e.rows[lo*s.rows : hi*s.rows], formed: e.formed[lo*s.formed : hi*s.formed],
		x: e.x[lo*s.in : hi*s.in], z: e.z[lo*s.out : hi*s.out], lies: e.lies[lo:hi],
	}
}

// and is the examples of both.
func (e examples) and(f examples) examples {
	return examples{
		e.shape, e.n + f.n, slices.Concat(e.norms, f.norms), slices.Concat(e.rows, f.rows), slices.Concat(e.formed, f.formed),
		slices.Concat(e.x, f.x), slices.Concat(e.z, f.z), slices.Concat(e.lies, f.lies),
	}
}

// permuted is the examples in another order.
func (e examples) permuted(order []int) examples {
	all := e.part(0, 0)
	for _, i := range order {
		all = all.and(e.at(i))
	}
	return all
}

func (e examples) batch() Batch {
	b := Batch{SquaredNorms: e.norms}
	if s := e.shape; s.rows > 0 {
		b.Parts = append(b.Parts, Stored(e.rows, s.rows))
	}
	if s := e.shape; s.in > 0 {
		b.Parts = append(b.Parts, e.outer())
	}
	if s := e.shape; s.formed > 0 {
		b.Parts = append(b.Parts, Rows{Width: s.formed, Examples: e.n, Form: func(_, i int, emit func([]float32)) {
			row := e.formed[i*s.formed : (i+1)*s.formed]
			emit(row[:len(row)/3]) // pieces, one of them empty, and one that is too much
			emit(nil)
			emit(row[len(row)/3:])
			emit(row)
		}})
	}
	return b
}

// outer reports norms of the factors that are right exactly when the norms of the whole are.
func (e examples) outer() Outer {
	o := Outer{X: e.x, Z: e.z, In: e.shape.in, Out: e.shape.out}
	for i := range e.n {
		one := e.at(i)
		o.SquaredX = append(o.SquaredX, kernel.SumSquares(one.x))
		o.SquaredZ = append(o.SquaredZ, kernel.SumSquares(one.z))
		if lie := e.lies[i]; lie != 0 {
			o.SquaredX[i] *= lie
			o.SquaredZ[i] /= math.Sqrt(lie)
		}
	}
	return o
}

func newSum(t testing.TB, bound float64, dim int, pool *kernel.Pool) *Sum {
	t.Helper()
	return newSumOf(t, Flat{ClipNorm: bound}, dim, pool)
}

func newSumOf(t testing.TB, policy Policy, dim int, pool *kernel.Pool) *Sum {
	t.Helper()
	return newSumFor(t, manyExamples, policy, dim, pool)
}

// manyExamples are as many as leave the finest lattice.
const manyExamples = 1 << 14

func newSumFor(t testing.TB, room int, policy Policy, dim int, pool *kernel.Pool) *Sum {
	t.Helper()
	s, err := NewSum(policy, dim, pool)
	check(t, err)
	s.Refine(room)
	return s
}

// integers adds up the examples in physical batches and returns what leaves the sum.
func integers(t testing.TB, s *Sum, e examples, physical int) []int64 {
	t.Helper()
	s.Reset()
	addAll(t, s, e, physical)
	return released(t, s)
}

// addAll adds examples in physical batches.
func addAll(t testing.TB, s *Sum, e examples, physical int) {
	t.Helper()
	for lo := 0; lo < e.n; lo += physical {
		part := e.part(lo, min(lo+physical, e.n))
		check(t, s.Add(part.batch(), part.n))
	}
}

func released(t testing.TB, s *Sum) []int64 {
	t.Helper()
	var found []int64
	err := s.Release(func(integers Integers, _ Lattice) {
		found = make([]int64, s.Dim())
		integers(found, 0)
	})
	check(t, err)
	return found
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The sum equals the exact sum of each example's own contribution, for any order of the examples,
// any split into physical batches, and any number of threads.
func TestSumIsExactInAnyOrder(t *testing.T) {
	src := random.Seeded(1)
	for _, s := range []shape{{rows: 5000}, {formed: 700}, {in: 40, out: 30}, {rows: 33, in: 17, out: 5, formed: 21}} {
		for _, size := range []float64{1e-3, 1, 1e5} {
			e := draw(s, 37, size, src)
			want := make([]int64, s.dim())
			alone := newSum(t, 1, s.dim(), nil)
			for i := range e.n {
				for j, v := range integers(t, alone, e.at(i), 1) {
					want[j] += v
				}
			}
			for threads := 1; threads <= 4; threads++ {
				pool := kernel.NewPool(threads)
				defer pool.Close()
				sum := newSum(t, 1, s.dim(), pool)
				for _, physical := range []int{1, 2, 5, 36, 64} {
					for _, f := range []examples{e, e.permuted(shuffled(e.n, src))} {
						if !slices.Equal(integers(t, sum, f, physical), want) {
							t.Errorf("%+v, size %g, %d threads, physical batch %d: the sum is not that of the contributions", s, size, threads, physical)
						}
					}
				}
			}
		}
	}
}

func shuffled(n int, src *random.Public) []int {
	order := make([]int, n)
	for i := range order {
		j := int(src.Uint64() % uint64(i+1))
		order[i], order[j] = order[j], i
	}
	return order
}

// Sums stay exact where the most examples, all as long as they may be, meet in one coordinate.
func TestSumOfTheLongest(t *testing.T) {
	const n = 5000
	for _, s := range []shape{{rows: 1}, {formed: 1}, {in: 1, out: 1}, {in: 20, out: 20}} {
		e := newExamples(s, n)
		for _, values := range [][]float32{e.rows, e.formed, e.x, e.z} {
			for i := range values {
				values[i] = 3e4
			}
		}
		e.measure()
		odd := false
		// Up to just below 2^21 spacings, through bounds at which some contribution is odd, so that
		// no power of two in it hides a rounding.
		for i := range 48 {
			bound := math.Nextafter(2-float64(i)/100, 0)
			room := []int{math.MaxInt, n}[i%2] // float32 has no odd numbers of the finest lattice
			sum := newSumFor(t, room, Flat{ClipNorm: bound}, s.dim(), nil)
			one := integers(t, sum, e.at(0), 1)
			all := integers(t, sum, e, n)
			odd = odd || one[0]%2 != 0
			for j, v := range all {
				if one[j] == 0 || v != n*one[j] {
					t.Fatalf("%+v: coordinate %d of the sum of %d equal examples is %d, of one %d", s, j, n, v, one[j])
				}
			}
		}
		if !odd && s.in != 1 { // products of two numbers are multiples of two, for their shift
			t.Errorf("%+v: all contributions were even; the test needs other bounds", s)
		}
	}
}

// A contribution is close to the clipped gradient: rows to half a spacing in every coordinate,
// outer products to a thousandth.
func TestContributionIsTheClippedGradient(t *testing.T) {
	src := random.Seeded(2)
	for _, s := range []shape{{rows: 500}, {formed: 500}, {in: 50, out: 20}} {
		for _, size := range []float64{1e-2, 1, 1e4} {
			e := draw(s, 1, size, src)
			found := integers(t, newSum(t, 1, s.dim(), nil), e, 1)
			factor := min(1, (1-0x1p-12)/math.Sqrt(e.norms[0])) / latticeOf(1, mostDigits).Spacing
			var off, length float64
			for j := range found {
				want := 0.0
				switch {
				case s.rows > 0:
					want = float64(e.rows[j]) * factor
				case s.formed > 0:
					want = float64(e.formed[j]) * factor
				default:
					want = float64(e.x[j%s.in]) * float64(e.z[j/s.in]) * factor
				}
				d := float64(found[j]) - want
				if s.in == 0 && !(math.Abs(d) <= 0.5+1e-6*math.Abs(want)) {
					t.Fatalf("%+v, size %g: coordinate %d is %d, expected %.2f", s, size, j, found[j], want)
				}
				off, length = off+d*d, length+want*want
			}
			if math.Sqrt(off/length) > 1e-3 {
				t.Errorf("%+v, size %g: the contribution is off by %.2g of its length", s, size, math.Sqrt(off/length))
			}
		}
	}
}

// Honest examples are not refused, however their gradients are spread.
func TestHonestExamplesCount(t *testing.T) { eachPolicy(t, honestExamplesCount) }

func honestExamplesCount(t *testing.T, newSum sumMaker) {
	src := random.Seeded(3)
	for _, s := range []shape{{rows: 3}, {rows: 3000}, {formed: 300}, {in: 784, out: 10}, {in: 3, out: 2}, {in: 1, out: 1}, {rows: 10, in: 500, out: 100, formed: 40}} {
		sum := newSum(t, 1, s.dim(), nil)
		for range 300 {
			e := draw(s, 1, math.Exp(8*src.Float64()-2), src)
			if found := integers(t, sum, e, 1); !slices.ContainsFunc(found, func(v int64) bool { return v != 0 }) {
				t.Fatalf("%+v: an example of norm %v adds nothing", s, math.Sqrt(e.norms[0]))
			}
		}
	}
}

// Padding after the examples is not read.
func TestPaddingIsNotRead(t *testing.T) {
	src := random.Seeded(4)
	s := shape{rows: 9, in: 4, out: 3, formed: 5}
	e := draw(s, 6, 1, src)
	want := integers(t, newSum(t, 1, s.dim(), nil), e.part(0, 4), 4)
	for _, values := range [][]float32{e.rows[4*9:], e.formed[4*5:], e.x[4*4:], e.z[4*3:]} {
		for i := range values {
			values[i] = float32(math.NaN())
		}
	}
	sum := newSum(t, 1, s.dim(), nil)
	check(t, sum.Add(e.batch(), 4))
	if !slices.Equal(released(t, sum), want) {
		t.Error("rows of padding change the sum")
	}
}

// A sum reads the same in pieces of any size, in any order, as often as somebody likes, whether its
// last group waits or not.
func TestSumIsReadInAnyPieces(t *testing.T) {
	s := shape{rows: 3000, in: 90, out: 40, formed: 21}
	for _, physical := range []int{1, 8, 20} {
		e := draw(s, 20, 1, random.Seeded(8))
		sum := newSum(t, 1, s.dim(), nil)
		want := integers(t, sum, e, physical)
		sum.Reset()
		addAll(t, sum, e, physical)
		sum.Release(func(integers Integers, _ Lattice) {
			for _, size := range []int{1, 7, 512, strip, 5000, s.dim()} {
				for from := (s.dim() - 1) / size * size; from >= 0; from -= size {
					piece := make([]int64, min(size, s.dim()-from))
					piece[0] = 1234567 // of what was in the memory before nothing is left
					integers(piece, from)
					for i, v := range piece {
						if v != want[from+i] {
							t.Fatalf("physical batch %d, pieces of %d: coordinate %d is %v, expected %d", physical, size, from+i, v, want[from+i])
						}
					}
				}
			}
		})
	}
}

// A sum of nobody is zero, also in memory that held another sum.
func TestSumOfNobody(t *testing.T) {
	s := shape{rows: 3000, in: 3, out: 2}
	sum := newSum(t, 1, s.dim(), nil)
	integers(t, sum, draw(s, 4, 1, random.Seeded(5)), 4)
	sum.Reset()
	for i, v := range released(t, sum) {
		if v != 0 {
			t.Fatalf("coordinate %d is %d, expected 0", i, v)
		}
	}
}

// Batches may come in other parts than those before: memory of theirs is not used for them.
func TestPartsMayChange(t *testing.T) {
	src, sum := random.Seeded(6), newSum(t, 1, 60, nil)
	for _, s := range []shape{{rows: 40, formed: 20}, {rows: 20, formed: 40}, {rows: 60}, {in: 6, out: 10}, {in: 10, out: 6}, {rows: 59, in: 1, out: 1}} {
		e := draw(s, 5, 1, src)
		if got, want := integers(t, sum, e, 5), integers(t, newSum(t, 1, 60, nil), e, 5); !slices.Equal(got, want) {
			t.Errorf("%+v: found %v, expected %v as in a new sum", s, got, want)
		}
	}
}

// An entry that is large beside the others of its factor needs a shift to fit 16 bits.
func TestSpikesFitTheirPairs(t *testing.T) {
	e, sum := newExamples(shape{in: 1 << 14, out: 1}, 1), newSum(t, 1, 1<<14, nil)
	e.x[0], e.x[1], e.z[0] = 0.4, 0.1, 1
	e.measure()
	if found := float64(integers(t, sum, e, 1)[0]) * sum.lattice.Spacing; math.Abs(found-0.4) > 0.01 {
		t.Errorf("found %v, expected 0.4", found)
	}
}

// A sum leaves once; errors stick until the next logical batch, and a sum with one is never
// released.
func TestSumLeavesOnce(t *testing.T) {
	s := shape{rows: 4}
	e := draw(s, 2, 1, random.Seeded(6))
	sum := newSum(t, 1, 4, nil)
	integers(t, sum, e, 2)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		if text := fmt.Sprintf(verb, sum); text != "clip.Sum(4 values, bound 1)" {
			t.Errorf("a sum prints as %s", text)
		}
	}
	nothing := func(Integers, Lattice) { t.Error("a sum left a second time") }
	if err := sum.Release(nothing); !errors.Is(err, ErrReleased) {
		t.Errorf("second Release: error is %v, want %v", err, ErrReleased)
	}
	if err := sum.Add(e.batch(), 2); !errors.Is(err, ErrReleased) {
		t.Errorf("Add after Release: error is %v, want %v", err, ErrReleased)
	}
	for name, b := range map[string]Batch{
		"a coordinate too few": {SquaredNorms: e.norms, Parts: []Part{Stored(e.rows, 3)}},
		"an example too few":   {SquaredNorms: e.norms, Parts: []Part{Stored(e.rows[:4], 4)}},
		"a norm too few":       {SquaredNorms: e.norms[:1], Parts: []Part{Stored(e.rows, 4)}},
		"a factor too few":     {SquaredNorms: e.norms, Parts: []Part{Outer{X: e.rows, Z: e.rows, In: 2, Out: 2, SquaredX: e.norms, SquaredZ: e.norms[:1]}}},
		"no part":              {SquaredNorms: e.norms},
	} {
		sum.Reset()
		if err := sum.Add(b, 2); !errors.Is(err, ErrLength) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %v, want a line that wraps %v", name, err, ErrLength)
		}
		if err := sum.Add(e.batch(), 2); !errors.Is(err, ErrLength) {
			t.Errorf("%s: the next Add says %v, want %v", name, err, ErrLength)
		}
		if err := sum.Release(nothing); !errors.Is(err, ErrLength) {
			t.Errorf("%s: Release says %v, want %v", name, err, ErrLength)
		}
	}
}

// Merged sums are the sum of all examples, whoever adds up how many of them: none, one physical
// batch that waits, several.
func TestMergedSumIsThatOfAll(t *testing.T) {
	s, src := shape{rows: 2500, in: 17, out: 5, formed: 21}, random.Seeded(7)
	pool := kernel.NewPool(3)
	defer pool.Close()
	e := draw(s, 30, 1, src)
	want := integers(t, newSum(t, 1, s.dim(), pool), e, 8)
	for _, cut := range []int{0, 1, 8, 17, 30} {
		mine, other := newSum(t, 1, s.dim(), pool), newSum(t, 1, s.dim(), nil)
		addAll(t, mine, e.part(0, cut), 8)
		addAll(t, other, e.part(cut, e.n), 8)
		err := mine.Merge(func(total []int64) error {
			return other.Merge(func(part []int64) error {
				for i, v := range part {
					total[i] += v
				}
				return nil
			})
		})
		check(t, err)
		if !slices.Equal(released(t, mine), want) {
			t.Errorf("cut at %d: the merged sum is not that of all examples", cut)
		}
	}
}

// Integers up to 2^53 come through a merge as they are, and a merge that fails leaves nothing to
// release.
func TestMergeIsExactOrFails(t *testing.T) {
	sum := newSum(t, 1, 3, nil)
	extremes := []int64{1 << 53, -1<<53 + 1, 1<<52 + 1}
	check(t, sum.Merge(func(total []int64) error {
		if !slices.Equal(total, []int64{0, 0, 0}) {
			t.Errorf("found %v, expected the sum of nobody", total)
		}
		copy(total, extremes)
		return nil
	}))
	if found := released(t, sum); !slices.Equal(found, extremes) {
		t.Errorf("found %v, expected %v", found, extremes)
	}
	again := func([]int64) error { t.Error("a sum was merged after it had left"); return nil }
	if err := sum.Merge(again); !errors.Is(err, ErrReleased) {
		t.Errorf("Merge after Release: error is %v, expected %v", err, ErrReleased)
	}
	sum.Reset()
	lost := errors.New("lost")
	if err := sum.Merge(func([]int64) error { return lost }); !errors.Is(err, lost) {
		t.Errorf("error is %v, expected %v", err, lost)
	}
	if err := sum.Release(func(Integers, Lattice) { t.Error("a sum left whose merge failed") }); !errors.Is(err, lost) {
		t.Errorf("Release: error is %v, expected %v", err, lost)
	}
}

func TestNewSumRefuses(t *testing.T) {
	for _, bound := range []float64{0, -1, math.NaN(), math.Inf(1), MinClipNorm / 2, MaxClipNorm * 2} {
		if _, err := NewSum(Flat{ClipNorm: bound}, 3, nil); !errors.Is(err, ErrClipNorm) {
			t.Errorf("bound %v: error is %v, want %v", bound, err, ErrClipNorm)
		}
	}
	for _, dim := range []int{0, -1} {
		if _, err := NewSum(Flat{ClipNorm: 1}, dim, nil); !errors.Is(err, ErrLength) {
			t.Errorf("dim %d: error is %v, want %v", dim, err, ErrLength)
		}
	}
}

// The spacing of the noise is a power of two that divides the bound 2^20 to 2^21 times.
// Contributions have a finer one, such that as many as there are stay below 2^62.
func TestLattice(t *testing.T) {
	if _, within := Moved(Lattice{Bound: 1, Spacing: 0.25}, []int64{4, 1}, []int64{0, 0}); within {
		t.Error("found √17 spacings within 4 of them")
	}
	for _, bound := range []float64{MinClipNorm, 0.1, 0.5, math.Nextafter(1, 0), 1, 1.5, 2, 1000, MaxClipNorm} {
		for _, room := range []int{0, 1, 1 << 15, 60_000, 1 << 20, 1 << 40, 1 << 41, math.MaxInt} {
			l := newSumFor(t, room, Flat{ClipNorm: bound}, 1, nil).Lattice()
			if fraction, _ := math.Frexp(l.Spacing); fraction != 0.5 {
				t.Errorf("bound %v: spacing %v is no power of two", bound, l.Spacing)
			}
			if ratio := bound / math.Ldexp(l.Spacing, l.Digits); l.Bound != bound || ratio < 1<<20 || ratio >= 1<<21 {
				t.Errorf("bound %v: the lattice of bound %v divides it %v times", bound, l.Bound, ratio)
			}
			if l.Digits < 0 || l.Digits > mostDigits || l.Digits > 0 && float64(room)*bound/l.Spacing >= 1<<62 {
				t.Errorf("bound %v: a lattice for %d examples has %d digits", bound, room, l.Digits)
			}
			if rows := float64(l.groupExamples()); rows < 1 || rows*bound/l.Spacing > 1<<53 {
				t.Errorf("bound %v: %v rows of spacing %v are added in float64", bound, rows, l.Spacing)
			}
		}
	}
}

// The sum of gradients of norms from 0.5 to 10 agrees with float64 to a thousandth of its norm, as
// rows and as outer products, for clip norms far below them and far above. With one spacing for the
// factors of all outer products, made from the clip norm, they were off by 0.7 % at a clip norm of
// 8, by 7 % at 1,000, and by all of themselves at 1e5.
func TestSumsAgainstFloat64(t *testing.T) {
	const n = 64
	src := random.Seeded(9)
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, s := range []shape{{rows: 30_000}, {in: 784, out: 300}, {in: 300, out: 10}, {in: 2000, out: 2}} {
		e := draw(s, n, 1, src)
		for i := range n {
			one := e.at(i)
			length := float32(0.5 * math.Pow(20, src.Float64()) / math.Sqrt(one.norms[0]))
			for _, values := range [][]float32{one.rows, one.z} {
				for j := range values {
					values[j] *= length
				}
			}
		}
		e.measure()
		for _, bound := range []float64{0.01, 0.1, 1, 8, 100, 1000, 1e4, 1e5, 1e6} {
			want := make([]float64, s.dim())
			for i := range n {
				w, one := min(1, bound*(1-margin)/math.Sqrt(e.norms[i])), e.at(i)
				for j, v := range one.rows {
					want[j] += w * float64(v)
				}
				for o, z := range one.z {
					for j, x := range one.x {
						want[o*s.in+j] += w * float64(z) * float64(x)
					}
				}
			}
			sum := newSum(t, bound, s.dim(), pool)
			var off, length float64
			for j, v := range integers(t, sum, e, n) {
				d := float64(v)*sum.lattice.Spacing - want[j]
				off, length = off+d*d, length+want[j]*want[j]
			}
			if off = math.Sqrt(off / length); !(off < 1e-3) {
				t.Errorf("%+v, clip norm %g: off by %.2g of the sum", s, bound, off)
			}
		}
	}
}

// Adding allocates nothing once the memory is there.
func TestAddAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests run under the race detector, where sync.Pool drops values at random")
	}
	s := shape{rows: 3000, in: 30, out: 20, formed: 50}
	b := draw(s, 20, 1, random.Seeded(7)).batch()
	sum := newSum(t, 1, s.dim(), nil)
	if n := testing.AllocsPerRun(10, func() {
		sum.Reset()
		check(t, sum.Add(b, 20))
	}); n > 0 {
		t.Errorf("%v allocations, expected none", n)
	}
}
