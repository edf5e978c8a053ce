package perexample

import (
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// EmbeddingWeight is the rule of a table (Vocabulary, Width) with a row for each token: x (B,
// Positions) holds the numbers of tokens, others where there is none, and z (B, Positions, Width)
// their rows. Row v of the gradient of example i is the sum of dzᵢ over the positions with token v,
// and the squared norm is the sum of the squared norms of these rows: as many as the example has
// different tokens, whatever the size of the table.
type EmbeddingWeight struct{ Positions, Vocabulary, Width int }

func (r EmbeddingWeight) Size() int           { return r.Vocabulary * r.Width }
func (r EmbeddingWeight) Values() (x, dz int) { return r.Positions, r.Positions * r.Width }
func (r EmbeddingWeight) name() string        { return "embedding" }

// OfViews implements [Rule]: the rows of an example are further positions.
func (r EmbeddingWeight) OfViews(views int) Rule {
	r.Positions *= views
	return r
}

func (r EmbeddingWeight) Cost() Cost {
	sum := float64(r.Positions) * float64(r.Width)
	return Cost{GhostNorm: sum, Form: sum}
}

func (r EmbeddingWeight) Former(pool *kernel.Pool) Former {
	return whole(pool, r.Size(), func(_ int, g, x, dz []float32) {
		clear(g)
		r.add(g, 1, x, dz)
	})
}

// has reports whether the table has a row for a token.
func (r EmbeddingWeight) has(token float32) bool { return token >= 0 && token < float32(r.Vocabulary) }

// add adds weight times the gradient of an example to g.
func (r EmbeddingWeight) add(g []float32, weight float32, x, dz []float32) {
	for t, token := range x {
		if r.has(token) {
			at := int(token) * r.Width
			kernel.Axpy(g[at:at+r.Width], weight, dz[t*r.Width:(t+1)*r.Width])
		}
	}
}

// ordered returns the norm, which sums the rows of dz of each token of an example, in the order of
// their positions. It leaves what byToken returns in the example's place of orders.
func (r EmbeddingWeight) ordered(pool *kernel.Pool, orders [][]uint64) norm {
	sums := graph.NewScratch(pool, r.Width)
	return func(worker, example int, x, dz []float32) (square float64) {
		orders[example] = r.byToken(orders[example], x)
		sum := sums.For(worker)
		for order := orders[example]; len(order) > 0; {
			same := sameToken(order)
			clear(sum)
			r.addRows(sum, order[:same], dz)
			square += kernel.SumSquares(sum)
			order = order[same:]
		}
		return square
	}
}

// blockValues is about how many values of a table are one part of a sum: an example adds to the
// blocks that have its tokens, and nothing to the others.
const blockValues = 1 << 14

// parts returns the gradients of a batch in blocks of the table, from dz and the orders that the norm
// has left.
func (r EmbeddingWeight) parts(pool *kernel.Pool, orders [][]uint64, dz []float32) (parts []clip.Part) {
	tokens := min(max(blockValues/r.Width, 1), r.Vocabulary)
	scratch := graph.NewScratch(pool, tokens*r.Width)
	size := r.Positions * r.Width
	for first := 0; first < r.Vocabulary; first += tokens {
		end := min(first+tokens, r.Vocabulary)
		parts = append(parts, clip.Rows{Width: (end - first) * r.Width, Examples: len(orders), Form: func(worker, i int, emit func([]float32)) {
			from, _ := slices.BinarySearch(orders[i], uint64(first)<<32)
			to, _ := slices.BinarySearch(orders[i], uint64(end)<<32)
			if from == to {
				return
			}
			block := scratch.For(worker)[:(end-first)*r.Width]
			clear(block)
			for order := orders[i][from:to]; len(order) > 0; {
				same := sameToken(order)
				at := (int(order[0]>>32) - first) * r.Width
				r.addRows(block[at:at+r.Width], order[:same], dz[i*size:(i+1)*size])
				order = order[same:]
			}
			emit(block)
		}})
	}
	return parts
}

// byToken returns the positions of x that have a token, in the low 32 bits behind the token,
// sorted, in the memory of order if it has room.
func (r EmbeddingWeight) byToken(order []uint64, x []float32) []uint64 {
	order = order[:0]
	for t, token := range x {
		if r.has(token) {
			order = append(order, uint64(token)<<32|uint64(t))
		}
	}
	slices.Sort(order)
	return order
}

// sameToken returns how many of the first positions of order have the token of the first.
func sameToken(order []uint64) int {
	n := 1
	for n < len(order) && order[n]>>32 == order[0]>>32 {
		n++
	}
	return n
}

// addRows adds the rows of dz at positions to sum, in their order.
func (r EmbeddingWeight) addRows(sum []float32, positions []uint64, dz []float32) {
	for _, p := range positions {
		at := int(uint32(p)) * r.Width
		kernel.Axpy(sum, 1, dz[at:at+r.Width])
	}
}

// weightedSum adds up whole examples, one after the other: a partial sum would be a table.
func (r EmbeddingWeight) weightedSum(_ *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	return func(out graph.Array, in []graph.Array) {
		clear(out.Float32)
		for i, weight := range in[2].Float32[:batch] {
			if weight != 0 {
				r.add(out.Float32, weight, row(in[0], i, r.Positions), row(in[1], i, r.Positions*r.Width))
			}
		}
	}
}
