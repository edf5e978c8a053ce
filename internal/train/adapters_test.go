package train

import (
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// A run with adapters trains their factors and the head, and releases, counts and claims nothing
// else, also where it was stopped and went on.
func TestTrainingAdapters(t *testing.T) {
	overrides := []string{tiny.Convolutional, "model.lora.rank=2", "model.lora.alpha=3"}
	const trained = 2*144 + 8*2 + 8*3 + 3
	before := prepared(t, overrides...).Model.Export()
	o := options(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, overrides...), o), 4)
	r := open(t, stopped.Run, o)
	if sum := clippedSum(t, r, []int{0, 1, 2}); len(r.Model.Values) != trained || len(sum) != trained {
		t.Errorf("%d values are trained and a sum has %d coordinates, expected %d", len(r.Model.Values), len(sum), trained)
	}
	result := fit(t, r)
	for i, tensor := range modelOf(t, result.Run) {
		changes := strings.HasPrefix(tensor.Name, "7.") || strings.HasPrefix(tensor.Name, "5.lora_")
		if tensor.Name != before[i].Name || slices.Equal(tensor.Data, before[i].Data) == changes {
			t.Errorf("%s: changed by training is %v, expected %v", tensor.Name, !changes, changes)
		}
	}
	measured(t, result, o)
	s := tiny.Must(statement.Read(result.Run))(t)
	if s.NoiseValues != 12*trained || s.FrozenValues != 336+144*8+8 {
		t.Errorf("the statement has %d noise values and %d frozen ones", s.NoiseValues, s.FrozenValues)
	}
	tiny.Says(t, result.Run, "released for them | 1496; trained alone: low-rank factors (LoRA, rank 2, alpha 3) beside the weights of all linear and attention layers but the head; and head |")
}

// The event of a step is the same whatever is trained: the released vector is shorter.
func TestEventIsThatOfAll(t *testing.T) {
	all, few := prepared(t, tiny.Convolutional), prepared(t, tiny.Convolutional, "model.train_only=[biases, norms]")
	of := func(r *Run) string { return string(tiny.Must(tiny.Must(r.Planned())(t).MarshalJSON())(t)) }
	if of(all) != of(few) || len(few.Model.Values) != 4+4+4+2*144+8+3 {
		t.Errorf("%d values are trained by %s, expected 311 by %s", len(few.Model.Values), of(few), of(all))
	}
}
