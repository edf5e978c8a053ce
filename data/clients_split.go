package data

import (
	"fmt"
	"math/rand/v2"

	"dpsgd/internal/random"

	"gonum.org/v1/gonum/stat/distuv"
)

// Labelled is what a split needs of examples: their number, their classes, and the class of each. A
// [Set] is Labelled.
type Labelled interface {
	Len() int
	Classes() []string
	Label(i int) int
}

// Spread returns the indices of each client's examples. Every example has one client, and two
// clients' numbers of examples differ by at most one. It refuses 0 clients, or more than examples.
func (r ClientSplit) Spread(examples Labelled) ([][]int, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if !r.Any() || r.Clients > examples.Len() {
		return nil, fmt.Errorf("clients: federated.clients is %d, expected 1 to the %d training examples", r.Clients, examples.Len())
	}
	src := rand.New(random.Seeded(r.Seed))
	order := src.Perm(examples.Len())
	if r.Split == Dirichlet {
		order = skewed(order, examples, r, src)
	}
	spread := make([][]int, r.Clients)
	for i := range spread {
		from, to := r.share(i, len(order))
		spread[i] = order[from:to:to]
	}
	return spread, nil
}

// share returns which of n examples in a row are the client's: those in the range [from, to).
func (r ClientSplit) share(client, n int) (from, to int) {
	return client * n / r.Clients, (client + 1) * n / r.Clients
}

// skewed returns the examples in another order, in which those of each client follow each other.
// Client after client draws shares of the classes from a symmetric Dirichlet distribution, then its
// examples one by one: each time a class by these shares, among the classes that have examples
// left, and the next example of that class (Hsu, Qi, Brown, arXiv:1909.06335, section 3).
func skewed(order []int, examples Labelled, r ClientSplit, src *rand.Rand) []int {
	left := make([][]int, len(examples.Classes()))
	for _, i := range order {
		left[examples.Label(i)] = append(left[examples.Label(i)], i)
	}
	drawn := make([]int, 0, len(order))
	for client := range r.Clients {
		shares := dirichlet(len(left), r.Alpha, src)
		from, to := r.share(client, len(order))
		for range to - from {
			class := draw(shares, left, src)
			drawn = append(drawn, left[class][0])
			left[class] = left[class][1:]
		}
	}
	return drawn
}

// dirichlet draws a gamma variable for each class. Divided by their sum they are shares.
func dirichlet(classes int, alpha float64, src *rand.Rand) []float64 {
	shares := make([]float64, classes)
	for i := range shares {
		shares[i] = distuv.Gamma{Alpha: alpha, Beta: 1, Src: src}.Rand()
	}
	return shares
}

// draw returns a class that has examples left, with probability proportional to its share. If none
// of these has a share, as when a client's only class is used up, it first sets all shares to 1.
func draw(shares []float64, left [][]int, src *rand.Rand) int {
	weights, total := make([]float64, len(shares)), 0.0
	for class, share := range shares {
		if len(left[class]) > 0 {
			weights[class] = share
			total += share
		}
	}
	if total == 0 {
		for class := range shares {
			shares[class] = 1
		}
		return draw(shares, left, src)
	}
	at, last := total*src.Float64(), 0
	for class, w := range weights {
		if w == 0 {
			continue
		}
		if last = class; at < w {
			break
		}
		at -= w
	}
	return last
}
