package clip

import (
	"fmt"

	"dpsgd/internal/setting"
)

// Stepping is a [Moving] policy whose clip norm is a function of the step.
type Stepping interface {
	Moving
	// At is the clip norm of a step, counted from 0.
	At(step int) float64
	// Begin prepares the next release for a step.
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

// scheduledLayers is one that clips layers by themselves, to their shares of c.
type scheduledLayers struct{ *scheduled }

var (
	_ Stepping = (*scheduled)(nil)
	_ Layered  = scheduledLayers{}
)

// NewScheduled returns the policy of a scheme whose clip norm follows a schedule over so many
// steps, from clipNorm, which is its bound in all of them. Unless the schedule is constant the
// policy is [Stepping]. The scheme is [Flat] or [PerLayer]: where a policy lengthens gradients a
// clip norm would only be a learning rate, and [Adaptive] moves it by itself. It fails where [New]
// fails.
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

func (s *scheduled) Unit() float64 { return s.now.Bound() / s.bound }

func (s *scheduled) Bound() float64 { return s.bound }

func (s *scheduled) Name() string { return s.scheme.Name() }

func (s *scheduled) String() string {
	layers := ""
	if _, ok := s.now.(Layered); ok {
		layers = " each of L layers, weight and bias together, is clipped to c/√L;"
	}
	return fmt.Sprintf("%s:%s the clip norm c is %v in the first step, %v in the last of %d, %s between them; contributions are clipped to c and multiplied by C/c, "+
		"which is undone after the noise; %s", s.Name(), layers, s.At(0), s.At(s.steps-1), s.steps, s.schedule.Name(), whatIsBounded(s.bound))
}
