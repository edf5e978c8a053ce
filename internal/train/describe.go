package train

import (
	"strings"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/internal/statement"
	"dpsgd/model"
)

// Description says what a configuration would do, without reading any data.
type Description struct {
	Data         setup.Outline          `json:"data"`
	Input        []int                  `json:"input"`                  // height, width, channels; or the number of columns
	Augmentation string                 `json:"augmentation,omitempty"` // the views in which the network sees examples while it trains
	Layers       []model.LayerInfo      `json:"layers"`
	Parameters   int                    `json:"parameters"`                  // that are trained
	Frozen       int                    `json:"frozen_parameters,omitempty"` // that are not
	Trained      string                 `json:"trained,omitempty"`           // in words, where others are not
	MultiplyAdds int                    `json:"multiply_adds"`               // of the forward pass, per example
	Privacy      Privacy                `json:"privacy"`
	Curve        []account.Point        `json:"curve"`
	CurveRDP     []account.Point        `json:"curve_rdp,omitempty"` // the same steps by RDP, beside another accountant
	Memory       setup.Memory           `json:"memory"`
	Engines      []gradients.Assignment `json:"engines"`
}

// Privacy holds the privacy settings of a plan and the guarantee that they give.
type Privacy struct {
	Unit                string             `json:"unit"`    // what is protected
	Records             int                `json:"records"` // how many of these there are
	NoiseMultiplier     float64            `json:"noise_multiplier"`
	Calibrated          bool               `json:"calibrated"` // whether the noise multiplier follows from the budget
	ClipNorm            float64            `json:"clip_norm"`
	Clipping            string             `json:"clipping"` // what is bounded, and how
	Sampling            string             `json:"sampling"` // by name
	SamplingProbability float64            `json:"sampling_probability"`
	ExpectedBatchSize   float64            `json:"expected_batch_size"`
	PlannedSteps        int                `json:"planned_steps"`
	Steps               int                `json:"steps"` // that the budget allows, at most the planned ones
	account.Answer                         // after Steps
	TargetEpsilon       float64            `json:"target_epsilon,omitempty"`
	Relation            string             `json:"relation"`
	Method              string             `json:"method"`
	Fallbacks           []account.Fallback `json:"fallbacks,omitempty"`
	Correlation         *Correlation       `json:"correlation,omitempty"`
}

// curvePoints is how many rows the curve of ε has.
const curvePoints = 10

// Describe plans a run and declares its network without touching data. Pictures of a folder are
// counted by their names, records of a table by their ends, or not at all when examples is
// positive: then there are that many.
func Describe(c *configs.Config, examples int) (*Description, error) {
	o, err := setup.OutlineOf(c, examples)
	if err != nil {
		return nil, err
	}
	if err := setup.CheckMemory(c, o); err != nil {
		return nil, err
	}
	var plan *RunPlan // nil where gradients have no noise
	if !c.Privacy.Ordinary() {
		if plan, err = NewPlan(c, setup.Records(c, o)); err != nil {
			return nil, err
		}
	}
	m, err := setup.Model(c, o.Shape, o.Classes)
	if err != nil {
		return nil, err
	}
	if _, err := setup.Start(c, m); err != nil {
		return nil, err
	}
	d := &Description{
		Data: o, Input: o.Shape.Dims(), Layers: m.Layers(), Parameters: len(m.Values), Frozen: m.FrozenValues(), Trained: setup.Trained(c),
	}
	if c.Training.Augmentation.Any() {
		d.Augmentation = c.Training.Augmentation.String()
	}
	d.MultiplyAdds, _ = m.MultiplyAdds()
	if plan == nil {
		return d, d.fillOrdinary(c, o)
	}
	if err := d.fillPrivacy(c, plan); err != nil {
		return nil, err
	}
	return d, d.fillEngines(c, m, o)
}

