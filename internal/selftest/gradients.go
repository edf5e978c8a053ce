package selftest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/setup"

	"gonum.org/v1/gonum/floats"
)

// engineNames are the values of performance.engine that handle every parameter alike.
var engineNames = []string{"materialise", "ghost"}

// graph declares the private graph of the network on a set, with one engine for all parameters.
func (r *rig) graph(set data.Set, batch int, engine string) (*gradients.Gradients, error) {
	batcher, err := data.NewBatcher(set, setup.Normalisation(r.config, r.outline.Shape.Channels))
	if err != nil {
		return nil, err
	}
	return gradients.NewGradients(r.model, batcher, r.views, batch, engine, gradients.Choice{}, r.pool)
}

// plain returns a function that computes the sum of the gradients of examples, one at a time and
// without anything that only privacy needs, by parameter.
func (r *rig) plain() (func(indices ...int) ([][]float64, error), error) {
	batcher, err := data.NewBatcher(r.set, setup.Normalisation(r.config, r.outline.Shape.Channels))
	if err != nil {
		return nil, err
	}
	sums, err := gradients.NewSums(r.model, batcher, r.views, 1, r.pool)
	return func(indices ...int) ([][]float64, error) {
		sum, err := sums.Of(indices)
		var parts [][]float64
		for _, p := range r.model.Parameters() {
			part := make([]float64, p.Size())
			for i := range part {
				part[i] = float64(sum[p.Offset+i])
			}
			parts = append(parts, part)
		}
		return parts, err
	}, err
}

// inLayer names a parameter and its layer.
func (r *rig) inLayer(parameter string) string {
	name := parameter[:max(0, strings.LastIndexByte(parameter, '.'))]
	for _, l := range r.model.Layers() {
		if l.Name == name {
			return fmt.Sprintf("layer %s (%s), parameter %s", l.Name, l.Kind, parameter)
		}
	}
	return "parameter " + parameter
}

// Gradients of one example that were computed in two ways may differ by rounding: by so much of the
// parameter's part, and of the whole.
const (
	ofPart  = 1e-3
	ofWhole = 1e-5
)

// engines holds the per-example gradients and norms of both engines, a batch at a time, to plain
// gradients of one example at a time.
func engines(r *rig) (finding, error) {
	f := finding{measured: fmt.Sprintf("%d examples one at a time, materialised and ghost, %d parameters", batch, len(r.model.Parameters()))}
	plain, err := r.plain()
	if err != nil {
		return f, err
	}
	indices := span(0, batch)
	for _, engine := range engineNames {
		g, err := r.graph(r.set, batch, engine)
		if err != nil {
			return f, err
		}
		b, err := g.Contributions(indices)
		if err != nil {
			return f, err
		}
		worst := make([]float64, len(r.model.Parameters())) // error over what is allowed
		norms := slices.Clone(worst)
		for i := range indices {
			want, err := plain(i)
			if err != nil {
				return f, err
			}
			whole := length(slices.Concat(want...))
			for p, found := range g.Written(b, i) {
				allowed := ofPart*length(want[p]) + ofWhole*whole
				worst[p] = larger(worst[p], floats.Distance(found, want[p], 2)/allowed)
				norms[p] = larger(norms[p], math.Abs(math.Sqrt(g.SquaredNorms()[p][i])-length(want[p]))/allowed)
			}
		}
		for p, parameter := range r.model.Parameters() {
			if worst[p] > 1 {
				f.faults = append(f.faults, fmt.Sprintf("%s: found gradients by the %s engine that are off by %.2g of the plain ones, expected at most %g", r.inLayer(parameter.Name), engine, ofPart*worst[p], ofPart))
			}
			if norms[p] > 1 {
				f.faults = append(f.faults, fmt.Sprintf("%s: found norms by the %s engine that are off by %.2g of the plain ones, expected at most %g", r.inLayer(parameter.Name), engine, ofPart*norms[p], ofPart))
			}
		}
	}
	return f, nil
}

