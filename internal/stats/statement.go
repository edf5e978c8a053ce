package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/statement"
)

const unit = "one record" // of privacy

// state writes the privacy statement about everything in the ledger.
func (r *Run) state() error {
	if r.Books.Len() == 0 {
		return nil
	}
	spent, refusal, err := r.plan.accounts.Claim(r.Books.Ledger(), r.Books.Planned(), r.plan.budget.Delta)
	if err != nil {
		return err
	}
	together, err := r.Books.Together()
	if err != nil {
		return err
	}
	s := r.Statement(r.Status, spent, together)
	s.System, s.Unit, s.Neighbours, s.Trusted, s.Facts = "statistics", unit, accountant.ZeroOut.Neighbours(unit), r.trusted(), r.facts()
	s.Public = fmt.Sprintf("the number of records, %d, the file of statistics and its bounds", r.records.public)
	s.TargetEpsilon, s.AddedDelta = r.plan.budget.Epsilon, r.addedDelta(spent.Epsilon)
	s.NotPrivate = []string{
		fmt.Sprintf("the number of records, %d", r.records.public),
		"the names of columns and classes, and everything in the file of statistics, its bounds and bins with it; if they were chosen by looking at the data, that choice is not covered",
		"how long the run took, and the times of its files",
	}
	if slices.ContainsFunc(r.plan.asked, func(a asked) bool { return a.Trust != configs.Curator }) {
		s.NotPrivate = append(s.NotPrivate, "the records from whoever had them when reports were made of them: who trusts nobody has each record randomized where it is, as package local does it")
	}
	if refusal != nil {
		s.Fallbacks = []account.Fallback{{Asked: "all statistics together", Accountant: r.plan.accounts.Name(), Refusal: refusal.Error(), Answer: "ε = " + accountant.RoundUp(spent.Epsilon, 4)}}
	}
	return r.Publish(s)
}

// addedDelta bounds what rounded Gaussian noise adds to δ at epsilon: each coordinate is within
// 2^-4040 of its law (package noise). The other mechanisms have exactly the laws of their events. A
// matrix of d² covariances is made of fewer than 2·d² noisy sums.
func (r *Run) addedDelta(epsilon float64) float64 {
	coordinates := 0.0
	for _, a := range r.plan.asked[:len(r.rows)] {
		if d := float64(len(a.Names(r.file.Config))); a.Mechanism == configs.Gaussian {
			coordinates += 2 * max(d*d, float64(a.Bins))
		}
	}
	if coordinates == 0 {
		return 0
	}
	return max(math.SmallestNonzeroFloat64, math.Exp2(min(0, (epsilon+1)/math.Ln2+math.Log2(coordinates)-4040))) // 1 + e^ε < e^(ε+1)
}

// who says for each level of trust who sees the records.
var who = []struct{ trust, sees string }{
	{configs.Curator, "whoever runs this program, who sees the records as they are"},
	{configs.Shuffler, "whoever mixes the reports, not to tell where each comes from"},
	{configs.Nobody, "nobody, as each record is randomized by itself before it leaves its holder"},
}

// trusted says in one line who has to be trusted, and for how many of the statistics.
func (r *Run) trusted() string {
	var parts []string
	for _, w := range who {
		n := 0
		for _, a := range r.plan.asked {
			if a.Trust == w.trust {
				n++
			}
		}
		switch {
		case n == len(r.plan.asked):
			return w.sees
		case n > 0:
			parts = append(parts, fmt.Sprintf("for %d of %d statistics %s", n, len(r.plan.asked), w.sees))
		}
	}
	return strings.Join(parts, "; ")
}

// facts returns a line of the statement for each result: mechanism, own cost and bounds.
func (r *Run) facts() (facts []statement.Fact) {
	for i, known := range r.rows {
		what := fmt.Sprintf("%s, (%s, %g) by itself", strings.ReplaceAll(known.Mechanism, "_", " "), accountant.RoundUp(known.Epsilon, 4), known.Delta)
		switch a := r.plan.asked[i]; {
		case a.Trust == configs.Shuffler:
			what += "; reports that were mixed"
		case a.Trust == configs.Nobody:
			what += "; reports of single records"
		}
		switch a := r.plan.asked[i]; {
		case known.Lost():
			what += "; LOST: the run was killed after it was paid for, and the budget did not allow to pay again"
		case known.Refused:
			what += fmt.Sprintf("; its test says that a record may move it by more than %g, and so there is no answer", a.Step)
		case a.Kind == boundsKind:
			what += fmt.Sprintf("; found %g to %g", known.Value.List[0], known.Value.List[1])
		case a.Bounds.Private:
			what += "; numbers within the bounds that were found"
		case a.Kind == configs.StatAboveThreshold:
			what += fmt.Sprintf("; the first of %d counts that reaches %d", len(a.Queries), a.Threshold)
		case len(a.Each) > 0:
			what += fmt.Sprintf("; numbers within %v", a.Each)
		case a.Bounds.Low < a.Bounds.High:
			what += fmt.Sprintf("; numbers within %g to %g", a.Bounds.Low, a.Bounds.High)
		}
		facts = append(facts, statement.Fact{Name: fmt.Sprintf("The %s of %s", known.Statistic, known.Column), Value: what})
	}
	return facts
}

// Spent says in one line what everything in the ledger costs.
func (r *Run) Spent() string {
	if r.Books.Len() == 0 {
		return "nothing was released"
	}
	spent, _, err := r.plan.accounts.Claim(r.Books.Ledger(), r.Books.Planned(), r.plan.budget.Delta)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("ε = %s of %g at δ = %g (%s)", accountant.RoundUp(spent.Epsilon, 3), r.plan.budget.Epsilon, spent.Delta, spent.Accountant)
}
