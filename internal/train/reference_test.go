package train

import (
	"fmt"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/tiny"
)

// The reference of configurations says how much noise the presets need by each accountant.
func TestReferenceOfAccountants(t *testing.T) {
	reference := tiny.Read(t, "../../configs/reference.md")
	for name, n := range map[string]int{"digits": 20000, "mnist-cnn": 60000, "fashion-cnn": 60000, "cifar-cnn": 50000} {
		plan := func(accountant string, overrides ...string) *RunPlan {
			return tiny.Must(NewPlan(loadPreset(t, name, append(overrides, "privacy.accountant="+accountant)...), n))(t)
		}
		rdp, exact := plan("rdp"), plan("exact")
		same := tiny.Must(plan("exact", fmt.Sprintf("privacy.noise_multiplier=%v", rdp.NoiseMultiplier())).After(rdp.Steps))(t)
		steps := fmt.Sprint(rdp.Steps)
		if len(steps) > 3 {
			steps = steps[:len(steps)-3] + "," + steps[len(steps)-3:]
		}
		want := fmt.Sprintf("| %s | %s | %s | %s | %s |", name, steps, accountant.RoundUp(rdp.NoiseMultiplier(), 4),
			accountant.RoundUp(exact.NoiseMultiplier(), 4), accountant.RoundUp(same.Epsilon, 3))
		if !strings.Contains(reference, want) {
			t.Errorf("the reference does not say %s", want)
		}
	}
}
