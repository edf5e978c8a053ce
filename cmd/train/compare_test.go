package main

import (
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// The table lists every accountant within 80 columns, refusals with their reason, and says what an
// estimate is.
func TestCompareTable(t *testing.T) {
	tests := map[string][]string{
		"sampled": {"--sampling-probability", "0.0123456789012345", "--steps", "3000", "--noise-multiplier", "1.2345678901234567", "--delta", "1e-5"},
		"groups":  {"--sampling-probability", "0.01", "--steps", "1000", "--noise-multiplier", "10", "--delta", "1e-5", "--group-size", "3", "--relation", "replace-one"},
		"little":  {"--sampling-probability", "0.00001", "--steps", "1000000", "--noise-multiplier", "1000", "--delta", "1e-12"},
	}
	for name, flags := range tests {
		out := succeed(t, append([]string{"compare"}, flags...)...)
		for _, accountant := range append(accountants.Names(), "gdp") {
			if !strings.Contains(out, "\n"+accountant+" ") {
				t.Errorf("%s: found no %s in\n%s", name, accountant, out)
			}
		}
		fits(t, out)
		if estimated := strings.Contains(out, "\ngdp *"); estimated != strings.Contains(out, "* an estimate, not a bound") {
			t.Errorf("%s: found\n%s", name, out)
		}
	}
}

func TestCompareJSON(t *testing.T) {
	o := lastLine(t, succeed(t, "compare", "--sampling-probability", "0.01", "--steps", "1000", "--noise-multiplier", "1", "--delta", "1e-5", "--json"))
	want := golden(t, "rdp", accountant.ZeroOut, 1, 0.01, 1, 1000, 1e-5)
	found := false
	for _, one := range o["accountants"].([]any) {
		one := one.(map[string]any)
		if one["accountant"] == "rdp" {
			found = one["epsilon"] == want.Epsilon && one["seconds"].(float64) > 0 && one["lower"] == nil && one["estimate"] == nil
		}
	}
	if !found || o["releases"] != 1000. || o["delta"] != 1e-5 {
		t.Errorf("found %v, expected ε = %v by rdp", o, want.Epsilon)
	}
}

// The plots are files of their format.
func TestComparePlots(t *testing.T) {
	dir := t.TempDir()
	asked := []string{"compare", "--sampling-probability", "1", "--steps", "20", "--noise-multiplier", "10", "--delta", "1e-5", "--plot"}
	for _, name := range []string{"plot.svg", "plot.PNG"} {
		path := filepath.Join(dir, name)
		if out := succeed(t, append(asked, path)...); !strings.HasSuffix(out, "in "+path+": ε over steps\n") {
			t.Errorf("found\n%s", out)
		}
		f, err := os.Open(path)
		tiny.Check(t, err)
		defer f.Close()
		if filepath.Ext(name) == ".PNG" {
			if _, err := png.Decode(f); err != nil {
				t.Error(err)
			}
			continue
		}
		for dec := xml.NewDecoder(f); ; {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	refused(t, shell.ExitFailed, "", append(asked, filepath.Join(dir, "none", "plot.svg"))...)
}

func TestWrap(t *testing.T) {
	if found := strings.Join(shell.Wrap("one two  three "+strings.Repeat("x", 12), 9), "|"); found != "one two|three|xxxxxxxx…" {
		t.Errorf("found %s", found)
	}
}
