package attack

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/account"
	"dpsgd/internal/chart"
	"dpsgd/internal/random"
	"dpsgd/internal/score"
	"dpsgd/release"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/mat"
)

// Noise is a law of the noise on answers.
type Noise string

// The laws: discrete Laplace noise, the one with which a count of a given ε is the best there is
// (Ghosh, Roughgarden, Sundararajan 2009, arXiv:0811.2841), and Gaussian noise, rounded to
// integers.
const (
	Laplace  Noise = "laplace"
	Gaussian Noise = "gaussian"
)

// Noises returns the names of the laws.
func Noises() []string { return []string{string(Laplace), string(Gaussian)} }

// delta is the δ at which the ε of Gaussian noise is given.
const delta = 1e-5

func (n Noise) validate() error {
	if !slices.Contains(Noises(), string(n)) {
		return fmt.Errorf("attack: found the noise %q, expected %s", string(n), strings.Join(Noises(), " or "))
	}
	return nil
}

// forEpsilon returns the parameter of the noise that makes one answer epsilon-private, at [delta]
// for Gaussian noise: the scale of Laplace's law or the standard deviation, in units of what one
// record can change.
func (n Noise) forEpsilon(epsilon float64) (float64, error) {
	if n == Laplace {
		return theorems.LaplaceScale(epsilon)
	}
	return theorems.GaussianNoiseMultiplier(epsilon, delta)
}

// ofDeviation returns the parameter with which the noise has the given standard deviation. The
// deviation of discrete Laplace noise of scale b is 1/(√2·sinh(1/2b)).
func (n Noise) ofDeviation(deviation float64) float64 {
	if n == Laplace {
		return 0.5 / math.Asinh(1/(math.Sqrt2*deviation))
	}
	return deviation
}

// desk answers questions about drawn people with one kind of noise. Its journal holds the events of
// all answers. It is in memory, as nobody's budget is at stake.
type desk struct {
	*answer.Desk
	noise     Noise
	parameter float64
	journal   *release.MemoryJournal
}

func newDesk(n Noise, parameter float64) *desk {
	j := new(release.MemoryJournal)
	return &desk{answer.NewDesk(j, nil), n, parameter, j}
}

// count returns the number in sums with noise, or err. It takes both as [ones] returns them.
func (d *desk) count(sums *answer.Sums, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	ask := answer.Gaussian
	if d.noise == Laplace {
		ask = answer.DiscreteLaplace
	}
	q, err := ask(sums, d.parameter)
	if err != nil {
		return 0, err
	}
	answers, err := answer.Ask(d.Desk, q)
	if err != nil {
		return 0, err
	}
	return float64(answers[0]), nil
}

// ones returns how many people in subset have a one, for a desk to add noise; nil is everybody.
func ones(bits []bool, subset []bool) (*answer.Sums, error) {
	buckets := make([]int, len(bits))
	for i, one := range bits {
		if !one || subset != nil && !subset[i] {
			buckets[i] = -1 // not counted
		}
	}
	return answer.NewCounts(buckets, 1)
}

// allowed returns the largest chance to guess one person's bit right, if both values are equally
// likely, after everything in a ledger: (1 + δ(0))/2 by the exact accountant. epsilon is the ε at
// [delta].
func allowed(l *accountant.Ledger) (rate, epsilon float64, err error) {
	exact, err := accountants.New(account.Exact, accountant.ZeroOut)
	if err != nil {
		return 0, 0, err
	}
	at, err := exact.Delta(l, 0)
	if err != nil {
		return 0, 0, err
	}
	g, err := exact.Guarantee(l, delta)
	return (1 + at.Delta) / 2, g.Epsilon, err
}

// Reconstruction is the result of the attack of Dinur and Nissim 2003 ("Revealing information while
// preserving privacy", PODS): it finds one bit of each person from noisy counts of the ones in
// random subsets. Least squares give the numbers that fit the answers best, and they are rounded to
// bits (Dwork, Roth 2014, section 8.1, has the same with linear programs).
type Reconstruction struct {
	Attack   string  `json:"attack"`
	Noise    Noise   `json:"noise"`
	People   int     `json:"people"`
	Queries  int     `json:"queries"`
	Repeated int     `json:"repeated"` // times, each with people drawn anew
	Rows     []Found `json:"rows"`
}

// Found counts the bits that are found at one amount of noise.
type Found struct {
	Ratio     float64     `json:"noise_per_root"`    // standard deviation of the noise on one answer, over √people
	Epsilon   float64     `json:"epsilon,omitempty"` // ε of all answers together, at Delta; 0 for no guarantee
	Delta     float64     `json:"delta,omitempty"`
	Recovered score.Share `json:"recovered"` // the share of the people whose bit is found
	Allowed   float64     `json:"allowed"`   // the largest share that any attack finds, as far as the ledger says
	Expected  float64     `json:"expected"`  // about the share that least squares find
}

