package configs_test

import (
	"fmt"
	"math"
	"testing"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/setting"
)

// soft scales every gradient of norm n by C/(C^p + n^p)^(1/p): a bound without an edge.
type soft struct{ clipNorm, hardness float64 }

var softKind = setting.Kind[clip.Scheme]{Name: "soft", New: func() clip.Scheme { return &soft{hardness: 2} }}

func (soft) Name() string { return "soft" }

func (s *soft) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "hardness", Also: []string{"sharpness"}, Doc: "How sharp the bend at the clip norm is.",
		Format: setting.Number{Min: 1, Max: 10}, Value: &s.hardness}}
}

func (s soft) WithBound(clipNorm float64) clip.Policy { return soft{clipNorm, s.hardness} }

func (s soft) Factors(dst []float32, squaredNorms []float64) {
	for i, square := range squaredNorms {
		factor := s.clipNorm * (1 - 0x1p-12) / math.Pow(math.Pow(s.clipNorm, s.hardness)+math.Pow(math.Sqrt(square), s.hardness), 1/s.hardness)
		if dst[i] = float32(factor); math.IsNaN(factor) {
			dst[i] = 0
		}
	}
}

func (s soft) Bound() float64 { return s.clipNorm }
func (s soft) String() string { return fmt.Sprintf("soft: bent to below C = %v", s.clipNorm) }

func TestANewClippingPolicy(t *testing.T) {
	configs.AddPolicy(t, softKind)
	documented(t, "soft", "How sharp the bend at the clip norm is. Only with privacy.clipping soft.")
	for override, want := range map[string]string{
		"privacy.hardness=3":             "--set privacy.hardness: found without effect, expected it only with privacy.clipping soft",
		"privacy.clipping=sofd":          "--set privacy.clipping: found sofd, expected one of {privacy.clipping} (did you mean soft?)",
		"privacy.stability_constant=0.1": "--set privacy.stability_constant: found without effect, expected it only with privacy.clipping automatic",
	} {
		refused(t, "", want, override)
	}

	c := extended(t, "privacy.clipping=soft", "privacy.hardness=4", "privacy.clip_norm=0.25")
	policy, err := clip.New(c.Privacy.Clipping, c.Privacy.ClipNorm)
	if err != nil || policy != (soft{0.25, 4}) {
		t.Errorf("the policy is %+v, %v", policy, err)
	}
	if before, after, _ := trained(t, c); before[0] == after[0] {
		t.Error("training changed nothing")
	}
}
