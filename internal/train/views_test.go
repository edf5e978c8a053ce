package train

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// views are overrides for every word of an augmentation.
var views = []string{tiny.Convolutional, "training.augmentation.views=3", "training.augmentation.flip=true", "training.augmentation.shift=2"}

// A run with views ends, says so in its statement, and costs what it costs without; a run without
// them says nothing about views.
func TestStatementTellsOfViews(t *testing.T) {
	const want = "3 views of each example, whose gradients are averaged before they are clipped, mirrored left and right with probability 1/2, moved by 0 to 2 pixels up or down and left or right"
	with, without := train(t, options(t), views...), train(t, options(t), tiny.Convolutional)
	for _, name := range []string{folder.Statement, folder.StatementData} {
		if text := tiny.Read(t, filepath.Join(with.Run, name)); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", name, want, text)
		}
		if text := tiny.Read(t, filepath.Join(without.Run, name)); strings.Contains(strings.ToLower(text), "views") || strings.Contains(text, "augmentation") {
			t.Errorf("%s speaks of views where there are none:\n%s", name, text)
		}
	}
	if with.Steps != 12 || with.Epsilon != without.Epsilon {
		t.Errorf("found %d steps and ε = %v, expected 12 and %v as without views", with.Steps, with.Epsilon, without.Epsilon)
	}
}

// Every step sees other views: of all examples, and with parameters that do not move, the clipped
// sums of steps differ, and do not where there are no views.
func TestStepsOfARunSeeOtherViews(t *testing.T) {
	for _, flip := range []bool{true, false} {
		overrides := []string{"training.sampling=full", "optimizer.name=sgd", "optimizer.learning_rate=1e-30"}
		if flip {
			overrides = append(overrides, "training.augmentation.flip=true")
		}
		o, warned := options(t), ""
		o.Warned = func(message string) { warned = message }
		r := create(t, tiny.Parse(t, overrides...), o)
		m := &tape{Mechanism: r.plan.Mechanism}
		r.plan.Mechanism = m
		tiny.Check(t, r.openDoor())
		tiny.Must(r.Fit(context.Background()))(t)
		if r.Close(); !strings.Contains(warned, "is optimizer.learning_rate far too small?") {
			t.Errorf("found the warning %q, expected one that says that nothing changed", warned)
		}
		for step, sum := range m.sums[1:] {
			if slices.Equal(sum, m.sums[step]) == flip {
				t.Errorf("mirror images %v: the sums of steps %d and %d are equal: %v", flip, step, step+1, !flip)
			}
		}
	}
}

// Pictures are predicted as they are, whatever the network sees in training.
func TestEvaluationSeesPicturesAsTheyAre(t *testing.T) {
	with, without := prepared(t, views...), prepared(t, tiny.Convolutional)
	found := tiny.Must(with.Evaluator.Run())(t)
	want, err := without.Evaluator.Run()
	if err != nil || math.Float64bits(found.Loss) != math.Float64bits(want.Loss) {
		t.Errorf("found %+v (%v), expected %+v", found, err, want)
	}
}

// A run with views goes on where it was, and keeps its engines.
func TestRunWithViewsIsResumed(t *testing.T) {
	o := options(t)
	first := interruptAfter(t, create(t, tiny.Parse(t, views...), o), 7)
	engines := tiny.Read(t, filepath.Join(first.Run, folder.Engines))
	if first.Steps != 7 || !strings.Contains(engines, "SummedViews") {
		t.Fatalf("found %d steps, and the rules\n%s", first.Steps, engines)
	}
	last := fit(t, open(t, first.Run, o))
	if last.Steps != 12 || last.LedgerEntries != 12 || tiny.Read(t, filepath.Join(first.Run, folder.Engines)) != engines {
		t.Errorf("found %+v", last)
	}
}