// ratios lists the amounts of noise, as standard deviations over √people.
var ratios = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 4, 8, 16}

// Reconstruct carries out the attack at every amount of noise in ratios. people is the number of
// people in each drawn database, queries the number of questions about them, at least as many.
func Reconstruct(n Noise, people, queries int) (*Reconstruction, error) {
	if err := n.validate(); err != nil {
		return nil, err
	}
	if people < 2 || queries < people || people > mostPeople || queries > mostQueries {
		return nil, fmt.Errorf("attack: found %d people and %d queries, expected 2 to %d people, and at least as many queries and at most %d", people, queries, mostPeople, mostQueries)
	}
	r := &Reconstruction{Attack: "reconstruction", Noise: n, People: people, Queries: queries, Repeated: reconstructions}
	right := make([]int, len(ratios))
	r.Rows = make([]Found, len(ratios))
	src := random.New()
	for range reconstructions {
		if err := r.once(right, src); err != nil {
			return nil, err
		}
	}
	for i := range r.Rows {
		r.Rows[i].Recovered = score.NewShare(right[i], reconstructions*people)
	}
	return r, nil
}

const (
	reconstructions = 5 // repetitions of the attack
	mostDrawn       = 4 // the largest ratio in the figure: beyond it there is nothing to see

	// Limits of the matrix of questions: 64 MiB, for which least squares take seconds.
	mostPeople  = 1000
	mostQueries = 8000
)

// once attacks one database at every amount of noise by the same questions, and adds to right how
// many bits it finds at each.
func (r *Reconstruction) once(right []int, src *random.Source) error {
	bits := drawBits(r.People, src)
	questions, sums := mat.NewDense(r.Queries, r.People, nil), make([]*answer.Sums, r.Queries)
	answers := mat.NewDense(r.Queries, len(ratios), nil)
	for q := range r.Queries {
		subset := drawBits(r.People, src)
		exact := 0.0
		for person, in := range subset {
			if in {
				questions.Set(q, person, 1)
				if bits[person] {
					exact++
				}
			}
		}
		answers.Set(q, 0, exact)
		var err error
		if sums[q], err = ones(bits, subset); err != nil {
			return err
		}
	}
	for level := range ratios {
		if err := r.ask(level, sums, answers); err != nil {
			return err
		}
	}
	var decoded mat.Dense
	if err := decoded.Solve(questions, answers); err != nil {
		return fmt.Errorf("attack: the questions do not tell all people apart (%w), expected more of them than %d", err, r.Queries)
	}
	for level := range ratios {
		for person, one := range bits {
			if (decoded.At(person, level) > 0.5) == one {
				right[level]++
			}
		}
	}
	return nil
}

// ask writes the noisy answers to all questions into the column of answers for one level of noise,
// an index of ratios, but none without noise. It fills in all but Recovered in that level's row.
func (r *Reconstruction) ask(level int, sums []*answer.Sums, answers *mat.Dense) error {
	row := &r.Rows[level]
	*row = Found{Ratio: ratios[level], Allowed: 1, Expected: 1}
	if row.Ratio == 0 {
		return nil
	}
	deviation := row.Ratio * math.Sqrt(float64(r.People))
	d := newDesk(r.Noise, r.Noise.ofDeviation(deviation))
	for q, s := range sums {
		noisy, err := d.count(s, nil)
		if err != nil {
			return err
		}
		answers.Set(q, level, noisy)
	}
	var err error
	row.Allowed, row.Epsilon, err = allowed(d.journal.Ledger())
	row.Delta, row.Expected = delta, r.expected(deviation)
	return err
}

// expected returns about the share of bits that least squares find. The error of one bit is normal
// with variance 4·deviation²/(queries - people), because half of the people are in a subset, and
// the bits use up as many dimensions as there are people.
func (r *Reconstruction) expected(deviation float64) float64 {
	error := 2 * deviation / math.Sqrt(float64(r.Queries-r.People)+1)
	return (1 + math.Erf(0.5/error/math.Sqrt2)) / 2
}

// Chart draws the share of people whose bit is found against the noise.
func (r *Reconstruction) Chart() chart.Chart {
	found, best := chart.Line{Name: "found", Style: chart.Marked}, chart.Line{Name: "most allowed", Style: chart.Dashed}
	for _, row := range r.Rows {
		if row.Ratio > mostDrawn {
			continue
		}
		found.Points = append(found.Points, chart.Point{X: row.Ratio, Y: 100 * row.Recovered.Accuracy})
		best.Points = append(best.Points, chart.Point{X: row.Ratio, Y: 100 * row.Allowed})
	}
	return chart.Chart{
		Title: "Reconstruction: people whose bit is found", X: "standard deviation of the noise / √people", Y: "found, %", Tight: true,
		Subtitle: fmt.Sprintf("%s noise on %d answers about %d people; 50 %% are found by guessing", r.Noise, r.Queries, r.People),
		Lines:    []chart.Line{found, best},
	}
}
