package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Every kernel makes the same step, to the last bit, for any number of parameters, and touches no
// more of them.
func TestUpdatesAgreeBitForBit(t *testing.T) {
	const spare = 5
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		p, v, sum := make([]float32, n+spare), make([]float32, n+spare), make([]float64, n+spare)
		for i := range p {
			p[i], v[i], sum[i] = float32(r.NormFloat64()), float32(r.NormFloat64()), 100*r.NormFloat64()
		}
		for _, m := range []Momentum{
			{PerBatch: 1.0 / 3, Decay: 0.01, Mu: 0.9, Rate: 0.1},
			{PerBatch: 1.0 / 3, Decay: 0.01, Mu: 0.9, Rate: 0.1, Nesterov: true},
		} {
			wantP, wantV := slices.Clone(p), slices.Clone(v)
			portableMomentum(wantP[:n], wantV[:n], sum[:n], m)
			plain := slices.Clone(p)
			portableDescend(plain[:n], sum[:n], m.PerBatch, m.Decay, m.Rate)
			for _, k := range supportedKernels() {
				gotP, gotV := slices.Clone(p), slices.Clone(v)
				k.momentum(gotP[:n], gotV[:n], sum[:n], m)
				if !slices.Equal(gotP, wantP) || !slices.Equal(gotV, wantV) {
					t.Errorf("%s: %+v of %d parameters is not that of the portable kernel", k.name, m, n)
				}
				gotP = slices.Clone(p)
				k.descend(gotP[:n], sum[:n], m.PerBatch, m.Decay, m.Rate)
				if !slices.Equal(gotP, plain) {
					t.Errorf("%s: plain step of %d parameters is not that of the portable kernel", k.name, n)
				}
			}
		}
	}
}
