package clip

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

// checkMoved holds the difference of two sums, by exact arithmetic, against the bound C/g: the
// guarantee of the package.
func checkMoved(t *testing.T, what string, l Lattice, with, without []int64) {
	t.Helper()
	if share, within := Moved(l, with, without); !within {
		t.Errorf("%s: one example moves the sum by %.9g of its bound", what, share)
	}
}

// eachPolicy runs a test with sums of every policy.
func eachPolicy(t *testing.T, test func(t *testing.T, newSum sumMaker)) {
	tested := schemes
	if !slow.Asked() {
		tested = schemes[:1] // short tests run under the race detector, which no policy is a matter of
	}
	for i, scheme := range tested {
		t.Run(scheme.Name(), func(t *testing.T) {
			test(t, func(t testing.TB, bound float64, dim int, pool *kernel.Pool) *Sum {
				return newSumFor(t, []int{manyExamples, 1 << 30, math.MaxInt}[i%3], scheme.WithBound(bound), dim, pool)
			})
		})
	}
}

type sumMaker func(t testing.TB, bound float64, dim int, pool *kernel.Pool) *Sum

var sensitivityShapes = []shape{{rows: 24}, {formed: 24}, {in: 6, out: 4}, {rows: 5, in: 4, out: 3, formed: 7}}

// liar reports norms that have nothing to do with the gradients.
func (e examples) liar(src *random.Public) {
	for i := range e.norms {
		e.norms[i] = []float64{0, 1e-300, 1, 1e300, math.NaN(), math.Inf(1), -1, e.norms[i] / 4, e.norms[i] * (1 - 1e-5)}[src.Uint64()%9]
		e.lies[i] = []float64{0, 1e-300, 1e-3, 1 - 1e-4, 1 + 1e-4, 1e3, 1e300, math.NaN(), math.Inf(1), -1}[src.Uint64()%10]
	}
}

// Any neighbour, of any size, with any norm reported, moves the sum by at most C: 10^5 random
// pairs.
func TestRandomNeighboursStayWithinTheBound(t *testing.T) {
	eachPolicy(t, randomNeighboursStayWithinTheBound)
}

func randomNeighboursStayWithinTheBound(t *testing.T, newSum sumMaker) {
	src := random.Seeded(1)
	pairs := 100_000
	if !slow.Asked() {
		pairs = 5_000
	}
	for range pairs / len(sensitivityShapes) / 4 {
		for _, s := range sensitivityShapes {
			bound := math.Exp(20*src.Float64() - 10)
			others := draw(s, 3, bound*math.Exp(6*src.Float64()-3), src)
			sum := newSum(t, bound, s.dim(), nil)
			without := integers(t, sum, others, 3)
			for kind := range 4 {
				one := draw(s, 1, bound*math.Exp(20*src.Float64()-10), src)
				switch kind {
				case 1:
					one.liar(src)
				case 2:
					one.spoil(src)
				case 3: // as if the bound were meant exactly, without the margin that a policy keeps
					one.norms[0] = one.norms[0] * (1 - 0x1p-11)
				}
				with := integers(t, sum, one.and(others), 2)
				checkMoved(t, fmt.Sprintf("%+v, bound %g, kind %d", s, bound, kind), sum.lattice, with, without)
			}
		}
	}
}

// Every example of a batch is held against the bound, also in one of more examples than are added
// up together: whichever lies about its norm adds nothing.
func TestEveryGroupIsHeldAgainstTheBound(t *testing.T) {
	groupExamples := latticeOf(1, mostDigits).groupExamples()
	examples := 2*groupExamples + 45
	for _, s := range sensitivityShapes[:3] {
		e := newExamples(s, examples)
		sum := newSumOf(t, Flat{ClipNorm: 1}, s.dim(), nil)
		none := integers(t, sum, e, examples)
		for _, i := range []int{0, groupExamples - 1, groupExamples, 2*groupExamples - 1, 2 * groupExamples, examples - 1} {
			one := newExamples(s, examples)
			for values, size := range map[*[]float32]int{&one.rows: s.rows, &one.formed: s.formed, &one.x: s.in, &one.z: s.out} {
				for j := range size {
					(*values)[i*size+j] = 100
				}
			}
			checkMoved(t, fmt.Sprintf("%+v, example %d of %d", s, i, examples), sum.lattice, integers(t, sum, one, examples), none)
		}
	}
}

// odd are values that a broken engine might return instead of a gradient.
var odd = []float32{
	float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32, 1e30, 1e19, 1e-42, 0, float32(math.Copysign(0, -1)),
}

// spoil puts something odd in one or in all places.
func (e examples) spoil(src *random.Public) {
	for _, values := range [][]float32{e.rows, e.formed, e.x, e.z} {
		all := src.Uint64()%2 == 0
		for i := range values {
			if all || src.Uint64()%uint64(len(values)) == 0 {
				values[i] = odd[src.Uint64()%uint64(len(odd))]
			}
		}
	}
	if src.Uint64()%2 == 0 {
		e.liar(src)
	}
}

