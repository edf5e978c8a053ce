package gradients

import "dpsgd/clip"

// Written writes out what one example contributes to a batch: a gradient for each part, which is a
// parameter, in float64.
func Written(b clip.Batch, example int) [][]float64 {
	gradients := make([][]float64, len(b.Parts))
	for i, part := range b.Parts {
		g := make([]float64, 0, part.Size())
		switch p := part.(type) {
		case clip.Rows:
			p.Form(0, example, func(piece []float32) {
				for _, v := range piece {
					g = append(g, float64(v))
				}
			})
		case clip.Outer:
			for _, z := range p.Z[example*p.Out : (example+1)*p.Out] {
				for _, x := range p.X[example*p.In : (example+1)*p.In] {
					g = append(g, float64(z)*float64(x))
				}
			}
		}
		gradients[i] = g
	}
	return gradients
}

// SquaredNorms returns the squared norms that the graph found for the batch that it computed last:
// a slice for each parameter, with a value for each example. The next call of Contributions
// overwrites them.
func (g *Gradients) SquaredNorms() [][]float64 { return g.squares }
