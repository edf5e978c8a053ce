package report

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"dpsgd/checkpoints"
	"dpsgd/internal/attack"
)

// ReadAudit reads what `train audit --json` printed, from a file.
func ReadAudit(path string) (*attack.Outcome, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the audit: %w", err)
	}
	var o attack.Outcome
	if err := json.Unmarshal(content, &o); err != nil || o.Audit == "" || len(o.Tests) == 0 {
		return nil, fmt.Errorf("%s: found no audit, expected what `train audit --json` prints: %w", path, checkpoints.ErrCorrupt)
	}
	return &o, nil
}

// auditTable lists the claims of an audit, with the lower bound beside each.
func auditTable(o *attack.Outcome) Table {
	t := Table{Heading: []string{"claim", "of", "claimed, at most", fmt.Sprintf("observed, at least (%g %%)", 100*o.Confidence), "verdict", "by"}}
	for _, test := range o.Tests {
		verdict := "not falsified"
		if test.Falsified {
			verdict = "FALSIFIED"
		}
		t.Rows = append(t.Rows, []string{test.Claim, test.Quantity, epsilon(test.Claimed), strconv.FormatFloat(test.AtLeast, 'f', 4, 64), verdict, test.By})
	}
	return t
}

// FiguresOfAudit draws what attacks noticed at each rate of false alarms, and what the claim allows.
func FiguresOfAudit(o *attack.Outcome) []Figure {
	drawing := o.Chart()
	f := Figure{ID: "roc", Title: drawing.Title, Private: !o.Private, Drawing: drawing, Table: Table{Heading: []string{"line", "false alarms, %", "noticed, %"}},
		Note: "Both axes are logarithmic: an attack that is right about a few people without false alarms does harm. Points lie above the line of what the claim allows only by chance."}
	for _, line := range drawing.Lines {
		for _, p := range line.Points {
			if p.X > 0 && p.Y > 0 {
				f.Table.Rows = append(f.Table.Rows, []string{line.Name, fmt.Sprintf("%.3g", 100*p.X), fmt.Sprintf("%.3g", 100*p.Y)})
			}
		}
	}
	return []Figure{f}
}
