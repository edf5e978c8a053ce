package kernel

import (
	"cmp"
	"math"
	bigmath "math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"

	"dpsgd/internal/slow"
)

// proofConstants returns the numbers of the file of a proof: Definition name := numerator / denominator.
func proofConstants(t *testing.T, path string) map[string]*bigmath.Float {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]*bigmath.Float{}
	for _, found := range regexp.MustCompile(`Definition (\w+)(?: : R)? := \(?(-?\d*)\)? ?/ (\d+)\.`).FindAllStringSubmatch(string(text), -1) {
		n, _ := new(bigmath.Int).SetString(cmp.Or(found[2], "1"), 10)
		d, _ := new(bigmath.Int).SetString(found[3], 10)
		constants[found[1]] = exactly(0).SetRat(new(bigmath.Rat).SetFrac(n, d))
	}
	return constants
}

// exactly returns x with so many digits that a few dozen operations lose none that counts.
func exactly(x float64) *bigmath.Float { return new(bigmath.Float).SetPrec(160).SetFloat64(x) }

func product(x, y *bigmath.Float) *bigmath.Float { return exactly(0).Mul(x, y) }
func total(x, y *bigmath.Float) *bigmath.Float   { return exactly(0).Add(x, y) }

// estrinExactly is estrin without rounding, as S, C and M of proofs/normals.v have it.
func estrinExactly(z, c0, c1, c2, c3, high *bigmath.Float) *bigmath.Float {
	square := product(z, z)
	low := total(product(total(product(c3, z), c2), square), total(product(c1, z), c0))
	return total(product(high, product(square, square)), low)
}

// Sine, cosine and logarithm are within what Gappa bounds (proofs/*.gappa) of S, C and M of
// proofs/normals.v, whose definitions this model follows, and so are its constants those of the code.
func TestFunctionsAreThoseOfTheProof(t *testing.T) {
	k := proofConstants(t, "../../proofs/normals.v")
	for name, want := range map[string]float64{"turn": 2 * math.Pi * 0x1p-64, "ln2": math.Ln2, "follow": 0x1p-64, "least": leastRadius * 0x1p-64} {
		if got, _ := k[name].Float64(); got != want {
			t.Errorf("%s is %v in the proof, expected %v", name, got, want)
		}
	}
	within := func(what string, x, got float64, exact *bigmath.Float, bound, relative float64) {
		t.Helper()
		off, _ := exactly(0).Sub(exactly(got), exact).Float64()
		if size, _ := exact.Float64(); !(math.Abs(off) <= bound+relative*math.Abs(size)) {
			t.Errorf("%s at %v is %v, off by %v, expected at most %v and %v of it", what, x, got, off, bound, relative)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range slow.Number(t, "DPSGD_FUNCTIONS", 3000, 1_000_000) {
		word := r.Uint64() >> 3 >> (r.Uint64() % 60) // in the first half of a quarter turn
		sin, cos := sincos(word)
		angle := float64(int64(word)) * (2 * math.Pi * 0x1p-64)
		x := exactly(angle)
		z := product(x, x)
		S := total(product(estrinExactly(z, k["s0"], k["s1"], k["s2"], k["s3"], total(product(k["s5"], z), k["s4"])), product(z, x)), x)
		C := total(product(estrinExactly(z, k["c0"], k["c1"], k["c2"], k["c3"], total(product(k["c5"], z), k["c4"])), product(z, z)), total(product(z, exactly(-0.5)), exactly(1)))
		within("sine", angle, sin, S, 1.1213e-16, 0)
		within("cosine", angle, cos, C, 1.5654e-16, 0)

		g := r.Float64()*0.7072 - 0.2929
		near := -math.Ldexp(g+0.2929, -int(r.Uint64()%31)) * 0.41
		for _, g := range []float64{g, near} {
			x := exactly(g)
			half := product(exactly(0.5), product(x, x))
			s := exactly(0).Quo(x, total(exactly(2), x))
			z := product(s, s)
			high := total(product(k["r6"], product(z, z)), total(product(k["r5"], z), k["r4"]))
			inner := total(product(estrinExactly(z, k["r0"], k["r1"], k["r2"], k["r3"], high), z), half)
			M := exactly(0).Sub(exactly(0).Sub(half, product(s, inner)), x)
			if g < -0x1p-31 {
				within("logarithm", g, minusLog1p(g), M, 0, 2.1094e-16)
			}
			within("logarithm", g, minusLog1p(g), M, 6.9944e-17, 0)
		}
	}
}
