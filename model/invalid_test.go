package model_test

import (
	"math"
	"slices"
	"testing"

	"dpsgd/model"
	"dpsgd/perexample"
)

var (
	nan      = float32(math.NaN())
	infinity = float32(math.Inf(1))
)

// A broken example, and a row of padding whatever it holds, add exactly zero: the sum has every bit
// of the sum in which their rows are masked zeros, and the value of the sum without them.
func TestBrokenExamplesAddExactlyZero(t *testing.T) {
	const n = 6
	broken := []struct {
		name  string
		spoil func(in batch, i int)
	}{
		{"one NaN", func(in batch, i int) { in.image(i)[7] = nan }},
		{"NaN everywhere", func(in batch, i int) { in.fill(i, nan) }},
		{"one +Inf", func(in batch, i int) { in.image(i)[0] = infinity }},
		{"-Inf everywhere", func(in batch, i int) { in.fill(i, -infinity) }},
		{"1e30 everywhere", func(in batch, i int) { in.fill(i, 1e30) }},
		{"padding of ordinary pixels", func(in batch, i int) { in.mask[i] = 0 }},
		{"padding of NaN", func(in batch, i int) { in.mask[i] = 0; in.fill(i, nan) }},
		{"padding without a label", func(in batch, i int) { in.mask[i] = 0; in.labels[i] = -1 }},
	}
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		for _, engine := range engines {
			s := newStep(t, m, options{batch: n, engine: engine, clipNorm: 0.5})
			whole := draw(m, n, 3)
			without := newStep(t, m, options{batch: n - 2, engine: engine, clipNorm: 0.5}).run(t, whole.part(0, n-2))
			masked := whole.clone()
			for _, i := range []int{n - 2, n - 1} {
				masked.fill(i, 0)
				masked.mask[i] = 0
			}
			want := s.run(t, masked)
			if norm(want.sum) == 0 {
				t.Fatal("the sum of the others is zero; the test needs another")
			}
			if !slices.Equal(want.sum, without.sum) {
				t.Errorf("%v: two rows of padding change the sum", engine)
			}
			for _, b := range broken {
				in := whole.clone()
				b.spoil(in, n-2)
				b.spoil(in, n-1)
				got := s.run(t, in)
				if !slices.Equal(got.sum, want.sum) {
					t.Errorf("%v, %s: the sum is not that of the other examples", engine, b.name)
				}
				if got.valid[n-1] != 0 || norm(got.gradients[n-1]) != 0 {
					t.Errorf("%v, %s: valid is %v, the gradient's norm %v, expected zeros", engine, b.name, got.valid[n-1], norm(got.gradients[n-1]))
				}
			}
		}
	})
}

// Pixels far from ordinary but valid may overflow on their way; what comes out is finite all the
// same, and no example adds more than the clip norm.
func TestExtremeExamplesStayBounded(t *testing.T) {
	const clipNorm = 0.5
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		for _, engine := range engines {
			s := newStep(t, m, options{batch: 1, engine: engine, clipNorm: clipNorm})
			for _, scale := range []float32{0, 1e-42, 1e-30, 1e-20, 1e3, 1e6, 1e10, 1e18} {
				in := draw(m, 1, 3)
				for j, v := range in.images {
					in.images[j] = scale * v
				}
				got := s.run(t, in)
				if n := norm(got.sum); !(n <= clipNorm) {
					t.Errorf("%v, pixels about %g: the example adds a vector of norm %v, the bound is %v", engine, scale, n, clipNorm)
				}
			}
		}
	})
}

// Parameters that are not finite, after a step gone wrong, make gradients that are not finite: all
// are dropped.
func TestNonFiniteParametersAddZero(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		m.Values[len(m.Values)-1] = nan
		for _, engine := range engines {
			got := newStep(t, m, options{batch: 3, engine: engine, clipNorm: 1}).run(t, draw(m, 3, 3))
			if norm(got.sum) != 0 {
				t.Errorf("%v: the sum has norm %v, expected 0", engine, norm(got.sum))
			}
		}
	})
}

// A gradient longer than the clip norm C is clipped to length C, whatever C is, and never leaves
// with more: neither alone nor as the outlier among examples without a gradient.
func TestClipNormIsReachedExactly(t *testing.T) {
	layers := model.Sequential{
		conv(4, 3, 1, 1), model.ReLU, maxPool(2, 2, 0),
		model.Residual{Body: model.Sequential{conv(4, 3, 1, 1), model.ReLU}},
		model.Flatten{}, model.Linear{Out: 5}, model.GELU, model.Linear{Out: classes},
	}
	m := newModel(t, layers)
	for _, engine := range engines {
		for _, clipNorm := range []float64{0.01, 1, 100} {
			alone := newStep(t, m, options{batch: 1, engine: engine, clipNorm: clipNorm})
			among := newStep(t, m, options{batch: 32, engine: engine, clipNorm: clipNorm})
			for seed := range uint64(30) {
				in := draw(m, 1, seed)
				for j := range in.images {
					in.images[j] *= 1000
				}
				// The least likely class, so that the loss is steep.
				logits := predict(t, m, in)
				for c, v := range logits {
					if v < logits[in.labels[0]] {
						in.labels[0] = int32(c)
					}
				}
				got := alone.run(t, in)
				if n := norm(got.gradients[0]); n < 1.5*clipNorm {
					t.Fatalf("the gradient's norm is %v, not above %v; the test needs another", n, clipNorm)
				}
				checkLength(t, engine, clipNorm, got.sum)

				// Examples with a negative label have no loss and so no gradient.
				crowd := draw(m, 32, seed)
				for i := range crowd.labels {
					crowd.labels[i] = -1
				}
				copy(crowd.image(17), in.images)
				crowd.labels[17] = in.labels[0]
				checkLength(t, engine, clipNorm, among.run(t, crowd).sum)
			}
		}
	}
}

func checkLength(t *testing.T, engine perexample.Engine, clipNorm float64, sum []float64) {
	t.Helper()
	length := norm(sum)
	if math.Abs(length-clipNorm) > 5e-3*clipNorm { // the margin of 2^-12, and the rounding of outer products
		t.Errorf("%v, clip norm %v: the clipped gradient has norm %v", engine, clipNorm, length)
	}
	if length > clipNorm {
		t.Errorf("%v: the clipped gradient has norm %v, more than the clip norm %v by a factor of 1+%.2g", engine, length, clipNorm, length/clipNorm-1)
	}
}

// Rows outside the mask have the gradient 0 also where their loss is not finite.
func TestMaskedLossesHaveNoGradient(t *testing.T) {
	m := newModel(t, networks[0].layers)
	m.Values[len(m.Values)-1] = nan // the last bias, so that all losses are NaN
	in := draw(m, 2, 3)
	in.mask[1] = 0
	got := newStep(t, m, options{batch: 2, clipNorm: 1}).run(t, in)
	if norm(got.gradients[1]) != 0 || !math.IsNaN(norm(got.gradients[0])) {
		t.Errorf("gradients have the norms %v and %v, expected NaN and, behind the mask, 0", norm(got.gradients[0]), norm(got.gradients[1]))
	}
}
