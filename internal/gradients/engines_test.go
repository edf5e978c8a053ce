package gradients

import (
	"testing"

	"dpsgd/perexample"
)

// Kept engines are those of one network, physical batch size and performance.engine; for any other
// they are chosen again.
func TestChoiceIsForOneGraph(t *testing.T) {
	rule := perexample.DenseWeight{In: 2, Out: 3}
	uses := []perexample.Use{{Parameter: "weight", Rule: rule}}
	kept := Choice{"auto", 8, []ruleEngine{{Assignment{"weight", perexample.Materialise}, describeRule(rule)}}}
	if engines, ok := kept.engines(uses, 8, "auto"); !ok || len(engines) != 1 || engines[0] != perexample.Materialise {
		t.Fatalf("found the engines %v, %v; expected those that were kept", engines, ok)
	}
	other := func(change func(u *perexample.Use)) []perexample.Use {
		changed := uses[0]
		change(&changed)
		return []perexample.Use{changed}
	}
	for name, of := range map[string]struct {
		uses    []perexample.Use
		batch   int
		setting string
	}{
		"physical batch size": {uses, 16, "auto"},
		"performance.engine":  {uses, 8, "ghost"},
		"parameter":           {other(func(u *perexample.Use) { u.Parameter = "bias" }), 8, "auto"},
		"shape of a layer":    {other(func(u *perexample.Use) { u.Rule = perexample.DenseWeight{In: 3, Out: 2} }), 8, "auto"},
		"kind of a layer":     {other(func(u *perexample.Use) { u.Rule = perexample.Bias{Positions: 2, Channels: 3} }), 8, "auto"},
		"number of layers":    {append(uses[:1:1], uses[0]), 8, "auto"},
		"no layer":            {nil, 8, "auto"},
	} {
		if engines, ok := kept.engines(of.uses, of.batch, of.setting); ok {
			t.Errorf("another %s gets the kept engines %v, expected a new choice", name, engines)
		}
	}
}