// fillOrdinary describes training without noise on gradients: nothing is private, or the labels
// are, which are told once ahead of it.
func (d *Description) fillOrdinary(c *configs.Config, o setup.Outline) error {
	batch := float64(min(c.Training.BatchSize, o.Examples))
	steps := setup.Steps(c.Training, batch, o.Examples)
	d.Curve, d.Engines = []account.Point{}, []gradients.Assignment{}
	d.Privacy = Privacy{
		Unit: "nothing", Records: o.Examples, ExpectedBatchSize: batch, PlannedSteps: steps, Steps: steps,
		Answer: account.Answer{Epsilon: statement.NoGuarantee, Delta: 1}, Method: "none: NOT PRIVATE",
	}
	if !c.Privacy.None {
		told := new(accountant.Ledger)
		if err := told.Add(sgd.LabelsTold(c.Privacy.Epsilon), 1); err != nil {
			return err
		}
		s, err := account.SpentBy(c.Privacy.Accountant, told, c.Privacy.Delta)
		if err != nil {
			return err
		}
		d.Privacy.Unit, d.Privacy.Answer, d.Privacy.TargetEpsilon = setup.Label, s.Answer(), c.Privacy.Epsilon
		d.Privacy.Relation, d.Privacy.Method = "replace the label of one", "randomised response; "+s.Method
	}
	var err error
	d.Memory, err = setup.MemoryOf(c, o)
	return err
}

// fillPrivacy fills in the noise, the number of steps and the guarantee of the plan.
func (d *Description) fillPrivacy(c *configs.Config, plan *RunPlan) error {
	clipping := plan.Policy.String()
	if c.Federated.Any() || c.Privacy.Unit == configs.UnitPerson {
		clipping = strings.ReplaceAll(clipping, "one example", plan.Unit)
	}
	points := min(curvePoints, plan.MaxSteps)
	for i := 1; i <= points; i++ {
		steps := plan.MaxSteps * i / points
		s, err := plan.After(steps)
		if err != nil {
			return err
		}
		d.Curve = append(d.Curve, account.Point{Steps: steps, Epsilon: s.Epsilon})
		if s.EpsilonRDP != nil {
			d.CurveRDP = append(d.CurveRDP, account.Point{Steps: steps, Epsilon: *s.EpsilonRDP})
		}
	}
	s, err := plan.After(plan.MaxSteps)
	d.Privacy = Privacy{
		Unit: plan.Unit, Records: plan.Records,
		NoiseMultiplier: plan.NoiseMultiplier(), Calibrated: c.Privacy.Calibrated(), ClipNorm: plan.Policy.Bound(), Clipping: clipping,
		Sampling: plan.Sampler.Name(), SamplingProbability: plan.SamplingProbability, ExpectedBatchSize: plan.ExpectedBatchSize,
		PlannedSteps: plan.Steps, Steps: plan.MaxSteps, Answer: s.Answer(),
		Relation: s.Relation.String(), Method: s.Method, Fallbacks: plan.Fallbacks,
	}
	if plan.Budget != nil {
		d.Privacy.TargetEpsilon = plan.Budget.Epsilon
	}
	if err != nil {
		return err
	}
	d.Privacy.Correlation, err = plan.Correlation(d.Parameters)
	return err
}

// fillEngines declares the training graph to see how gradients are formed, and estimates what it
// needs.
func (d *Description) fillEngines(c *configs.Config, m *model.Model, o setup.Outline) error {
	pool := kernel.NewPool(setup.Threads(c))
	defer pool.Close()
	views, err := setup.Views(c, o.Shape)
	if err != nil {
		return err
	}
	g, err := gradients.NewGradients(m, nil, views, min(c.Training.PhysicalBatchSize, o.Examples), c.Performance.Engine, gradients.Choice{}, pool)
	if err != nil {
		return err
	}
	d.Engines = g.Engines()
	d.Memory, err = setup.MemoryOf(c, o)
	return err
}
