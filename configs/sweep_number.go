package configs

import (
	"fmt"
	"math"

	"dpsgd/internal/random"
	"dpsgd/internal/setting"
)

// TrialNumber says how many points are drawn: Fixed of them, or a number that is drawn, too.
//
// The two families of distributions are those for which Papernot, Steinke 2022 (arXiv:2110.03620v2)
// bound the cost of choosing the best: the truncated negative binomial one (Definition 1, Theorem
// 2) and Poisson's (Theorem 6).
type TrialNumber struct {
	Fixed        int    // 0 where the number is drawn
	Distribution string // of the number; "" where it is Fixed
	Mean         float64
	Shape        float64 // η: 0 is logarithmic, 1 geometric; +Inf stands for Poisson
}

const truncatedNegativeBinomial = "truncated_negative_binomial"

// shapes maps each distribution that has no parameter but the mean to its Shape.
var shapes = map[string]float64{"poisson": math.Inf(1), "geometric": 1, "logarithmic": 0}

var (
	distributions = setting.Choice{"poisson", truncatedNegativeBinomial, "geometric", "logarithmic"}
	fixedNumber   = setting.Integer{Min: 1, Max: maxTrials}
	shapeNumber   = setting.Number{Min: 0, Max: 100}
)

const numberExpected = "a whole number, or a distribution with its mean to draw it from, such as {distribution: geometric, mean: 10}"

// Drawn reports whether the number itself is drawn.
func (n *TrialNumber) Drawn() bool { return n.Distribution != "" }

// String returns the number, or what it is drawn from.
func (n *TrialNumber) String() string {
	switch {
	case !n.Drawn():
		return fmt.Sprint(n.Fixed)
	case n.Distribution == truncatedNegativeBinomial:
		return fmt.Sprintf("%s with mean %v and shape %v", n.Distribution, n.Mean, n.Shape)
	}
	return fmt.Sprintf("%s with mean %v", n.Distribution, n.Mean)
}

// arguments lists the keys of a number that is drawn.
func (n *TrialNumber) arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "distribution", Format: distributions, Value: &n.Distribution, Required: true},
		{Name: "mean", Format: setting.Number{Min: 1, Max: 500, OpenMin: true}, Value: &n.Mean, Required: true},
		{Name: "shape", Format: shapeNumber, Value: &n.Shape},
	}
}

// readNumber stores the number of points, or its distribution, or reports what is wrong.
func readNumber(into **TrialNumber, r *report, at *node, name string) bool {
	n := &TrialNumber{}
	*into = n
	if at.Kind != mappingNode {
		if at.Kind != scalarNode || !fixedNumber.Parse(at.Text, at.Quoted, &n.Fixed) {
			r.Expected(at, name, numberExpected, at.IntegerHint())
		}
		return true
	}
	decodeArguments(r, n.arguments(), at.At, at.Entries, name)
	hasShape, needed := find(at, []string{"shape"}) != nil, n.Distribution == truncatedNegativeBinomial
	r.Refuse(needed && !hasShape, at.At, name+".shape", "found nothing, expected %s", shapeNumber.Expected())
	r.Refuse(!needed && hasShape && n.Drawn(), at.At, name+".shape", "found without effect, expected it only with %s", truncatedNegativeBinomial)
	if shape, fixed := shapes[n.Distribution]; fixed {
		n.Shape = shape
	}
	return true
}

// draw returns Fixed, or a number drawn by inversion: the least one whose distribution function is
// above a uniform number. Sums of float64 shift the law by less than 1e-12 in total variation.
func (n *TrialNumber) draw(src *random.Source) int {
	if !n.Drawn() {
		return n.Fixed
	}
	k, p, next := n.law()
	for left := src.Float64() - p; left >= 0 && p > 0; left -= p {
		p *= next(k)
		k++
	}
	return k
}

// law returns the least number that can be drawn, its probability p, and next, which returns the
// probability of k+1 divided by that of k.
func (n *TrialNumber) law() (least int, p float64, next func(k int) float64) {
	if math.IsInf(n.Shape, 1) {
		return 0, math.Exp(-n.Mean), func(k int) float64 { return n.Mean / float64(k+1) }
	}
	// Papernot, Steinke 2022, arXiv:2110.03620v2, Definition 1, with y = log(1/γ):
	//
	//	P(k) = (1-γ)^k / (γ^-η - 1) · Π_{ℓ<k} (ℓ+η)/(ℓ+1),   for η = 0: (1-γ)^k / (k log(1/γ))
	y := n.logOneOverGamma()
	rest := -math.Expm1(-y) // 1-γ
	p = rest / y
	if n.Shape > 0 {
		p = rest * n.Shape / math.Expm1(n.Shape*y)
	}
	return 1, p, func(k int) float64 { return rest * (float64(k) + n.Shape) / float64(k+1) }
}

// logOneOverGamma returns the y = log(1/γ) with which the distribution has its Mean. With η =
// Shape, the mean is η(e^y-1)/(1-e^(-ηy)), for η = 0 (e^y-1)/y, and rises with y.
func (n *TrialNumber) logOneOverGamma() float64 {
	mean := func(y float64) float64 {
		if n.Shape == 0 {
			return math.Expm1(y) / y
		}
		return n.Shape * math.Expm1(y) / -math.Expm1(-n.Shape*y)
	}
	low, high := 0.0, 1.0
	for mean(high) < n.Mean {
		high *= 2
	}
	for range 200 {
		if middle := (low + high) / 2; mean(middle) < n.Mean {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
