package folder

import (
	"slices"
	"strings"
	"testing"
)

const written = `data:
  name: digits
privacy:
  clip_norm: 0.1
model:
  layers:
    - flatten
    - linear: {out_features: classes}
optimizer:
  schedule:
    name: constant
steps 100
noise_multiplier 0.75
`

// Keys are those of the configuration, with their sections; then the words, with what follows them.
func TestOf(t *testing.T) {
	var found []string
	for _, p := range Keys(written) {
		if p.Value != "" {
			found = append(found, p.Key+" = "+p.Value)
		}
	}
	want := []string{"data.name = digits", "privacy.clip_norm = 0.1", "model.layers = flatten linear: {out_features: classes}", "optimizer.schedule.name = constant", "steps = 100", "noise_multiplier = 0.75"}
	if !slices.Equal(found, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// A difference is told once, by its key where it has one: what follows from a key is not told beside it.
func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     []string
	}{
		{"", "", nil},
		{"clip_norm: 0.1", "clip_norm: 0.2", []string{"privacy.clip_norm 0.1, found 0.2"}},
		{"steps 100", "steps 90", []string{"steps 100, found 90"}},
		{"  name: digits", "  name: mnist", []string{"data.name digits, found mnist"}},
		{"clip_norm: 0.1", "accountant: rdp", []string{"privacy.clip_norm 0.1, found none", "privacy.accountant none, found rdp"}},
	} {
		now := strings.Replace(written, tt.old, tt.new, 1)
		if strings.HasPrefix(tt.old, "clip") {
			now = strings.Replace(now, "steps 100", "steps 99", 1) // follows from the key
		}
		if found := Differences(written, now); !slices.Equal(found, tt.want) {
			t.Errorf("%s → %s: found %q, expected %q", tt.old, tt.new, found, tt.want)
		}
	}
}
