package speed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dpsgd/configs"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
)

// Request says for which ranks and network a configuration is planned.
type Request struct {
	Ranks    int
	Network  Network
	Examples int           // in the training data; 0 counts them
	Measure  time.Duration // about how long to measure
}

// Plan says how fast a run would be on many ranks. Times are milliseconds.
type Plan struct {
	Network     string       `json:"network"` // "layers" for one that has no name
	Ranks       int          `json:"ranks"`
	Threads     int          `json:"threads"` // of each rank
	BitsASecond float64      `json:"bits_per_second"`
	LatencyMS   float64      `json:"latency_ms"`
	Parameters  int          `json:"parameters"`
	Batch       float64      `json:"expected_batch_size"`
	Steps       int          `json:"steps"`
	Measured    Machine      `json:"measured"`
	Parts       []Part       `json:"parts"`   // of a step on Ranks ranks, in their order
	Rows        []Row        `json:"rows"`    // for numbers of ranks from 1 to 1000, and for Ranks
	Batches     []Row        `json:"batches"` // for the batch and larger ones on Ranks ranks
	Limits      Limits       `json:"limits"`
	Memory      setup.Memory `json:"memory"`          // of each rank
	Messages    float64      `json:"memory_messages"` // the bytes that messages take besides, on each rank
}

// Row describes a step in one line of a table.
type Row struct {
	Ranks      int     `json:"ranks"`
	Batch      float64 `json:"expected_batch_size"`
	StepMS     float64 `json:"step_ms"`
	Speedup    float64 `json:"speedup"` // over one rank
	Efficiency float64 `json:"efficiency"`
	Most       string  `json:"most"` // the part that takes most time, besides gradients
	MostShare  float64 `json:"most_share"`
}

// tableRanks lists the numbers of ranks in [Plan.Rows].
var tableRanks = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}

// OnRanks measures the parts of a step of a configuration on this machine, and computes from them
// how long a step takes on r.Ranks ranks and on others. It refuses a federated run.
func OnRanks(ctx context.Context, c *configs.Config, r Request) (*Plan, error) {
	o, err := setup.OutlineOf(c, r.Examples)
	if err != nil {
		return nil, err
	}
	if c.Federated.Any() {
		return nil, fmt.Errorf("%w: found federated.clients %d, expected a configuration for `train run`: clients of a federated run share no step", setup.ErrPlan, c.Federated.Clients)
	}
	if err := setup.CheckMemory(c, o); err != nil {
		return nil, err
	}
	plan, err := train.NewPlan(c, setup.Records(c, o))
	if err != nil {
		return nil, err
	}
	network, err := setup.Sketch(c, o.Shape, o.Classes)
	if err != nil {
		return nil, err
	}
	values, _ := network.Sizes()
	m, err := measure(ctx, c, plan, values, o.Tests, r.Measure)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Network: cmp.Or(c.Model.Name, "layers"), Ranks: r.Ranks, Threads: setup.Threads(c), BitsASecond: r.Network.Rate, LatencyMS: milliseconds(r.Network.Latency),
		Parameters: values, Batch: plan.ExpectedBatchSize, Steps: plan.MaxSteps, Measured: m,
		// What one process has no need of: the sum as it is sent, parameters and sample as they are
		// told, and the memory through which an MPI library gets them.
		Messages: float64(values)*(sumBytes+parameterBytes) + plan.ExpectedBatchSize*indexBytes + libraryBytes,
	}
	job := Job{
		Batch: plan.ExpectedBatchSize, Values: values, Physical: min(c.Training.PhysicalBatchSize, plan.Records), EvaluateEvery: c.Training.EvaluateEvery, CheckpointEvery: c.Run.CheckpointEvery,
	}
	p.fill(job, m, r.Network, plan.Records)
	p.Memory, err = setup.MemoryOf(c, o)
	return p, err
}

// fill computes the parts, tables and limits of the plan.
func (p *Plan) fill(job Job, m Machine, w Network, records int) {
	one := job.At(m, w, 1)
	p.Parts = job.At(m, w, p.Ranks).Parts()
	ranks := tableRanks
	if at, found := slices.BinarySearch(ranks, p.Ranks); !found {
		ranks = slices.Insert(slices.Clone(ranks), at, p.Ranks)
	}
	for _, n := range ranks {
		p.Rows = append(p.Rows, row(job, job.At(m, w, n), one))
	}
	for times := 1.0; times <= 64 && times*job.Batch <= float64(records); times *= 4 {
		larger := job
		larger.Batch *= times
		p.Batches = append(p.Batches, row(larger, larger.At(m, w, p.Ranks), larger.At(m, w, 1)))
	}
	p.Limits = job.Limits(m, w)
}

// row describes the step s of a job. one is the same step on one rank, to compare with.
func row(j Job, s, one Step) Row {
	r := Row{Ranks: s.Ranks, Batch: j.Batch, StepMS: s.MS(), Speedup: s.Speedup(one), Efficiency: s.Efficiency(one)}
	for _, part := range s.Parts() {
		if share := part.MS / s.MS(); part.Name != "gradients" && share > r.MostShare {
			r.Most, r.MostShare = part.Name, share
		}
	}
	return r
}
