package configs_test

import (
	"slices"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/setting"
	"dpsgd/optimizer"
)

// harmonic falls as 1/(1 + n/half).
type harmonic struct{ half int }

var harmonicKind = setting.Kind[optimizer.Curve]{Name: "harmonic", New: func() optimizer.Curve { return &harmonic{half: 100} }}

func (*harmonic) Name() string { return "harmonic" }

func (h *harmonic) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "half", Doc: "Steps until the learning rate is halved.", Format: setting.Integer{Min: 1, Max: 1e6}, Value: &h.half}}
}

func (h *harmonic) Factor(n, _ int) float64 { return 1 / (1 + float64(n)/float64(h.half)) }

func TestANewSchedule(t *testing.T) {
	configs.AddCurve(t, harmonicKind)
	documented(t, "harmonic", "Steps until the learning rate is halved. Only with optimizer.schedule.name harmonic.")
	refused(t, "optimizer: {schedule: {name: harmonic, half: 0}}",
		"new.yaml:3:46: optimizer.schedule.half: found 0, expected a whole number from 1 to 1000000")
	refused(t, "optimizer: {schedule: {name: harmonc}}",
		"new.yaml:3:30: optimizer.schedule.name: found harmonc, expected one of {optimizer.schedule.name} (did you mean harmonic?)")

	c := extended(t, "optimizer.schedule.name=harmonic", "optimizer.schedule.half=1", "optimizer.learning_rate=6", "optimizer.schedule.warmup_steps=2")
	_, _, rates := trained(t, c)
	if want := []float64{3, 6, 6, 3}; !slices.Equal(rates, want) {
		t.Errorf("the learning rates are %v, expected %v", rates, want)
	}
}