// quotients holds the plain gradient of the summed loss of a batch to difference quotients of the
// loss, along the gradient of each parameter. A quotient over a kink, as that of relu, is off, so
// that one of five has to fit; over the smallest change rounding makes one percent.
func quotients(r *rig) (finding, error) {
	const tolerance = 0.05
	f := finding{measured: fmt.Sprintf("the loss of %d examples along the gradient of each parameter, within %g %%", batch, 100*tolerance)}
	plain, err := r.plain()
	if err != nil {
		return f, err
	}
	g, err := r.graph(r.set, batch, "ghost")
	if err != nil {
		return f, err
	}
	var loss float64
	g.Observe(func(d gradients.Diagnosis) {
		loss = 0
		for _, one := range d.Losses {
			loss += float64(one)
		}
	})
	gradient, err := plain(span(0, batch)...)
	if err != nil {
		return f, err
	}
	whole := length(slices.Concat(gradient...))
	for p, parameter := range r.model.Parameters() {
		norm := length(gradient[p])
		if norm < 1e-3*whole {
			continue // its part in the loss is rounding
		}
		values := r.model.Values[parameter.Offset:][:parameter.Size()]
		kept := slices.Clone(values)
		nearest := math.Inf(1)
		for _, change := range []float64{0.1, 0.02, 0.004, 0.0008, 0.00016} { // of the loss
			if nearest <= tolerance {
				break
			}
			var at [2]float64
			for side, sign := range []float64{1, -1} {
				for i := range values {
					values[i] = float32(float64(kept[i]) + sign*change/2/norm/norm*gradient[p][i])
				}
				if _, err := g.Contributions(span(0, batch)); err != nil {
					return f, err
				}
				at[side] = loss
			}
			if off := math.Abs((at[0]-at[1])/change - 1); off < nearest {
				nearest = off
			}
		}
		copy(values, kept)
		if !(nearest <= tolerance) {
			f.faults = append(f.faults, fmt.Sprintf("%s: found a loss that changes by %.2g less or more than its gradient says, expected at most %g", r.inLayer(parameter.Name), nearest, tolerance))
		}
	}
	return f, nil
}

// isolation holds what an example contributes, bit for bit, to what it contributes among other
// examples and alone.
func isolation(r *rig) (finding, error) {
	f := finding{measured: fmt.Sprintf("every bit of %d examples among others and alone, both engines", batch)}
	for _, engine := range engineNames {
		g, err := r.graph(r.set, batch, engine)
		if err != nil {
			return f, err
		}
		contributed := func(indices []int, at int) ([][]float64, error) {
			b, err := g.Contributions(indices)
			if err != nil {
				return nil, err
			}
			return row(g, b, at), nil
		}
		changed := map[string]bool{}
		for place := range batch {
			want, err := contributed(span(0, batch), place)
			if err != nil {
				return f, err
			}
			among := span(batch, 2*batch)
			among[place] = place
			for _, other := range []struct {
				indices []int
				at      int
			}{{among, place}, {[]int{place}, 0}} {
				found, err := contributed(other.indices, other.at)
				if err != nil {
					return f, err
				}
				for p, parameter := range r.model.Parameters() {
					if at := r.inLayer(parameter.Name); !sameBits(found[p], want[p]) && !changed[at] {
						changed[at] = true
						f.faults = append(f.faults, fmt.Sprintf("%s: found that the contribution of an example changes with its neighbours by the %s engine, expected no bit to change", at, engine))
					}
				}
			}
		}
	}
	return f, nil
}

// row returns all that the sum gets of one example, by parameter: the gradient and its squared norm,
// and those of the factors of an outer product.
func row(g *gradients.Gradients, b clip.Batch, example int) [][]float64 {
	parts := g.Written(b, example)
	for i, part := range b.Parts {
		p := g.Owner(i)
		parts[p] = append(parts[p], g.SquaredNorms()[p][example])
		if outer, ok := part.(clip.Outer); ok {
			parts[p] = append(parts[p], outer.SquaredX[example], outer.SquaredZ[example])
		}
	}
	return parts
}

// span returns the integers from first up to, not including, end.
func span(first, end int) (all []int) {
	for i := first; i < end; i++ {
		all = append(all, i)
	}
	return all
}

func length(x []float64) float64 { return floats.Norm(x, 2) }

// larger returns the larger number, and infinity where one is none: a comparison with it fails.
func larger(x, y float64) float64 {
	if y != y {
		return math.Inf(1)
	}
	return max(x, y)
}

func sameBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}
