package features

import (
	"math"
	"slices"
)

// A grid is the cells into which positions are pooled, numbered row by row.
type grid struct {
	rowEdges, columnEdges []int // cell i lies between edges i and i+1
	runs                  []gridRun
}

// A run is a range of positions of a row that lie in one cell of the grid, and in one cell of the grid
// of the mirror image.
type gridRun struct{ from, to, column, mirrored int }

func newGrid(rows, columns, cells int) grid {
	g := grid{rowEdges: gridEdges(rows, cells), columnEdges: gridEdges(columns, cells)}
	mirrored := make([]int, cells+1)
	for i, e := range g.columnEdges {
		mirrored[cells-i] = columns - e
	}
	cuts := slices.Sorted(slices.Values(slices.Concat(g.columnEdges, mirrored)))
	cuts = slices.Compact(cuts)
	for i, to := range cuts[1:] {
		from := cuts[i]
		g.runs = append(g.runs, gridRun{from, to, gridCell(g.columnEdges, from), cells - 1 - gridCell(mirrored, from)})
	}
	return g
}

// gridEdges cuts n positions into cells of about the same size.
func gridEdges(n, cells int) []int {
	e := make([]int, cells+1)
	for i := range e {
		e[i] = int(math.RoundToEven(float64(i*n) / float64(cells)))
	}
	return e
}

// gridCell returns the number of the cell that a position is in.
func gridCell(edges []int, position int) int {
	i, found := slices.BinarySearch(edges, position)
	if found {
		return i
	}
	return i - 1
}

// area returns the number of positions in a cell.
func (g grid) area(row, column int) int {
	return (g.rowEdges[row+1] - g.rowEdges[row]) * (g.columnEdges[column+1] - g.columnEdges[column])
}
