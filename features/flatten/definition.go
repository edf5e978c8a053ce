package flatten

// Definition is everything that a [Flattening] follows from, in the words of the package comment,
// for programs that apply it in another way. The caller must not change the slices.
type Definition struct {
	Blocks     []Block
	Shift      []float32 // -m of each column
	Gain       []float32 // 1/s of each column
	Directions []float32 // u, (k, columns)
	Damping    []float32 // 1 - √(eₖ/eᵢ) of each direction
	LeastNorm  float64   // a row of a smaller norm is divided by this instead
}

// Definition returns the definition of f.
func (f *Flattening) Definition() Definition {
	return Definition{f.blocks, f.shift, f.gain, f.directions, f.damping, minNorm}
}

// Columns returns the number of columns of a row in a block.
func (b Block) Columns() int { return b.columns() }
