package account

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/internal/chart"
	"dpsgd/internal/tiny"
)

// Every accountant is in the comparison once, with the answer or the error that it has in the
// package; bounds come first, then estimates, then refusals.
func TestCompare(t *testing.T) {
	l := releasesOf(t, 0.05, 1.4, 90)
	for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ReplaceOne} {
		c := tiny.Must(Compare(t.Context(), Question{View: View{Relation: r}, Ledger: l, Delta: 1e-5}, 9))(t)
		if c.Releases != 90 || c.NoiseMultiplier != 1.4 || c.SamplingProbability != 0.05 || c.Relation != r.String() {
			t.Errorf("found %+v", c)
		}
		var names []string
		for _, one := range c.Accountants {
			names = append(names, one.Accountant)
			if one.Estimate != (one.Accountant == "gdp") || one.Seconds < 0 || (one.Epsilon == nil) != (one.Error != "") {
				t.Errorf("%v: found %+v", r, one)
			}
			if !one.Estimate {
				checkCompared(t, one, r, l)
			} else if want, err := accountants.GaussianEstimate(l, r, 1e-5); err == nil && (*one.Epsilon != want || one.Lower != nil) {
				t.Errorf("%v: found the estimate %+v, expected %v", r, one, want)
			}
		}
		if !slices.IsSortedFunc(c.Accountants, inOrder) {
			t.Errorf("%v: %v are out of order", r, names)
		}
		slices.Sort(names)
		want := append(accountants.Names(), "gdp")
		if slices.Sort(want); !slices.Equal(names, want) {
			t.Errorf("found %v, expected %v", names, want)
		}
	}
}

func checkCompared(t *testing.T, one Compared, r accountant.Relation, l *accountant.Ledger) {
	t.Helper()
	a, err := accountants.New(one.Accountant, r)
	var g accountant.Guarantee
	if err == nil {
		g, err = a.Guarantee(l, 1e-5)
	}
	if err != nil {
		if one.Error == "" {
			t.Errorf("%s: found %v, expected the error %v", one.Accountant, *one.Epsilon, err)
		}
		return
	}
	if one.Epsilon == nil || *one.Epsilon != g.Epsilon {
		t.Errorf("%s: found %+v, expected %v", one.Accountant, one, g.Epsilon)
		return
	}
	if len(one.Curve) == 0 || len(one.Curve) > 9 || one.Curve[len(one.Curve)-1] != (Point{Steps: 90, Epsilon: g.Epsilon}) {
		t.Errorf("%s: found the curve %v, expected its end at %v", one.Accountant, one.Curve, g.Epsilon)
	}
	if _, bracketing := a.(accountant.IntervalAccountant); bracketing != (one.Lower != nil) || one.Lower != nil && *one.Lower > g.Epsilon {
		t.Errorf("%s: found the lower bound %v of %v", one.Accountant, one.Lower, g.Epsilon)
	}
}

// How many points a curve has depends on what is asked about, and not on how fast the machine is.
func TestCurveOfALongLedgerHasFewerPoints(t *testing.T) {
	l := new(accountant.Ledger)
	for i := range 8 {
		tiny.Check(t, AddAll(l, releasesOf(t, 0.01*float64(i+1), 3, 10)))
	}
	c := tiny.Must(Compare(t.Context(), Question{Ledger: l, Delta: 1e-5}, 9))(t)
	for _, one := range c.Accountants {
		want := 6
		if one.Accountant == PLD {
			want = 4
		}
		if one.Error == "" && len(one.Curve) != want {
			t.Errorf("%s: found %d points, expected %d", one.Accountant, len(one.Curve), want)
		}
	}
}

// No guarantee at all is a refusal of everyone, a wrong δ an error, and a context that ends stops.
func TestCompareWithoutAnswers(t *testing.T) {
	c := tiny.Must(Compare(t.Context(), Question{Ledger: releasesOf(t, 0.1, 0, 1), Delta: 1e-5}, 5))(t)
	for _, one := range c.Accountants {
		if one.Error == "" {
			t.Errorf("without noise found %+v", one)
		}
	}
	if _, err := Compare(t.Context(), Question{Ledger: releasesOf(t, 0.1, 1, 1), Delta: 0}, 5); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("found error %v", err)
	}
	group, one := Question{View: View{GroupSize: 2}, Delta: 1e-5, Divisor: 4}, Question{Delta: 1e-5 / 4}
	if c := tiny.Must(group.estimate(releasesOf(t, 1, 4, 9)))(t); c != tiny.Must(one.estimate(releasesOf(t, 1, 2, 9)))(t) {
		t.Errorf("for two records, at the δ that two choices leave, found the estimate %v", c.Upper)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ended, Question{Ledger: releasesOf(t, 0.1, 1, 1), Delta: 1e-5}, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("found error %v", err)
	}
}

func TestBeginning(t *testing.T) {
	l := new(accountant.Ledger)
	tiny.Check(t, AddAll(l, releasesOf(t, 0.1, 1, 3)))
	tiny.Check(t, l.Add(DPSGD(0.1, 2), 4))
	if last := tiny.Must(Part(l, 4, 4))(t); last.Count() != 3 {
		t.Errorf("after the first 4 come %v, expected 3", last.Entries())
	}
	for n, want := range []string{"", "3:1", "3:2", "3:3", "3:3 4:1", "3:3 4:2", "3:3 4:3", "3:3 4:4", "3:3 4:4"} {
		first := tiny.Must(Beginning(l, n))(t)
		var found []string
		for i, e := range first.Entries() {
			found = append(found, fmt.Sprintf("%d:%d", 3+i, e.Count))
		}
		if strings.Join(found, " ") != want {
			t.Errorf("the first %d are %v, expected %s", n, found, want)
		}
	}
}

