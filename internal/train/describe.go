package train

import (
	"dpsgd/configs"
	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// Description says what a configuration would do, without reading any data.
type Description struct {
	Data         Outline   `json:"data"`
	Input        []int     `json:"input"` // height, width, channels; or the number of columns
	Layers       []Layer   `json:"layers"`
	Parameters   int       `json:"parameters"`
	MultiplyAdds int       `json:"multiply_adds"` // of the forward pass, per example
	Privacy      Prospect  `json:"privacy"`
	Curve        []Spend   `json:"curve"`
	CurveRDP     []Spend   `json:"curve_rdp,omitempty"` // the same steps by RDP, beside another accountant
	Memory       Memory    `json:"memory"`
	Engines      []Tactics `json:"engines"`
}

// Layer is one row of the table of layers.
type Layer struct {
	Name         string `json:"name"`
	Kind         string `json:"kind"`
	Output       []int  `json:"output"` // shape of one example's output
	Parameters   int    `json:"parameters"`
	MultiplyAdds int    `json:"multiply_adds"`
}

// Prospect is what a plan will guarantee.
type Prospect struct {
	NoiseMultiplier     float64    `json:"noise_multiplier"`
	Calibrated          bool       `json:"calibrated"` // whether the noise multiplier follows from the budget
	ClipNorm            float64    `json:"clip_norm"`
	SamplingProbability float64    `json:"sampling_probability"`
	ExpectedBatchSize   float64    `json:"expected_batch_size"`
	PlannedSteps        int        `json:"planned_steps"`
	Steps               int        `json:"steps"`                 // that the budget allows, at most the planned ones
	Epsilon             float64    `json:"epsilon"`               // after Steps
	EpsilonRDP          *float64   `json:"epsilon_rdp,omitempty"` // the same by RDP, beside another accountant
	TargetEpsilon       float64    `json:"target_epsilon,omitempty"`
	Delta               float64    `json:"delta"`
	Accountant          string     `json:"accountant"`
	Relation            string     `json:"relation"`
	Method              string     `json:"method"`
	Fallbacks           []Fallback `json:"fallbacks,omitempty"`
}

// Spend is one point of the curve of ε over steps.
type Spend struct {
	Steps   int     `json:"steps"`
	Epsilon float64 `json:"epsilon"`
}

// Memory is what training will need, in bytes. The program itself comes on top.
type Memory struct {
	Graph      int `json:"graph"`      // buffers of the training graph for one physical batch
	Parameters int `json:"parameters"` // parameters, their sums and the update rule's memory
	Pictures   int `json:"pictures"`   // or rows
}

// Total is the sum of the parts.
func (m Memory) Total() int { return m.Graph + m.Parameters + m.Pictures }

// Tactics is how the per-example gradients of one parameter are handled.
type Tactics struct {
	Parameter string `json:"parameter"`
	Engine    string `json:"engine"` // ghost or materialise
}

// curvePoints is how many rows the curve of ε has.
const curvePoints = 10

// Describe plans a run and declares its network without touching data. Pictures of a folder are counted by their
// names, records of a table by their ends, or not at all when examples is positive: then there are that many.
func Describe(c *configs.Config, examples int) (*Description, error) {
	o, err := outline(c, examples)
	if err != nil {
		return nil, err
	}
	plan, err := NewPlan(c, o.Examples)
	if err != nil {
		return nil, err
	}
	m, err := newModel(c, o.Shape, o.Classes)
	if err != nil {
		return nil, err
	}
	d := &Description{
		Data: o, Input: o.Shape.Dims(), Parameters: len(m.Values),
	}
	for _, l := range m.Layers() {
		d.Layers = append(d.Layers, Layer(l))
	}
	for _, l := range leaves(d.Layers) {
		d.MultiplyAdds += l.MultiplyAdds
	}
	if err := d.foresee(c, plan); err != nil {
		return nil, err
	}
	return d, d.weigh(c, plan, m, o)
}

// leaves leaves out containers, whose numbers are those of what they hold.
func leaves(layers []Layer) []Layer {
	var out []Layer
	for i, l := range layers {
		holds := i+1 < len(layers) && len(layers[i+1].Name) > len(l.Name) && layers[i+1].Name[:len(l.Name)+1] == l.Name+"."
		if !holds {
			out = append(out, l)
		}
	}
	return out
}

// foresee fills in what the plan costs.
func (d *Description) foresee(c *configs.Config, plan *Plan) error {
	points := min(curvePoints, plan.MaxSteps)
	for i := 1; i <= points; i++ {
		steps := plan.MaxSteps * i / points
		s, err := plan.after(steps)
		if err != nil {
			return err
		}
		d.Curve = append(d.Curve, Spend{steps, s.Epsilon})
		if s.EpsilonRDP != nil {
			d.CurveRDP = append(d.CurveRDP, Spend{steps, *s.EpsilonRDP})
		}
	}
	s, err := plan.after(plan.MaxSteps)
	d.Privacy = Prospect{
		NoiseMultiplier: plan.NoiseMultiplier, Calibrated: c.Privacy.Calibrated(), ClipNorm: plan.Policy.Bound(),
		SamplingProbability: plan.SamplingProbability, ExpectedBatchSize: plan.ExpectedBatchSize,
		PlannedSteps: plan.Steps, Steps: plan.MaxSteps, Delta: plan.Delta, Epsilon: s.Epsilon, EpsilonRDP: s.EpsilonRDP,
		Accountant: s.Accountant, Relation: s.Relation.String(), Method: s.Method, Fallbacks: plan.Fallbacks,
	}
	if plan.Budget != nil {
		d.Privacy.TargetEpsilon = plan.Budget.Epsilon
	}
	return err
}

// after is the guarantee of a number of steps.
func (p *Plan) after(steps int) (Spent, error) {
	l, err := p.Schedule(steps)
	if err != nil {
		return Spent{}, err
	}
	return p.Spent(l)
}

// weigh declares the training graph to see what it needs.
func (d *Description) weigh(c *configs.Config, plan *Plan, m *model.Model, o Outline) error {
	pool := kernel.NewPool(threads(c))
	defer pool.Close()
	g, err := newGradients(m, nil, min(c.Training.PhysicalBatchSize, o.Examples), c.Performance.Engine, pool)
	if err != nil {
		return err
	}
	for i, u := range g.network.Uses {
		d.Engines = append(d.Engines, Tactics{u.Parameter, g.engines[i].String()})
	}
	update, _, err := newUpdate(c, len(m.Values), plan.Steps, pool.Threads())
	if err != nil {
		return err
	}
	const float32Bytes, float64Bytes = 4, 8
	perParameter := float32Bytes*(2+len(update.State().Slots)) + float64Bytes // values and partial sum; slots; sum
	d.Memory = Memory{
		Graph: g.Bytes(), Parameters: perParameter * len(m.Values), Pictures: (o.Examples + o.Tests) * o.Shape.Bytes(),
	}
	return nil
}