// A sum keeps what proofs/sensitivity.v keeps, of rows that rounding makes shorter or longer than the
// bound. On the coarsest lattice their squares are exact in float64.
func TestKeptIsWhatTheProofKeeps(t *testing.T) {
	const dim = 4
	src := random.Seeded(29)
	stored, formed := newExamples(shape{rows: dim}, 1), newExamples(shape{formed: dim}, 1) // of norms that are said to be 0
	for range slow.Number(t, "DPSGD_KEPT", 5000, 1_000_000) {
		sum := newSumFor(t, math.MaxInt, Flat{ClipNorm: 1 + src.Float64()}, dim, nil)
		var row [dim]float64
		var length float64
		for j := range row {
			row[j] = src.Float64() - 0.5
			length = math.Hypot(length, row[j])
		}
		spacings := math.Floor(sum.lattice.Bound / sum.lattice.Spacing)
		length /= spacings * (1 + (src.Float64()-0.75)*0x1p-19)
		want, squares := make([]int64, dim), int64(0)
		for j := range row {
			stored.rows[j] = float32(row[j] / length * sum.lattice.Spacing)
			formed.formed[j] = stored.rows[j]
			want[j] = int64(math.RoundToEven(float64(stored.rows[j]) / sum.lattice.Spacing))
			squares += want[j] * want[j]
		}
		if float64(squares) > spacings*spacings*(1-0x1p-20) {
			clear(want)
		}
		for _, e := range []examples{stored, formed} {
			if got := integers(t, sum, e, 1); !slices.Equal(got, want) {
				t.Fatalf("%+v, %v spacings: kept %v of squares %d, expected %v", e.shape, spacings, got, squares, want)
			}
		}
	}
}

// Rows that are made to round badly: every coordinate lies just above the middle between two
// integers, so that all of them round away from zero, and the row before rounding is as long as it
// may be. It is refused, or it is not too long.
func TestRowsThatRoundBadly(t *testing.T) { eachPolicy(t, rowsThatRoundBadly) }

func rowsThatRoundBadly(t *testing.T, newSum sumMaker) {
	for _, bound := range []float64{1, 1.7, math.Nextafter(2, 0)} {
		for _, s := range sensitivityShapes {
			sum := newSum(t, bound, s.dim(), nil)
			for _, steps := range []float64{0.5, 1.5, 10.5, 100.5, 1000.5} {
				e := newExamples(s, 1)
				for _, values := range [][]float32{e.rows, e.formed, e.x, e.z} {
					for i := range values {
						values[i] = float32(steps * sum.lattice.Spacing * (1 + 1e-6))
					}
				}
				// Every factor from the one that makes the row as long as the bound down to a
				// little less.
				e.measure()
				honest := math.Sqrt(e.norms[0])
				zero := make([]int64, s.dim())
				for try := range 200 {
					e.norms[0] = honest * honest * (1 + 1e-4*float64(try-150))
					checkMoved(t, fmt.Sprintf("%+v, bound %g, steps %g, try %d", s, bound, steps, try), sum.lattice, integers(t, sum, e, 1), zero)
				}
			}
		}
	}
}

// One example at the edge of the bound among many others, at all physical batch sizes: where sums
// of float32 moved by 1.25 C. The search goes on from the worst neighbour found, a hundred times
// for each.
func TestOptimisedNeighboursStayWithinTheBound(t *testing.T) {
	eachPolicy(t, optimisedNeighboursStayWithinTheBound)
}

func optimisedNeighboursStayWithinTheBound(t *testing.T, newSum sumMaker) {
	src := random.Seeded(2)
	for _, physical := range []int{1, 2, 64, 128, 1024, 4096} {
		for _, s := range []shape{{rows: 40}, {formed: 40}, {in: 8, out: 5}} {
			const bound = 1.0
			others := draw(s, physical-1, 4, src) // all clipped
			// float32 loses digits when the other contributions add up to large sums of one sign.
			for _, values := range [][]float32{others.rows, others.formed, others.x, others.z} {
				for i, v := range values {
					values[i] = float32(math.Abs(float64(v)))
				}
			}
			sum := newSum(t, bound, s.dim(), nil)
			without := integers(t, sum, others, max(1, physical))
			worst, longest := draw(s, 1, 1, src), 0.0
			tries := 100
			if physical > 1000 {
				tries = 10 // each adds thousands
			}
			for range tries {
				one := draw(s, 1, 0.1, src)
				for k, values := range [][]float32{one.rows, one.formed, one.x, one.z} {
					for i := range values {
						values[i] += [][]float32{worst.rows, worst.formed, worst.x, worst.z}[k][i]
					}
				}
				one.measure()
				one.norms[0] *= 1 - 0x1p-11*src.Float64() // claims to be shorter, up to the policy's margin
				with := integers(t, sum, one.and(others), physical)
				checkMoved(t, fmt.Sprintf("%+v, physical batch %d", s, physical), sum.lattice, with, without)
				var length float64
				for i := range with {
					length += float64(with[i]-without[i]) * float64(with[i]-without[i])
				}
				if length > longest {
					worst, longest = one, length
				}
			}
			if longest *= sum.lattice.Spacing * sum.lattice.Spacing; longest < 0.9 {
				t.Errorf("%+v, physical batch %d: the search found no example longer than %.3g of the bound", s, physical, math.Sqrt(longest))
			}
		}
	}
}

