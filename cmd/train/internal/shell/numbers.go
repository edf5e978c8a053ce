package shell

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/statement"
)

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

// Megabytes writes a size in MiB.
func Megabytes(bytes int) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Left writes what spent leaves of a budget, both ε, rounded down to three decimals; at least 0.
func Left(budget, spent float64) string { return Down(max(0, budget-spent), 3) }

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

// Down writes a number of at least 0 with that many decimals, rounded down.
func Down(x float64, decimals int) string {
	return strings.TrimPrefix(accountant.RoundUp(-x, decimals), "-")
}

// SignificantUp writes a number of at least 0, rounded up to so many digits or to a whole number.
func SignificantUp(x float64, digits int) string { return significant(x, digits, accountant.RoundUp) }

// SignificantDown does what SignificantUp does, but rounds down.
func SignificantDown(x float64, digits int) string { return significant(x, digits, Down) }

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