// plots are comparisons that look different: linear and logarithmic, one point, many lines, none.
func plots() map[string]*Comparison {
	line := func(name string, factor float64, points ...int) Compared {
		c := Compared{Accountant: name, Estimate: name == "gdp"}
		for _, steps := range points {
			c.Curve = append(c.Curve, Point{Steps: steps, Epsilon: factor * math.Sqrt(float64(steps))})
		}
		return c
	}
	return map[string]*Comparison{
		"linear":      {Delta: 1e-5, Subject: Subject{Relation: "zero-out", Releases: 1000, NoiseMultiplier: 1}, Accountants: []Compared{line("exact", 0.1, 100, 500, 1000), line("gdp", 0.09, 100, 1000)}},
		"logarithmic": {Delta: 1e-5, Subject: Subject{Releases: 50, Run: "runs/<a&b>", GroupSize: 2}, Accountants: []Compared{line("exact", 1e-9, 1, 50), line("pld", 1e-9, 1, 50), line("rdp", 1.1e-9, 1, 50), line("zcdp", 2, 1, 50), line("basic", 1e9, 1, 50), line("optimal", 1e8, 50), line("advanced", 1e8, 50)}},
		"one point":   {Delta: 1e-5, Subject: Subject{Releases: 1}, Accountants: []Compared{line("exact", 0.3, 1)}},
		"zero":        {Delta: 1e-5, Subject: Subject{Releases: 1}, Accountants: []Compared{line("exact", 0, 1)}},
		"none":        {Delta: 1e-5, Accountants: []Compared{{Accountant: "exact", Error: "cannot"}}},
	}
}

// Every accountant with a curve is a line, named with its last value; the axis is logarithmic where
// values are far apart.
func TestComparisonAsChart(t *testing.T) {
	lines := map[string]int{"linear": 2, "logarithmic": 7, "one point": 1}
	for name, c := range plots() {
		d := c.Chart()
		if want := name == "logarithmic"; d.Logarithmic != want {
			t.Errorf("%s: logarithmic is %t", name, d.Logarithmic)
		}
		if len(d.Lines) != lines[name] {
			t.Errorf("%s: found %d lines, expected %d", name, len(d.Lines), lines[name])
		}
		if empty := strings.Contains(d.Subtitle, "; no accountant has an answer"); empty != (len(d.Lines) == 0) {
			t.Errorf("%s: found the subtitle %q", name, d.Subtitle)
		}
	}
	d := plots()["linear"].Chart()
	want := []chart.Line{
		{Name: "exact 3.17", Points: []chart.Point{{X: 100, Y: 1}, {X: 500, Y: 0.1 * math.Sqrt(500)}, {X: 1000, Y: 0.1 * math.Sqrt(1000)}}},
		{Name: "gdp (estimate) 2.85", Points: []chart.Point{{X: 100, Y: 0.09 * math.Sqrt(100)}, {X: 1000, Y: 0.09 * math.Sqrt(1000)}}, Style: chart.Dashed},
	}
	if !reflect.DeepEqual(d.Lines, want) {
		t.Errorf("found %v, expected %v", d.Lines, want)
	}
	if d.Title != "ε over steps at δ = 1e-05, zero-out" || d.Subtitle != "noise multiplier 1, sampling probability 0" {
		t.Errorf("found %q and %q", d.Title, d.Subtitle)
	}
	if found := plots()["logarithmic"].Chart().Subtitle; found != "50 releases of runs/<a&b>, groups of 2 records" {
		t.Errorf("found %q", found)
	}
}

// Both kinds of files are written, and another ending is refused.
func TestPlots(t *testing.T) {
	for name, c := range plots() {
		for _, format := range chart.Formats() {
			path := filepath.Join(t.TempDir(), "plot"+strings.ToUpper(format))
			tiny.Check(t, c.Chart().Write(path))
			if info, err := os.Stat(path); err != nil || info.Size() < 500 {
				t.Errorf("%s: found %v, error %v", name, info, err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "plot.pdf")
	if err := plots()["linear"].Chart().Write(path); err == nil || err.Error() != "found the plot "+path+", expected a file that ends in .svg or .png" {
		t.Errorf("found error %v", err)
	}
}

// A line that ends far above the least one is named and not drawn.
func TestFarLinesAreOffTheChart(t *testing.T) {
	low, high := 6.0, 11000.0
	c := Comparison{Delta: 1e-5, Subject: Subject{Releases: 100}, Accountants: []Compared{
		{Accountant: "exact", Epsilon: &low, Curve: []Point{{Steps: 50, Epsilon: 4}, {Steps: 100, Epsilon: low}}},
		{Accountant: "basic", Epsilon: &high, Curve: []Point{{Steps: 50, Epsilon: 5500}, {Steps: 100, Epsilon: high}}},
	}}
	d := c.Chart()
	if len(d.Lines) != 1 || d.Lines[0].Name != "exact 6.00" || d.Logarithmic || !strings.Contains(d.Subtitle, "off the chart: basic 11000.00") {
		t.Errorf("found %d lines below %q", len(d.Lines), d.Subtitle)
	}
}