// A model that returns garbage of any size in every place cannot move the sum by more than C for
// each example.
func TestGarbageStaysWithinTheBound(t *testing.T) { eachPolicy(t, garbageStaysWithinTheBound) }

func garbageStaysWithinTheBound(t *testing.T, newSum sumMaker) {
	src := random.Seeded(3)
	for range 200 {
		for _, s := range sensitivityShapes {
			const n = 7
			e := draw(s, n, 1, src)
			e.spoil(src)
			e.liar(src)
			pool := kernel.NewPool(2)
			sum := newSum(t, 1, s.dim(), pool)
			all := integers(t, sum, e, 3)
			for i := range n {
				rest := e.part(0, i).and(e.part(i+1, n))
				checkMoved(t, fmt.Sprintf("%+v", s), sum.lattice, all, integers(t, sum, rest, 3))
			}
			pool.Close()
		}
	}
}

// A source that forms another row each time it is asked is held to what was added last.
func TestFormedRowsThatChange(t *testing.T) { eachPolicy(t, formedRowsThatChange) }

func formedRowsThatChange(t *testing.T, newSum sumMaker) {
	src := random.Seeded(4)
	const width = 30
	for range 500 {
		size := 1e9
		b := Batch{SquaredNorms: []float64{1}, Parts: []Part{Rows{Width: width, Examples: 1, Form: func(_, _ int, emit func([]float32)) {
			row := make([]float32, width)
			for i := range row {
				row[i] = float32(size * (2*src.Float64() - 1))
			}
			size /= 1e3 // too long at first
			emit(row)
		}}}}
		sum := newSum(t, 1, width, nil)
		check(t, sum.Add(b, 1))
		checkMoved(t, "a row that changes", sum.lattice, released(t, sum), make([]int64, width))
	}
}

// A source that goes on emitting when its example is over adds nothing by that.
func TestLatePiecesAreIgnored(t *testing.T) {
	const width = 10
	row := make([]float32, width)
	for i := range row {
		row[i] = 0.3
	}
	var late func([]float32)
	b := Batch{SquaredNorms: []float64{1, 1}, Parts: []Part{
		Rows{Width: width, Examples: 2, Form: func(_, _ int, emit func([]float32)) {
			emit(row[:4])
			late = emit
		}},
		Rows{Width: 1, Examples: 2, Form: func(_, _ int, emit func([]float32)) {
			late(row[4:])
			emit(row[:1])
		}},
	}}
	sum := newSum(t, 2, width+1, nil)
	check(t, sum.Add(b, 2))
	for i, v := range released(t, sum) {
		want := int64(2 * math.RoundToEven(float64(float32(0.3))/sum.lattice.Spacing))
		if i >= 4 && i < width {
			want = 0
		}
		if v != want {
			t.Fatalf("coordinate %d is %d, expected %d", i, v, want)
		}
	}
}

// A part begins where those before it end, also when another batch had a part of this size
// elsewhere: parts that overlapped would add one example twice. Nor is a batch forgotten when the
// next one of the sum has other parts.
func TestPartsThatMoveStayWithinTheBound(t *testing.T) {
	const dim, bound = 10, 1
	batch := func(sizes []int) Batch {
		b := Batch{SquaredNorms: []float64{dim}}
		for _, size := range sizes {
			b.Parts = append(b.Parts, Stored(slices.Repeat([]float32{1}, size), size))
		}
		return b
	}
	sum, all := newSum(t, bound, dim, nil), newSum(t, bound, dim, nil)
	none, want := make([]int64, dim), []int64(nil)
	splits := [][]int{{dim}, {2, 3, 5}, {7, 3}, {2, 8}, {1, 1, 8}, {5, 5}}
	for _, sizes := range splits {
		sum.Reset()
		check(t, errors.Join(sum.Add(batch(sizes), 1), all.Add(batch(sizes), 1)))
		found := released(t, sum)
		if want == nil {
			want = found
		}
		checkMoved(t, fmt.Sprintf("parts of %v", sizes), sum.lattice, found, none)
		if !slices.Equal(found, want) {
			t.Errorf("parts of %v add %v, expected %v as in one part", sizes, found, want)
		}
	}
	for i, v := range released(t, all) {
		if v != int64(len(splits))*want[i] {
			t.Errorf("coordinate %d of all batches is %d, expected %d times %d", i, v, len(splits), want[i])
		}
	}
}
