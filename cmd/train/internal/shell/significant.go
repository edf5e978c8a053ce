package shell

import (
	"math"
	"strconv"
	"strings"

	"dpsgd/accountant"
)

// Epsilon writes ε rounded up: with four decimals or, if it is small, with four significant digits.
func Epsilon(epsilon float64) string {
	if epsilon >= 0.01 || epsilon == 0 {
		return accountant.RoundUp(epsilon, 4)
	}
	return SignificantUp(epsilon, 4)
}

// Down writes a number of at least 0 with that many decimals, rounded down.
func Down(x float64, decimals int) string {
	return strings.TrimPrefix(accountant.RoundUp(-x, decimals), "-")
}

// SignificantUp writes a number of at least 0 with so many significant digits, rounded up.
func SignificantUp(x float64, digits int) string { return significant(x, digits, accountant.RoundUp) }

// SignificantDown does what SignificantUp does, but rounds down.
func SignificantDown(x float64, digits int) string {
	return significant(x, digits, Down)
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
