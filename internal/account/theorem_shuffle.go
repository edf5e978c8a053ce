package account

import (
	"fmt"
	"time"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
)

// shuffle returns the theorem of amplification by shuffling.
func shuffle() Theorem {
	return Theorem{
		Name: "shuffle",
		Usage: "local reports whose order is forgotten: local_epsilon of each, reports (their number), and buckets, if each is the randomised " +
			"response among so many",
		keys: []string{"local_epsilon", "reports", "buckets"},
		view: []string{keyRelation},
		answer: func(_ *Answerer, f fields, q Question) (Cost, error) {
			if err := q.under("the theorem is about a report in the place of another; it covers an empty place for which a report of a fixed value stands", accountant.ReplaceOne); err != nil {
				return Cost{}, err
			}
			local, reports := f.needed("local_epsilon", "a number of at least 0"), f.count("reports")
			buckets := f.Get("buckets") != nil
			k := f.whole("buckets", MostSteps, 2)
			if f.err != nil {
				return Cost{}, f.err
			}
			start := time.Now()
			c := Cost{
				Delta: q.Delta, Relation: q.Relation.String(), Of: fmt.Sprintf("%d reports in an order that nobody knows, each of them %v-private", reports, local),
				Method: "amplification by shuffling (Feldman, McMillan, Talwar 2021, Theorem III.2, by numbers); assumed: records are randomised apart from each other, and whoever shuffles sees to it that no report is told from another but by what it says",
			}
			var err error
			if !buckets {
				c.Epsilon, err = theorems.Shuffle(local, reports, q.Delta)
			} else {
				c.Epsilon, err = theorems.ShuffleResponse(local, k, reports, q.Delta)
				c.Method = fmt.Sprintf("shuffled randomised response among %d buckets, with the attacker knowing who answered at random (Balle, Bell, Gascón, Nissim 2019); assumed: all records use it, and nobody tells reports apart but by what they say", k)
			}
			c.Upper, c.Seconds = c.Epsilon, time.Since(start).Seconds()
			return c, err
		},
	}
}
