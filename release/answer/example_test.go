package answer_test

import (
	"fmt"
	"log"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// Where people live, and which place is the most common, out of one ledger. The budget does not
// allow a third answer.
func Example() {
	towns := make([]int, 10_000) // of each person
	for i := range towns {
		towns[i] = i % 7 % 3
	}
	counts, err := answer.NewCounts(towns, 3)
	if err != nil {
		log.Fatal(err)
	}

	account, err := accountants.New("exact", accountant.AddOrRemoveOne)
	if err != nil {
		log.Fatal(err)
	}
	const delta = 1e-6
	budget := func(spent *accountant.Ledger, next accountant.Event) (bool, error) {
		with, err := spent.With(next, 1)
		if err != nil {
			return false, err
		}
		g, err := account.Guarantee(with, delta)
		return g.Epsilon <= 1, err
	}
	journal := new(release.MemoryJournal) // that of a run is package checkpoints'
	desk := answer.NewDesk(journal, budget)

	how, err := answer.DiscreteLaplace(counts, 2) // ε = 1/2
	if err != nil {
		log.Fatal(err)
	}
	noisy, err := answer.Ask(desk, how)
	if err != nil {
		log.Fatal(err)
	}
	near := true
	for i, exact := range []int64{4286, 2857, 2857} {
		near = near && noisy[i] > exact-100 && noisy[i] < exact+100
	}
	fmt.Println("counts within 100 of the truth:", near)

	which, err := answer.PermuteAndFlip(counts.Scores(), 0.5)
	if err != nil {
		log.Fatal(err)
	}
	town, err := answer.Ask(desk, which)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("most people live in town", town)

	_, err = answer.Ask(desk, how)
	fmt.Println(err)
	for _, entry := range journal.Ledger().Entries() {
		fmt.Println(entry.Event)
	}
	// Output:
	// counts within 100 of the truth: true
	// most people live in town 0
	// answer: one more release would pass the budget
	// DiscreteLaplace(b=2, Δ=1)
	// AddOrRemoveDP(ε=0.5, δ=0)
}
