package shell

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/statement"
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

// Duration writes seconds for people: 4s, 3m20s, 2h05m.
func Duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return d.String()
}

// Count writes a number with thousands separated.
func Count(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", Count(n/1000), n%1000)
}

// Short writes a rate without decimals, from 10000 on in thousands: 12k.
func Short(rate float64) string {
	if rate >= 10000 {
		return fmt.Sprintf("%.0fk", rate/1000)
	}
	return fmt.Sprintf("%.0f", rate)
}

// Guarantee writes ε at δ and the accountant, and the ε by RDP unless byRDP is nil. An epsilon of
// math.MaxFloat64 stands for no guarantee, or none that is known.
func Guarantee(epsilon, delta float64, accountedBy string, byRDP *float64) string {
	beside := ""
	if byRDP != nil {
		beside = fmt.Sprintf("; by rdp it is ε = %s", accountant.RoundUp(*byRDP, 3))
	}
	switch {
	case epsilon == math.MaxFloat64 && accountedBy == account.ByChoice:
		return fmt.Sprintf("%s at δ = %g", statement.NotKnown, delta)
	case epsilon == math.MaxFloat64:
		return "NOT PRIVATE: ε is infinite"
	}
	return fmt.Sprintf("ε = %s at δ = %g (%s)%s", accountant.RoundUp(epsilon, 3), delta, accountedBy, beside)
}

// Percent writes a share in percent, with two decimals.
func Percent(share float64) string { return Decimals(100*share, 2) }

// Decimals writes a number with so many decimals.
func Decimals(x float64, n int) string { return strconv.FormatFloat(x, 'f', n, 64) }

// Epsilon writes ε rounded up: with four decimals or, if it is small, with four significant digits.
func Epsilon(epsilon float64) string {
	if epsilon >= 0.01 || epsilon == 0 {
		return accountant.RoundUp(epsilon, 4)
	}
	return SignificantUp(epsilon, 4)
}

// SignificantUp writes a number of at least 0, rounded up to so many digits or to a whole number.
func SignificantUp(x float64, digits int) string { return significant(x, digits, accountant.RoundUp) }

// SignificantDown does what SignificantUp does, but rounds down.
func SignificantDown(x float64, digits int) string {
	return significant(x, digits, accountant.RoundDown)
}

func significant(x float64, digits int, round func(x float64, decimals int) string) string {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	exponent := int(math.Floor(math.Log10(math.Abs(x))))
	decimals := digits - 1 - exponent
	if decimals <= 0 {
		return round(x, 0)
	}
	// A decimal of so few digits is the shortest one that reads back as its nearest float64.
	rounded, err := strconv.ParseFloat(round(x, decimals), 64)
	if err != nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'g', digits, 64)
}
