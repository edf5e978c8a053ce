package pate

import (
	"math"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"

	"gonum.org/v1/gonum/floats"
)

// graph joins every example of the pool to the examples that are most like it. All of it is public.
type graph struct {
	neighbours []int32   // degree of them for each example, the nearest first
	weights    []float64 // of the neighbours; they sum to 1 for each example
	degree     int
}

const (
	mostNeighbours = 10
	graphBlock     = 256 // examples that are compared with all others at a time
	// temperature says how much more a nearer neighbour counts: e^(20·difference of the cosines).
	temperature = 20
	// spreads is the number of rounds. After them less than a tenth of an answer has still to
	// spread.
	spreads = 50
	// keepAnswers and keepVotes are the share of its neighbours in the class of an example:
	// keepAnswers where few examples have an answer, keepVotes where a teacher has an opinion on
	// each.
	keepAnswers, keepVotes = 0.95, 0.8
)

// newGraph returns the graph of r's pool. Examples are alike by the cosine between them, after
// their mean was subtracted.
func newGraph(r *Run) (*graph, error) {
	rows, width, err := centred(r)
	if err != nil {
		return nil, err
	}
	n := r.pool.Len()
	g := &graph{degree: min(mostNeighbours, n-1)}
	g.neighbours, g.weights = make([]int32, n*g.degree), make([]float64, n*g.degree)
	cosines := make([]float32, graphBlock*n)
	for from := 0; from < n; from += graphBlock {
		m := min(graphBlock, n-from)
		r.Pool.Gemm(false, true, m, n, width, 1, rows[from*width:], width, rows, width, 0, cosines, n)
		r.Pool.Run(m, 1, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				g.join(from+i, cosines[i*n:(i+1)*n])
			}
		})
	}
	return g, nil
}

// centred returns the examples of the pool as rows of norm 1, after their mean was subtracted.
func centred(r *Run) (rows []float32, width int, err error) {
	batcher, err := data.NewBatcher(r.pool, setup.Normalisation(r.Config, r.Source.Shape.Channels))
	if err != nil {
		return nil, 0, err
	}
	n := r.pool.Len()
	width = r.pool.Shape().Values()
	rows, mean := make([]float32, n*width), make([]float32, width)
	label := make([]float32, 1) // which the graph does not look at
	for i := range n {
		row := rows[i*width : (i+1)*width]
		if err := batcher.Fill(row, label, []int{i}); err != nil {
			return nil, 0, err
		}
		kernel.Axpy(mean, 1/float32(n), row)
	}
	for i := range n {
		row := rows[i*width : (i+1)*width]
		kernel.Axpy(row, -1, mean)
		if norm := math.Sqrt(kernel.SumSquares(row)); norm > 0 {
			for j := range row {
				row[j] /= float32(norm)
			}
		}
	}
	return rows, width, nil
}

// join sets the neighbours and weights of example i, whose cosine with each example cosines holds.
func (g *graph) join(i int, cosines []float32) {
	nearest, weights := g.neighbours[i*g.degree:(i+1)*g.degree], g.weights[i*g.degree:(i+1)*g.degree]
	found := 0
	for j, c := range cosines {
		if j == i || found == g.degree && !(c > cosines[nearest[found-1]]) {
			continue
		}
		at := min(found, g.degree-1)
		for at > 0 && c > cosines[nearest[at-1]] {
			nearest[at] = nearest[at-1]
			at--
		}
		nearest[at] = int32(j)
		found = min(found+1, g.degree)
	}
	sum := 0.0
	for k, j := range nearest {
		weights[k] = math.Exp(temperature * float64(cosines[j]-cosines[nearest[0]]))
		sum += weights[k]
	}
	for k := range weights {
		weights[k] /= sum
	}
}

// spread lets opinions flow along the graph: in each round the opinion on an example becomes keep
// times that of its neighbours plus 1 - keep times its own (Zhou et al. 2003, "Learning with Local
// and Global Consistency", section 2). own and the result have a row for each example and a column
// for each class, none below 0.
func (g *graph) spread(own []float64, classes int, keep float64) []float64 {
	now, next := slices.Clone(own), make([]float64, len(own))
	for range spreads {
		for i := range len(own) / classes {
			to := next[i*classes : (i+1)*classes]
			for c := range to {
				to[c] = (1 - keep) * own[i*classes+c]
			}
			for k, j := range g.neighbours[i*g.degree : (i+1)*g.degree] {
				weight := keep * g.weights[i*g.degree+k]
				for c, v := range now[int(j)*classes : (int(j)+1)*classes] {
					to[c] += weight * v
				}
			}
		}
		now, next = next, now
	}
	return now
}

// decide returns for each row of opinions the class with most weight, and its share of the row.
func decide(opinions []float64, classes int) (class []uint8, confidence []float64) {
	for row := range slices.Chunk(opinions, classes) {
		best := floats.MaxIdx(row)
		class = append(class, uint8(best))
		confidence = append(confidence, row[best]/max(floats.Sum(row), math.SmallestNonzeroFloat64)) // 0 where nothing is known
	}
	return class, confidence
}
