package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dpsgd/data"

	"gonum.org/v1/gonum/stat"
)

// Measure is one number about predictions of test examples, with a 95 % confidence interval.
type Measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Interval returns the interval for people, or that one example has none.
func (m Measure) Interval() string {
	if m.High >= math.MaxFloat64/2 {
		return "none of one example"
	}
	return fmt.Sprintf("%.4g to %.4g", m.Low, m.High)
}

// outcome is what a model says of one example: a score for each class or label, or a number, and
// what is right.
type outcome struct {
	outputs, targets []float32
	label            int
}

// truth reports whether an example is of a class, or has a label.
func (o outcome) truth(name int) bool {
	if o.targets != nil {
		return o.targets[name] > 0
	}
	return o.label == name
}

// measuresOf returns the measures of a task: of classes and labels the means over them of the
// accuracy on both sides, F1 and AUROC; of numbers the mean absolute and squared error.
func measuresOf(task data.Task, outcomes []outcome, confusion [][4]int) []Measure {
	if task == data.Number {
		return []Measure{
			meanOf("mean_absolute_error", outcomes, math.Abs),
			meanOf("mean_squared_error", outcomes, func(d float64) float64 { return d * d }),
		}
	}
	var balanced, f1, auroc moments // sums
	count := 0.0                    // of classes or labels of which there are examples with and without
	for name, right := range confusion {
		if right[0]+right[1] == 0 || right[2]+right[3] == 0 {
			continue
		}
		count++
		balanced.add(ofClass(task, right))
		f1.add(f1Of(right))
		auroc.add(aurocOf(outcomes, name))
	}
	if count == 0 {
		return nil
	}
	alone, both, pairs := 1.0, 2.0, count/(count-1) // an error is of two classes; pairs as draws show
	if task == data.Labels {
		alone, both, pairs = count, count, count // the errors of all labels may come together
	}
	return []Measure{balanced.mean("balanced_accuracy", count, alone), f1.mean("f1", count, both), auroc.mean("auroc", count, pairs)}
}

// counts returns for each class or label how many examples that have it were found and missed, and
// how many others were left and taken for it.
func counts(task data.Task, outcomes []outcome, names int) [][4]int {
	all := make([][4]int, names)
	for _, o := range outcomes {
		best := Largest(o.outputs)
		for name := range names {
			said, place := best == name, 0
			if task == data.Labels {
				said = o.outputs[name] > 0
			}
			if !o.truth(name) {
				place += 2
			}
			if said != o.truth(name) {
				place++
			}
			all[name][place]++
		}
	}
	return all
}

// Largest returns the index of the largest value, the first of equal ones.
func Largest(values []float32) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// moments are a mean and the variance of its error.
type moments struct{ value, variance float64 }

// add adds those of an independent number.
func (m *moments) add(of moments) { m.value, m.variance = m.value+of.value, m.variance+of.variance }

// mean returns the mean over so many classes of a sum over them, with the normal interval of a sum of
// which an example moves so many parts: the square of their sum is at most that many times the sum of
// their squares.
func (m moments) mean(name string, count, shared float64) Measure {
	mean, half := m.value/count, Normal975*math.Sqrt(shared*m.variance)/count
	return Measure{name, mean, max(0, mean-half), min(1, mean+half)}
}

// ofClass returns the share of a class that is found; of a label, the mean of the shares of those
// with and without it that are told apart.
func ofClass(task data.Task, right [4]int) moments {
	found := share(right[0], right[1])
	if task == data.Class {
		return found
	}
	left := share(right[2], right[3])
	return moments{(found.value + left.value) / 2, (found.variance + left.variance) / 4}
}

// share returns a share with the variance of one that has an example more on either side, so that it
// is above 0 where none is wrong (Agresti and Caffo 2000, The American Statistician 54).
func share(right, wrong int) moments {
	n, p := float64(right+wrong), float64(right+1)/float64(right+wrong+2)
	return moments{float64(right) / n, p * (1 - p) / (n + 2)}
}

// f1Of returns 2·found/(2·found + missed + taken), with the variance of a share of so many, F*/(2-F*)
// of which is Jaccard's (delta method).
func f1Of(right [4]int) moments {
	union := right[0] + right[1] + right[3]
	j := share(right[0], union-right[0])
	slope := 2 / ((1 + j.value) * (1 + j.value))
	return moments{2 * j.value / (1 + j.value), slope * slope * j.variance}
}

// aurocOf returns the chance that an example with the label has a higher score than one without,
// equal ones counting half (Mann and Whitney), with the variance of Hanley and McNeil 1982,
// Radiology 143, equation 2.
func aurocOf(outcomes []outcome, name int) moments {
	order := make([]int, len(outcomes))
	scores := make([]float64, len(outcomes))
	for i, o := range outcomes {
		if order[i], scores[i] = i, Margin(o.outputs, name); o.targets != nil { // each label is by itself
			scores[i] = float64(o.outputs[name])
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	ranks, positive := 0.0, 0.0
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && scores[order[to]] == scores[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			if outcomes[i].truth(name) {
				ranks += float64(from+to+1) / 2
				positive++
			}
		}
		from = to
	}
	negative := float64(len(order)) - positive
	found := (ranks - positive*(positive+1)/2) / (positive * negative)
	fewer := min(positive, negative)
	a := (found*fewer + 1) / (fewer + 2) // as in share
	q1, q2 := a/(2-a), 2*a*a/(1+a)
	return moments{found, (a*(1-a) + (positive-1)*(q1-a*a) + (negative-1)*(q2-a*a)) / (positive * negative)}
}

// Margin measures how sure a model is of an example's class: the logarithm of p/(1-p), where p is
// the probability of that class. It orders examples as their losses do (Yeom, Giacomelli,
// Fredrikson, Jha 2018, arXiv:1709.01604), and does not saturate where p rounds to 1.
func Margin(logits []float32, label int) float64 {
	most := math.Inf(-1)
	for class, l := range logits {
		if class != label {
			most = max(most, float64(l))
		}
	}
	var others float64
	for class, l := range logits {
		if class != label {
			others += math.Exp(float64(l) - most)
		}
	}
	return float64(logits[label]) - most - math.Log(others)
}

// meanOf returns the mean of a function of the errors, with its normal interval.
func meanOf(name string, outcomes []outcome, of func(float64) float64) Measure {
	values := make([]float64, len(outcomes))
	for i, o := range outcomes {
		values[i] = of(float64(o.outputs[0]) - float64(o.targets[0]))
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	half := Normal975 * deviation / math.Sqrt(float64(len(values)))
	if len(values) < 2 {
		half = math.MaxFloat64 / 2 // unknown
	}
	return Measure{name, mean, max(0, mean-half), mean + half}
}
