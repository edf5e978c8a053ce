package shell

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PrintTable writes lines of cells in columns, the heading first, numbers to the right.
func PrintTable(w io.Writer, table [][]string) {
	widths, numeric := columns(table)
	for _, line := range table {
		cells := make([]string, len(line))
		for j, cell := range line {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if numeric[j] {
				cells[j] = pad + cell
			} else {
				cells[j] = cell + pad
			}
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
}

// TableWidth returns how many columns of a terminal a table takes.
func TableWidth(table [][]string) int {
	widths, _ := columns(table)
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

// columns returns the width of each column and whether everything below its heading is a number.
func columns(table [][]string) (widths []int, numeric []bool) {
	widths, numeric = make([]int, len(table[0])), make([]bool, len(table[0]))
	for j := range widths {
		numeric[j] = len(table) > 1
		for i, line := range table {
			widths[j] = max(widths[j], utf8.RuneCountInString(line[j]))
			numeric[j] = numeric[j] && (i == 0 || isNumber(line[j]))
		}
	}
	return widths, numeric
}

// isNumber reports whether a cell is a number: with commas in it too, or a dash, for none.
func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
	return err == nil || cell == "–"
}
