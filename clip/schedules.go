package clip

import (
	"fmt"
	"math"

	"dpsgd/internal/setting"
)

// Schedule says how the clip norm changes over the steps of a run: a public function of the step
// alone. A schedule that can be configured lists its arguments ([setting.Arguments]).
type Schedule interface {
	// Name returns the schedule's name in configs.
	Name() string
	// Factor returns the clip norm of a step, counted from 0, divided by that of step 0: positive,
	// and 1 for step 0. Steps after the last have the factor of the last.
	Factor(step, steps int) float64
}

// Schedules returns every clip schedule that a configuration can name: to add one, write it and add
// its kind here. LinearNorm and CosineNorm share the argument for their end.
func Schedules() setting.Kinds[Schedule] {
	return setting.Kinds[Schedule]{
		setting.KindOf(func() Schedule { return &ConstantNorm{} }),
		setting.KindOf(func() Schedule { return &LinearNorm{FinalFactor: 0.5} }),
		setting.KindOf(func() Schedule { return &CosineNorm{FinalFactor: 0.5} }),
	}
}

// ConstantNorm is the schedule that has the same clip norm in every step.
type ConstantNorm struct{}

func (ConstantNorm) Name() string            { return "constant" }
func (ConstantNorm) Factor(int, int) float64 { return 1 }

// LinearNorm moves the clip norm on a straight line from its value in the first step to FinalFactor
// times that in the last. A run of one step has the first value.
type LinearNorm struct {
	FinalFactor float64 // positive
}

func (LinearNorm) Name() string { return "linear" }

func (s *LinearNorm) Arguments() []setting.Argument {
	return []setting.Argument{finalFactor(&s.FinalFactor)}
}

func (s LinearNorm) Factor(step, steps int) float64 {
	return 1 + (s.FinalFactor-1)*progress(step, steps)
}

// CosineNorm moves the clip norm as LinearNorm does, but on half a period of a cosine.
type CosineNorm struct {
	FinalFactor float64 // positive
}

func (CosineNorm) Name() string { return "cosine" }

func (s *CosineNorm) Arguments() []setting.Argument {
	return []setting.Argument{finalFactor(&s.FinalFactor)}
}

func (s CosineNorm) Factor(step, steps int) float64 {
	return s.FinalFactor + (1-s.FinalFactor)*(1+math.Cos(math.Pi*progress(step, steps)))/2
}

// progress returns 0 for the first step, 1 for the last and later ones, in equal steps; 0 if steps
// is 1.
func progress(step, steps int) float64 { return float64(min(step, steps-1)) / float64(max(1, steps-1)) }

func finalFactor(value *float64) setting.Argument {
	return setting.Argument{Name: "clip_final_factor", Doc: "The last clip norm divided by the first.",
		Format: setting.Number{Min: 0.01, Max: 100}, Value: value}
}

// Moving is a policy whose clip norm c changes from release to release, while the bound C on what
// one example adds stays, and with it lattice, noise and event of every release: a gradient is
// clipped to c, then multiplied so that one of norm c has in the sum the norm C, or a fixed share
// of C. The noisy sum is multiplied back, which is post-processing. So noise of deviation
// σ·C on the sum is noise of σ·C·Unit, near σ·c, on gradients.
type Moving interface {
	Policy
	// ClipNorm returns c for the next release: public, from MinClipNorm to MaxClipNorm.
	ClipNorm() float64
	// Unit returns the factor by which the noisy sum of the next release is multiplied back.
	Unit() float64
}

// withinLimits returns the allowed clip norm nearest to c.
func withinLimits(c float64) float64 { return min(max(c, MinClipNorm), MaxClipNorm) }

// Stepping is a [Moving] policy whose clip norm is a function of the step.
type Stepping interface {
	Moving
	// At returns the clip norm of a step, counted from 0.
	At(step int) float64
	// Begin sets the clip norm of the next release to that of a step.
	Begin(step int)
}

// scheduled is a policy whose clip norm c follows a schedule while its bound C stays: gradients are
// clipped to c as the scheme does, and then multiplied by C/c. The noise, of deviation σ·C on the
// sum, is σ·c on the sum of clipped gradients.
type scheduled struct {
	scheme   Scheme
	schedule Schedule
	bound    float64 // C, and the clip norm of step 0
	steps    int
	now      Policy // with the clip norm of the step
}

// scheduledLayers is the scheduled policy of [PerLayer]: each layer is clipped to its share of c.
type scheduledLayers struct{ *scheduled }

var (
	_ Stepping = (*scheduled)(nil)
	_ Layered  = scheduledLayers{}
)

// NewScheduled returns the policy of a scheme whose clip norm follows a schedule over so many
// steps, from clipNorm, which is its bound in all of them. Unless the schedule is constant the
// policy is [Stepping]. It fails where [New] fails, for an invalid schedule, and for one that
// varies with a scheme other than [Flat] or [PerLayer]: with [Automatic] or [Normalised] the clip
// norm would only be a learning rate, and [Adaptive] moves its own.
func NewScheduled(s Scheme, clipNorm float64, schedule Schedule, steps int) (Policy, error) {
	policy, err := New(s, clipNorm)
	if err != nil {
		return nil, err
	}
	if _, constant := schedule.(*ConstantNorm); constant {
		return policy, nil
	}
	if err := setting.Check("the clip schedule "+schedule.Name(), schedule); err != nil {
		return nil, fmt.Errorf("clip: %w: %w", err, ErrPolicy)
	}
	moving := &scheduled{scheme: s, schedule: schedule, bound: clipNorm, steps: steps, now: policy}
	switch policy.(type) {
	case Flat:
		return moving, nil
	case PerLayer:
		return scheduledLayers{moving}, nil
	}
	return nil, fmt.Errorf("clip: found the clip schedule %s with %s clipping, expected it with flat or per_layer: %w", schedule.Name(), s.Name(), ErrPolicy)
}

func (s *scheduled) At(step int) float64 {
	return withinLimits(s.bound * s.schedule.Factor(step, s.steps))
}

func (s *scheduled) Begin(step int) { s.now = s.scheme.WithBound(s.At(step)) }

func (s *scheduled) Factors(dst []float32, squaredNorms []float64) {
	s.now.Factors(dst, squaredNorms)
	stretch := s.bound / s.now.Bound()
	for i, factor := range dst {
		dst[i] = towardZero(float64(factor) * stretch)
	}
}

func (s scheduledLayers) LayerFactors(dst []float32, squaredNorms []float64, layers int) {
	s.now.(Layered).LayerFactors(dst, squaredNorms, layers)
}

func (s *scheduled) ClipNorm() float64 { return s.now.Bound() }
func (s *scheduled) Unit() float64     { return s.now.Bound() / s.bound }
func (s *scheduled) Bound() float64    { return s.bound }
func (s *scheduled) Name() string      { return s.scheme.Name() }

func (s *scheduled) String() string {
	layers := ""
	if _, ok := s.now.(Layered); ok {
		layers = " each of L layers, weight and bias together, is clipped to c/√L;"
	}
	return fmt.Sprintf("%s:%s the clip norm c is %v in the first step, %v in the last of %d, %s between them; contributions are clipped to c and multiplied by C/c, "+
		"which is undone after the noise; %s", s.Name(), layers, s.At(0), s.At(s.steps-1), s.steps, s.schedule.Name(), whatIsBounded(s.bound))
}
