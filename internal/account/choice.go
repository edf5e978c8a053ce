package account

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
)

// Choice is an event that releases nothing: it says that the number of releases was chosen anew
// after the entries before it could be seen. The ledger of a run that was extended holds it.
//
// An accountant composes releases whose number is fixed in advance. Let somebody who has seen the
// first N₀ releases of fixed mechanisms stop, or go on to N₁, N₂, … releases in all, numbers that
// are fixed in advance, and let him choose by all that he has seen. If the first N_j of them are
// (ε_j, δ·2^-j)-private, for j = 1, 2, …, then for every set S of results of runs that went on and
// ended at an N_j with ε_j ≤ ε
//
//	P(S) = Σ_j P(S_j) ≤ Σ_j (e^(ε_j)·Q(S_j) + δ·2^-j) ≤ e^ε·Q(S) + δ,
//
// S_j being the results in S that ended at N_j: whether a result is one of them is a function of
// the first N_j releases and of nothing else that is private, so the guarantee of these holds for
// S_j. That holds under every accountant. It is an odometer in the sense of Rogers, Roth, Ullman,
// Vadhan 2016 (arXiv:1605.08294), by a union bound over its readings; those of Whitehouse, Ramdas,
// Rogers, Wu 2023 (arXiv:2203.05481), and that of package rdp, need no list of numbers, and bound
// Rényi divergences instead of asking an accountant of one's choice.
//
// So a ledger with j choices is accounted for at δ·2^-j, whoever asks: [Accountants] and [Seen] do
// so. Of two runs together that went on to number i and number j it is δ·2^-(i+j), and these add up
// to δ, too.
//
// As an event a choice is (0, 0)-private, which other programs count as nothing.
var Choice accountant.Event = accountant.ApproxDP{}

// Seen returns a ledger without its choices, and the number 2^choices by which they divide δ.
func Seen(l *accountant.Ledger) (releases *accountant.Ledger, divisor float64, err error) {
	choices := Choices(l)
	if choices == 0 {
		return l, 1, nil
	}
	if choices > mostChoices {
		return nil, 0, fmt.Errorf("%w: found %d choices of how much is released, expected at most %d, which leave something of δ", ErrNoGuarantee, choices, mostChoices)
	}
	releases, err = ledgerOf(slices.DeleteFunc(l.Entries(), func(e accountant.Entry) bool { return e.Event == Choice }))
	return releases, math.Ldexp(1, choices), err
}

// mostChoices keeps 2^choices, and δ/2^choices, within the range of float64.
const mostChoices = 900

// Choices counts the choices in a ledger.
func Choices(l *accountant.Ledger) int {
	n := 0
	for _, e := range l.Entries() {
		if e.Event == Choice {
			n += e.Count
		}
	}
	return n
}
