package score_test

import (
	"fmt"
	"math"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/score"
)

func Example() {
	m := score.New([]string{"cat", "dog"})
	for range 9 {
		m.Add(0, 0)
	}
	m.Add(0, 1)
	m.Add(1, 1)
	for _, c := range m.ByClass() {
		fmt.Printf("%s %.2f, 95 %% interval %.3f to %.3f\n", c.Name, c.Accuracy, c.Low, c.High)
	}
	fmt.Printf("all %.4f\n", score.NewShare(10, 11).Accuracy)
	// Output:
	// cat 0.90, 95 % interval 0.596 to 0.982
	// dog 1.00, 95 % interval 0.207 to 1.000
	// all 0.9091
}

// Values by scipy.stats.binomtest(k, n).proportion_ci(method="wilson") of SciPy.
func TestWilson(t *testing.T) {
	for _, test := range []struct {
		correct, examples, low, high float64
	}{
		{0, 10, 0, 0.27753279986288926},
		{9, 10, 0.5958499732047615, 0.9821237869049271},
		{812, 1000, 0.7866068125887821, 0.8350052901162314},
		{10, 10, 0.7224672001371106, 1},
		{0, 0, 0, 1},
	} {
		low, high := score.Wilson(test.correct, test.examples)
		if !(math.Abs(low-test.low) <= 1e-12) || !(math.Abs(high-test.high) <= 1e-12) {
			t.Errorf("%v of %v: found %v to %v, expected %v to %v", test.correct, test.examples, low, high, test.low, test.high)
		}
	}
}

// The worked example of Newcombe 1998, Table II (a): 56 of 70 and 48 of 80.
func TestDifference(t *testing.T) {
	a, b := score.NewShare(56, 70), score.NewShare(48, 80)
	difference, low, high := score.Difference(a, b)
	if !(math.Abs(difference-0.2) <= 1e-12) || !(math.Abs(low-0.0524) <= 5e-5) || !(math.Abs(high-0.3339) <= 5e-5) {
		t.Errorf("found %v from %v to %v, expected 0.2 from 0.0524 to 0.3339", difference, low, high)
	}
	if d, l, h := score.Difference(b, a); d != -difference || l != -high || h != -low {
		t.Errorf("the other way round: found %v from %v to %v", d, l, h)
	}
}

// Of two classes the AUROC is one number, and its interval that of Hanley and McNeil. What is right
// of all examples is uncertain all the same, and of one class alone there is no measure. Labels of
// one example may be right together.
func TestIntervalsOfMeasures(t *testing.T) {
	two := score.Examine(data.Labels, []string{"a", "b"}, 1)
	two.Add(0, []float32{1, 0}, []float32{1, -1}, 0)
	two.Close()
	measured := func(labels []int, scores ...float32) []score.Measure {
		e := score.Examine(data.Class, []string{"a", "b"}, len(labels))
		for i, label := range labels {
			e.Add(label, nil, []float32{0, scores[i]}, 0)
		}
		e.Measure()
		return e.Measures
	}
	m := measured([]int{0, 0, 0, 1, 1, 1}, -2, -1, 1, 2, 1.5, -1.5)[2]
	all, one := measured([]int{0, 1}, -1, 1), measured([]int{1}, 1)
	if !(math.Abs(m.Value-7.0/9) <= 1e-12) || !(math.Abs(m.Low-0.3107) <= 1e-4) || all[0].Low > 0.9 || all[1].Low > 0.9 || all[2].Low > 0.9 || one != nil || two.Total().Low != score.NewShare(1, 1).Low {
		t.Errorf("found %v, %v, %v and %v", m, all, one, two.Total())
	}
}
