package score

import "math"

// Matrix counts the predictions of a model by the class of the example.
type Matrix struct {
	Names  []string // of the classes
	Counts [][]int  // Counts[label][predicted]: square, with a row and a column for each class
}

// Share is how many examples were predicted right, of how many, with a confidence interval.
type Share struct {
	Examples int     `json:"examples"`
	Correct  int     `json:"correct"`
	Accuracy float64 `json:"accuracy"` // Correct / Examples; 0 without examples
	Low      float64 `json:"low"`      // of the interval; see [Wilson]
	High     float64 `json:"high"`
}

// Class is the share of one class.
type Class struct {
	Name string `json:"class"`
	Share
}

// New is a matrix of these classes without predictions.
func New(names []string) *Matrix {
	m := &Matrix{Names: names, Counts: make([][]int, len(names))}
	for i := range m.Counts {
		m.Counts[i] = make([]int, len(names))
	}
	return m
}

// Add counts one prediction. Both classes are indices into the names.
func (m *Matrix) Add(label, predicted int) { m.Counts[label][predicted]++ }

// Total is the share over all classes.
func (m *Matrix) Total() Share {
	correct, examples := 0, 0
	for _, c := range m.ByClass() {
		correct, examples = correct+c.Correct, examples+c.Examples
	}
	return NewShare(correct, examples)
}

// ByClass is the share of each class, in their order.
func (m *Matrix) ByClass() []Class {
	classes := make([]Class, len(m.Counts))
	for label, row := range m.Counts {
		examples := 0
		for _, n := range row {
			examples += n
		}
		classes[label] = Class{m.Names[label], NewShare(row[label], examples)}
	}
	return classes
}

// NewShare is a share with its interval.
func NewShare(correct, examples int) Share {
	s := Share{Examples: examples, Correct: correct}
	if examples > 0 {
		s.Accuracy = float64(correct) / float64(examples)
	}
	s.Low, s.High = Wilson(correct, examples)
	return s
}

// normal975 is the 97.5 % quantile of the standard normal distribution.
const normal975 = 1.959963984540054

// Wilson is the 95 % score interval of a share of independent examples (Wilson 1927, "Probable
// inference, the law of succession, and statistical inference", JASA 22, equation 9, as Brown, Cai
// and DasGupta 2001 recommend it, Statistical Science 16, equation 4). It is [0, 1] without examples.
func Wilson(correct, examples int) (low, high float64) {
	if examples == 0 {
		return 0, 1
	}
	n, p, z := float64(examples), float64(correct)/float64(examples), normal975
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
}

// Difference is how much larger one share is than another of other examples, with its 95 % interval
// (Newcombe 1998, "Interval estimation for the difference between independent proportions", Statistics
// in Medicine 17, method 10). Where both shares are of the same examples it is wider than it had to be.
func Difference(a, b Share) (difference, low, high float64) {
	difference = a.Accuracy - b.Accuracy
	low = difference - math.Hypot(a.Accuracy-a.Low, b.High-b.Accuracy)
	high = difference + math.Hypot(a.High-a.Accuracy, b.Accuracy-b.Low)
	return difference, low, high
}
