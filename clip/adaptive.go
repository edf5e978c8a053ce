package clip

import (
	"fmt"
	"math"

	"dpsgd/internal/setting"
)

// Adaptive clips to a norm that follows a quantile of the gradients' norms: Algorithm 1 of Andrew,
// Thakkar, McMahan, Ramaswamy (arXiv:1905.03871), whose values are the defaults but for CountShare.
// [Following] carries it out.
type Adaptive struct {
	Quantile   float64 // γ, the share of gradients that are to be no longer than the clip norm, in (0, 1)
	Rate       float64 // η, positive: a noisy share that is off by x changes the clip norm by e^(η·x)
	CountShare float64 // sin²φ, the share of the squared bound C² that goes to counting
}

var adaptive = schemeKind(func() Scheme { return &Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.001} })

func (a *Adaptive) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "clip_quantile", Also: []string{"target_unclipped_quantile"}, Doc: "The share of gradients that the clip norm is to leave as they are.",
			Format: setting.Number{Min: 0.01, Max: 0.99}, Value: &a.Quantile},
		{Name: "clip_rate", Also: []string{"adaptive_clip_learning_rate"}, Doc: "How fast the clip norm follows: a step multiplies it by exp(-clip_rate·(noisy share of shorter gradients - clip_quantile)).",
			Format: setting.Number{Min: 0, Max: 10, OpenMin: true}, Value: &a.Rate},
		{Name: "count_share", Also: []string{"clipped_count_budget_allocation"}, Doc: "The part of the squared bound that goes to counting which gradients are shorter than the clip norm; what is left is the gradients'.",
			Format: setting.Number{Min: 1e-6, Max: 0.5}, Value: &a.CountShare},
	}
}

func (*Adaptive) Name() string { return "adaptive" }

// WithBound implements [Scheme]. The policy is a [Following] that begins with the bound as its clip
// norm.
func (a *Adaptive) WithBound(clipNorm float64) Policy {
	return &Following{scheme: *a, bound: clipNorm, clipNorm: stored(clipNorm)}
}

// Following is the policy of [Adaptive]. A release has one coordinate more than gradients have,
// the last one, in which every example counts itself: with its gradient g of norm n, clipped to
// the clip norm c of the release, it contributes
//
//	( cos φ · C/c · min(1, c/n)·g ,  ± sin φ · C ),    + where n ≤ c and - where n > c,
//
// which has norm C at most, like the contribution to any other release, so that one noise of
// deviation σ·C on every coordinate and one event account for gradients and count together. For
// gradients the noise multiplier is σ/cos φ, for the count, by which one example moves it, σ/sin φ;
// the paper's Theorem 1 splits one multiplier in the same way, with σ_b = σ/(2·sin φ).
//
// [Following.Learn] computes the next clip norm from the noisy last coordinate and the expected
// batch size B̄. The clip norm is a function of released values, so it is public.
//
// Learn and Restore alone change a Following. Neither may be called while a release goes on.
type Following struct {
	scheme   Adaptive
	bound    float64 // C
	clipNorm float64 // c, a float32, so that a checkpoint holds all of it
}

// Counting is a policy that adds a coordinate of its own after the gradient's.
type Counting interface {
	Moving
	// Counts sets dst[i] to the value of the last coordinate of an example whose gradient has the
	// squared norm squaredNorms[i], to be multiplied by that example's factor from Factors.
	Counts(dst []float32, squaredNorms []float64)
	// Learn computes the clip norm of the next release from the noisy sum in the last coordinate
	// and the expected number of examples.
	Learn(count, expectedBatchSize float64)
	// Restore sets the clip norm of the next release to one that ClipNorm has returned.
	Restore(clipNorm float64) error
}

var _ Counting = (*Following)(nil)

// stored returns a clip norm as a checkpoint holds it: rounded to float32.
func stored(clipNorm float64) float64 { return float64(float32(clipNorm)) }

// lengths returns the norm in the sum of gradients clipped to the clip norm, and of counts.
func (f *Following) lengths() (gradient, count float64) {
	return f.bound * math.Sqrt(1-f.scheme.CountShare), f.bound * (1 - margin) * math.Sqrt(f.scheme.CountShare)
}

func (f *Following) Factors(dst []float32, squaredNorms []float64) {
	gradient, _ := f.lengths()
	stretch := gradient / f.clipNorm // of what is clipped as by [Flat]
	factors(dst, squaredNorms, f.clipNorm, func(target, norm float64) float64 { return stretch * math.Min(1, target/norm) })
}

// Counts implements [Counting]: dst[i] times its factor is about ± sin φ · C, and 0 for factor 0.
func (f *Following) Counts(dst []float32, squaredNorms []float64) {
	f.Factors(dst, squaredNorms)
	_, count := f.lengths()
	for i, factor := range dst {
		if factor == 0 {
			continue // the example adds nothing, whatever dst[i] is
		}
		dst[i] = float32(count / float64(factor))
		if !(squaredNorms[i] <= f.clipNorm*f.clipNorm) {
			dst[i] = -dst[i]
		}
	}
}

// Learn multiplies the clip norm c by exp(-η·(b̃-γ)) and keeps it from [MinClipNorm] to
// [MaxClipNorm]. b̃ = 1/2 + count/(2·sin φ·C·B̄) estimates the share of gradients of norm ≤ c;
// the noise on b̃ has deviation σ/(2·sin φ·B̄).
func (f *Following) Learn(count, expectedBatchSize float64) {
	_, one := f.lengths()
	share := 0.5 + count/(2*one*expectedBatchSize)
	f.clipNorm = withinLimits(stored(f.clipNorm * math.Exp(-f.scheme.Rate*(share-f.scheme.Quantile))))
}

func (f *Following) ClipNorm() float64 { return f.clipNorm }

// Restore implements [Counting]. It leaves the bound as it is.
func (f *Following) Restore(clipNorm float64) error {
	if !validClipNorm(clipNorm) {
		return fmt.Errorf("clip: clip norm to go on from is %g, expected a number from %g to %g: %w", clipNorm, MinClipNorm, MaxClipNorm, ErrClipNorm)
	}
	f.clipNorm = stored(clipNorm)
	return nil
}

func (f *Following) Unit() float64 {
	gradient, _ := f.lengths()
	return f.clipNorm / gradient
}

func (f *Following) Bound() float64 { return f.bound }
func (f *Following) Name() string   { return f.scheme.Name() }

// String says what is bounded, and which clip norm is next.
func (f *Following) String() string {
	now := ""
	if f.clipNorm != stored(f.bound) {
		now = fmt.Sprintf(", %.4g after the last", f.clipNorm)
	}
	return fmt.Sprintf("adaptive: contributions are clipped to a norm c that follows the %v quantile of their norms at a rate of %v, %v in the first step%s, "+
		"and multiplied by %.6g·C/c, which is undone after the noise; which are shorter is counted in one more coordinate of the same release, with %v of the squared bound; %s",
		f.scheme.Quantile, f.scheme.Rate, f.bound, now, math.Sqrt(1-f.scheme.CountShare), f.scheme.CountShare, whatIsBounded(f.bound))
}
