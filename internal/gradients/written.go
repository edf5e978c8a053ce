package gradients

import "dpsgd/clip"

// Written writes out what one example contributes to a batch of Contributions: a gradient for each
// parameter, in float64.
func (g *Gradients) Written(b clip.Batch, example int) [][]float64 {
	gradients := make([][]float64, len(g.network.Uses))
	for i, owner := range g.owners {
		size := len(gradients[owner]) + b.Parts[i].Size()
		to := &gradients[owner]
		switch p := b.Parts[i].(type) {
		case clip.Rows:
			p.Form(0, example, func(piece []float32) {
				for _, v := range piece {
					*to = append(*to, float64(v))
				}
			})
		case clip.Outer:
			for _, z := range p.Z[example*p.Out : (example+1)*p.Out] {
				for _, x := range p.X[example*p.In : (example+1)*p.In] {
					*to = append(*to, float64(z)*float64(x))
				}
			}
		}
		*to = append(*to, make([]float64, size-len(*to))...) // a part that ends early ends with zeros
	}
	return gradients
}

// Owner returns the parameter, by its place in the network, that a part of a batch of Contributions
// belongs to.
func (g *Gradients) Owner(part int) int { return g.owners[part] }

// SquaredNorms returns the squared norms that the graph found for the batch that it computed last:
// a slice for each parameter, with a value for each example. The next call of Contributions
// overwrites them.
func (g *Gradients) SquaredNorms() [][]float64 { return g.squares }
