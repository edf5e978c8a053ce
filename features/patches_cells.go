package features

import (
	"math"
	"slices"
	"sort"
)

// windows are the cells along one side of a picture, with the weight that each position of a patch
// has in each cell. Without overlap a position is in one cell, with weight 1. With an overlap of s
// positions the cells are placed three times, moved by -s, 0 and s, and the weight is the share of
// the three in which the cell has the position; the first and the last cell reach to the edges of
// the picture. That is an average over three views of the picture, but for what moves across its
// edges, for the work of one.
type windows struct {
	edges []int // pieces in which no weight changes: piece i lies between edges i and i+1
	cells []window
}

// A window is one cell: the pieces that it has a share of.
type window struct {
	pieces []windowPiece
	total  float64 // the weights of all positions
}

type windowPiece struct {
	number int
	weight float32
}

func newWindows(positions int, o PatchOptions) windows {
	var placed [][]int
	for _, by := range o.moves() {
		edges := gridEdges(positions, o.Pooling)
		for i := range edges[1:o.Pooling] {
			edges[i+1] += by
		}
		placed = append(placed, edges)
	}
	w := windows{edges: slices.Compact(slices.Sorted(slices.Values(slices.Concat(placed...)))), cells: make([]window, o.Pooling)}
	for piece, from := range w.edges[:w.pieces()] {
		shares := make([]int, o.Pooling)
		for _, edges := range placed {
			shares[gridCell(edges, from)]++
		}
		for cell, share := range shares {
			if share > 0 {
				weight := float64(share) / float64(len(placed))
				c := &w.cells[cell]
				c.pieces = append(c.pieces, windowPiece{piece, float32(weight)})
				c.total += weight * float64(w.edges[piece+1]-from)
			}
		}
	}
	return w
}

// moves returns by how many positions the inner edges of cells are moved in each placement.
func (o PatchOptions) moves() []int {
	if o.Overlap == 0 {
		return []int{0}
	}
	return []int{-o.Overlap, 0, o.Overlap}
}

func (w windows) pieces() int         { return len(w.edges) - 1 }
func (w windows) of(cell int) *window { return &w.cells[cell] }

// means returns the matrix (cells, positions) that takes the weighted means.
func (w windows) means() []float32 {
	positions := w.edges[w.pieces()]
	m := make([]float32, len(w.cells)*positions)
	for c, cell := range w.cells {
		for _, p := range cell.pieces {
			for at := w.edges[p.number]; at < w.edges[p.number+1]; at++ {
				m[c*positions+at] = float32(float64(p.weight) / cell.total)
			}
		}
	}
	return m
}

// A gridRun is a range of positions of a row that lie in one piece, and in one piece, mirrored, of
// the mirror image.
type gridRun struct{ from, to, column, mirrored int }

func gridRuns(edges []int) (runs []gridRun) {
	pieces := len(edges) - 1
	mirrored := make([]int, pieces+1)
	for i, e := range edges {
		mirrored[pieces-i] = edges[pieces] - e
	}
	cuts := slices.Compact(slices.Sorted(slices.Values(slices.Concat(edges, mirrored))))
	for i, to := range cuts[1:] {
		from := cuts[i]
		runs = append(runs, gridRun{from, to, gridCell(edges, from), pieces - 1 - gridCell(mirrored, from)})
	}
	return runs
}

// gridEdges returns the edges, from 0 to n, that cut n positions into cells of about the same size.
func gridEdges(n, cells int) []int {
	e := make([]int, cells+1)
	for i := range e {
		e[i] = int(math.RoundToEven(float64(i*n) / float64(cells)))
	}
	return e
}

// gridCell returns the number of the cell that a position is in.
func gridCell(edges []int, position int) int { return sort.SearchInts(edges, position+1) - 1 }
