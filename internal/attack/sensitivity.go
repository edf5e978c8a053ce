package attack

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/internal/chart"
	"dpsgd/internal/random"
)

// Sensitivity measures by how much one person moves the answers to four questions about the ages of
// drawn people: it leaves out each of them in turn.
type Sensitivity struct {
	Attack  string  `json:"attack"`
	People  int     `json:"people"`
	Queries []Query `json:"queries"`

	// How many are over 65 was asked Draws times with Laplace noise of ε Epsilon, with one more
	// person over 65, and as often without. noisy[0], with, and noisy[1], without, count answers.
	Epsilon  float64 `json:"epsilon"`
	Draws    int     `json:"draws"`
	noisy    [2]map[int]int
	expected int // the number over 65 without that person and without noise
}

// Query is a question and how far one person moves its answer.
type Query struct {
	Name     string  `json:"query"`
	Answer   float64 `json:"answer"`
	Measured float64 `json:"measured"` // largest change of the answer when one of the drawn people is left out
	Worst    float64 `json:"worst"`    // the same for the database on which one person moves the answer most
	Bound    float64 `json:"bound"`    // of the change, for any database of so many people aged 0 to oldest
	Noise    float64 `json:"noise"`    // standard deviation of the Laplace noise that the bound needs for the ε
}

// What is public about the people.
const (
	oldest     = 100 // nobody counts as older
	retirement = 65
)

// query is a question with a database on which one person moves its answer as far as on any.
type query struct {
	Query
	of    func(ages []int) float64
	worst []int
}

// queries returns the questions about n people. One person adds at most one to a count, and at most
// the largest age to a sum; a mean of n people moves by at most that age over n. Whether a count is
// above a threshold depends on one person only in databases where the count is just above it.
func queries(n int) []query {
	half := float64(n / 2)
	return []query{
		{Query{Name: "count of people over 65", Bound: 1}, countOf, old(n, 1)},
		{Query{Name: "more than half over 65 (1 or 0)", Bound: 1}, func(ages []int) float64 {
			if countOf(ages) > half {
				return 1
			}
			return 0
		}, old(n, n/2+1)},
		{Query{Name: "sum of ages", Bound: oldest}, sumOf, old(n, 1)},
		{Query{Name: "mean age", Bound: oldest / float64(n)}, func(ages []int) float64 { return sumOf(ages) / float64(len(ages)) }, old(n, 1)},
	}
}

// old returns the ages of n people: the largest age for the first number of them, 0 for the others.
func old(n, number int) []int {
	ages := make([]int, n)
	for i := range number {
		ages[i] = oldest
	}
	return ages
}

func countOf(ages []int) (n float64) {
	for _, age := range ages {
		if age > retirement {
			n++
		}
	}
	return n
}

func sumOf(ages []int) (sum float64) {
	for _, age := range ages {
		sum += float64(age)
	}
	return sum
}

// Sensitivities draws the ages of people at random and measures how far leaving out one person
// moves the answers to four questions about them. It also asks one of the questions, how many are
// over 65, draws times with Laplace noise of ε epsilon, with one more person over 65, and as often
// without.
func Sensitivities(people int, epsilon float64, draws int) (*Sensitivity, error) {
	if people < 2 {
		return nil, fmt.Errorf("attack: found %d people, expected at least 2", people)
	}
	ages := make([]int, people)
	src := random.New()
	for i := range ages {
		ages[i] = int(src.Uint64() % 91)
	}
	s := &Sensitivity{Attack: "sensitivity", People: people, Epsilon: epsilon, Draws: draws}
	for _, q := range queries(people) {
		q.Answer, q.Measured, q.Worst = q.of(ages), largestChange(q.of, ages), largestChange(q.of, q.worst)
		q.Noise = math.Sqrt2 * q.Bound / epsilon
		s.Queries = append(s.Queries, q.Query)
	}
	return s, s.draw(ages, epsilon)
}

// largestChange returns the largest change of a question's answer when one person is left out.
func largestChange(query func([]int) float64, ages []int) float64 {
	whole, largest := query(ages), 0.0
	without := make([]int, 0, len(ages))
	for i := range ages {
		without = append(append(without[:0], ages[:i]...), ages[i+1:]...)
		largest = max(largest, math.Abs(whole-query(without)))
	}
	return largest
}

// draw fills in s.noisy and s.expected: it asks how many are over 65 s.Draws times with noise of ε
// epsilon, with one more person over 65, and as often without.
func (s *Sensitivity) draw(ages []int, epsilon float64) error {
	parameter, err := Laplace.forEpsilon(epsilon)
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	without := make([]bool, len(ages))
	for i, age := range ages {
		without[i] = age > retirement
	}
	s.expected = int(countOf(ages))
	for i, bits := range [][]bool{append(slices.Clone(without), true), without} {
		sums, err := ones(bits, nil)
		if err != nil {
			return err
		}
		s.noisy[i] = map[int]int{}
		d := newDesk(Laplace, parameter)
		for range s.Draws {
			noisy, err := d.count(sums, nil)
			if err != nil {
				return err
			}
			s.noisy[i][int(noisy)]++
		}
	}
	return nil
}

// Chart draws the share of each noisy answer, with the additional person and without.
func (s *Sensitivity) Chart() chart.Chart {
	c := chart.Chart{
		Title: "What noise buys: a count with one person and without", X: "answer - count without the person", Y: "share of the answers, %",
		Subtitle: fmt.Sprintf("Laplace noise of ε = %g, %d answers each: at no answer do the lines differ by more than a factor of %.3g, but for chance", s.Epsilon, s.Draws, math.Exp(s.Epsilon)),
	}
	reach := int(math.Ceil(4 / s.Epsilon))
	for i, name := range []string{"with", "without"} {
		line := chart.Line{Name: name, Style: chart.Marked}
		for x := s.expected - reach; x <= s.expected+reach; x++ {
			line.Points = append(line.Points, chart.Point{X: float64(x - s.expected), Y: 100 * float64(s.noisy[i][x]) / float64(s.Draws)})
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
