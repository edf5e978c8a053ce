package local_test

import (
	"errors"
	"math"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/local"
)

// No report tells two points apart by more than e^(ε·distance), for the ε that was asked for, and
// some report by almost that: over all pairs of points and reports of a part of the lattice.
func TestPlanarRatio(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.3, 1, 7} {
		p := must(local.NewPlanar(epsilon))
		if p.Epsilon() > epsilon || p.Epsilon() < 0.999*epsilon {
			t.Errorf("ε %g: found %v", epsilon, p.Epsilon())
		}
		var points []local.Point
		for x := range int64(5) {
			for y := range int64(5) {
				points = append(points, local.Point{X: x - 2, Y: 3 * y})
			}
		}
		worst := 0.0
		for _, v := range points {
			for _, w := range points {
				for _, r := range points {
					if v == w {
						continue
					}
					loss := p.LogLikelihood(v, r) - p.LogLikelihood(w, r)
					distance := math.Hypot(float64(v.X-w.X), float64(v.Y-w.Y))
					worst = max(worst, loss/distance)
				}
			}
		}
		if worst > epsilon*(1+1e-12) || worst < 0.999*epsilon {
			t.Errorf("ε %g: found a loss of %g a step", epsilon, worst)
		}
	}
	for _, wrong := range []float64{0, -1, 21, math.NaN(), 1e-12} {
		if _, err := local.NewPlanar(wrong); !errors.Is(err, local.ErrInvalid) {
			t.Errorf("ε %g: %v", wrong, err)
		}
	}
}

// planarSquare is χ² of reports of a point against the law with this ε, over all cells that some
// ten of them are expected in and one for the rest, with how many cells there are.
func planarSquare(found map[local.Point]float64, at local.Point, epsilon, draws float64) (square, cells float64) {
	reach := int64(60 / epsilon)
	total := 0.0
	mass := func(x, y int64) float64 { return math.Exp(-epsilon * math.Hypot(float64(x), float64(y))) }
	for x := -reach; x <= reach; x++ {
		for y := -reach; y <= reach; y++ {
			total += mass(x, y)
		}
	}
	rest, expectedRest := draws, draws
	for x := -reach; x <= reach; x++ {
		for y := -reach; y <= reach; y++ {
			expected := draws * mass(x, y) / total
			if expected < 10 {
				continue
			}
			n := found[local.Point{X: at.X + x, Y: at.Y + y}]
			square += (n - expected) * (n - expected) / expected
			rest, expectedRest, cells = rest-n, expectedRest-expected, cells+1
		}
	}
	return square + (rest-expectedRest)*(rest-expectedRest)/expectedRest, cells + 1
}

// What is drawn has the law that is said, by χ² over the cells of 15,000 reports. A draw fails in
// one of 10^5, for each of three ε; the seed is one that passes. A law of 10 % less noise is
// refuted.
func TestPlanarHasItsLaw(t *testing.T) {
	const draws = 15000
	src := random.ForTest(5)
	for _, epsilon := range []float64{0.25, 1, 3} {
		p := must(local.NewPlanar(epsilon))
		at, found := local.Point{X: 40, Y: -7}, map[local.Point]float64{}
		for range draws {
			found[p.Randomize(at, src)]++
		}
		square, cells := planarSquare(found, at, p.Epsilon(), draws)
		if square > mostSquare(cells) {
			t.Errorf("ε %g: found χ² %.1f over %.0f cells, expected at most %.1f", epsilon, square, cells, mostSquare(cells))
		}
		if square, cells := planarSquare(found, at, 1.11*p.Epsilon(), draws); square <= mostSquare(cells) {
			t.Errorf("ε %g: the law of 10 %% less noise has χ² %.1f over %.0f cells and is not refuted", epsilon, square, cells)
		}
	}
	far, _ := local.NewPlanar(1e-6)
	if r := far.Randomize(local.Point{X: 1 << 53, Y: -1 << 53}, src); r.X > 1<<53 || r.Y < -1<<53 {
		t.Errorf("found %+v beyond the lattice", r)
	}
}
