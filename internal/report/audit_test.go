package report_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/attack"
	"dpsgd/internal/chart"
	"dpsgd/internal/report"
	"dpsgd/internal/tiny"
)

// A report shows the lower bounds of an audit beside the claims, its verdict, and its curve with what
// is allowed. An audit of examples makes it NOT private, and its file has to be called so.
func TestAuditInReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.json")
	o := attack.Outcome{
		Audit: "membership", Name: "runs/<digits>", Confidence: 0.95, Delta: 1e-5, Falsified: true,
		Tests:   []attack.Tested{{Claim: "LiRA, online", Quantity: "ε", Claimed: 3, AtLeast: 4.5, By: "9 right of 9 guesses", Falsified: true}},
		ROC:     []attack.Curve{{Name: "LiRA, online", Points: []chart.Point{{X: 0, Y: 0.1}, {X: 0.01, Y: 0.2}, {X: 1, Y: 1}}}},
		Allowed: []chart.Point{{X: 1e-4, Y: 1e-3}, {X: 1, Y: 1}},
	}
	for _, private := range []bool{true, false} {
		o.Private = private
		tiny.Write(t, path, string(tiny.Must(json.Marshal(o))(t)))
		r := tiny.Must(report.Read(t.Context(), nil, report.Request{Audits: []string{path}}, "test"))(t)
		page := string(tiny.Must(r.HTML())(t))
		for _, want := range []string{"Audit of runs/&lt;digits&gt;", "CLAIM FALSIFIED", "LiRA, online", "4.5000", "most allowed", "<svg", "observed, at least (95 %)"} {
			if !strings.Contains(page, want) {
				t.Errorf("found no %q in the page", want)
			}
		}
		err := r.Write(filepath.Join(t.TempDir(), "report.html"))
		if private == strings.Contains(page, "NOT private") || private != (err == nil) || !private && !errors.Is(err, report.ErrName) {
			t.Errorf("private %v: found %v, and a page that says otherwise", private, err)
		}
	}
	tiny.Write(t, path, "{}")
	if _, err := report.ReadAudit(path); err == nil || strings.Contains(err.Error(), "%!") {
		t.Errorf("found %v, expected that this is no audit", err)
	}
}
