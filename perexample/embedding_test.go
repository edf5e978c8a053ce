package perexample_test

import (
	"runtime"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/tiny"
	"dpsgd/perexample"

	"gorgonia.org/tensor"
)

// The memory of an embedding of 30,000 tokens is that of dense sums, whatever the batch: one of
// integers, and one for each worker. With a table for each example, 32 examples would take 491 MB.
func TestEmbeddingTakesNoTableForEachExample(t *testing.T) {
	const vocabulary, width, positions, table = 30_000, 128, 16, 30_000 * 128
	taken := func(batch int) int {
		b := graph.NewBuilder(nil)
		x, dz := b.Input("x", tensor.Float32, batch, positions), b.Input("dz", tensor.Float32, batch, positions*width)
		for i := range b.Values(x).Float32 {
			b.Values(x).Float32[i] = float32(i * 7919 % vocabulary)
			b.Values(dz).Float32[i*width] = 1
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := perexample.NewBinding(b, perexample.Use{Rule: perexample.EmbeddingWeight{Positions: positions, Vocabulary: vocabulary, Width: width}, Input: x}, dz, perexample.Ghost)
		norms := p.SquaredNorms(b)
		e := tiny.Must(b.Compile(append(p.Outputs(), norms)...))(t)
		e.RunAll()
		sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: 1}, table, nil))(t)
		tiny.Check(t, sum.Add(clip.Batch{SquaredNorms: e.Values(norms).Float64, Parts: p.Parts(e, nil)}, batch))
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := taken(2), taken(32)
	if most := 17 * table; few > most || many > most {
		t.Errorf("2 examples take %d bytes and 32 take %d, expected at most %d", few, many, most)
	}
}
