package shell

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is the number of columns of a terminal on which helps and most results can be read.
const Width = 80

// Cut shortens a text to width characters, the last of them "…", for lines that must not wrap.
func Cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// Wrap breaks a text at spaces into lines of at most width characters; a longer word is cut.
func Wrap(text string, width int) []string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = Cut(word, width)
	}
	return filled(words, width)
}

// filled joins words into lines of at most width characters. A longer word has its own line.
func filled(words []string, width int) (lines []string) {
	for _, word := range words {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// Plain returns a text that somebody else has written, such as a name in a file. It is quoted if it
// holds characters that do not print, such as those that control a terminal.
func Plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

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

// PrintRows writes a table: the heading, and a line for each row with the cells that cells returns.
func PrintRows[T any](w io.Writer, heading []string, rows []T, cells func(T) []string) {
	table := [][]string{heading}
	for _, row := range rows {
		table = append(table, cells(row))
	}
	PrintTable(w, table)
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

// columns returns the width of each column, and whether all cells below its heading are numbers.
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
