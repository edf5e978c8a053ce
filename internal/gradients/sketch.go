package gradients

import (
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/model"
	"dpsgd/perexample"
)

// Sketch holds the memory that the graphs of a network would take, in bytes, as floats: no size
// that a configuration can ask for overflows them.
type Sketch struct {
	Training   float64 // buffers of a physical batch, with its inputs
	Prediction float64 // the same for predictions
	Choosing   float64 // while engines are chosen, before there are buffers
	Formed     float64 // one gradient for each worker and parameter
}

// NewSketch declares the graphs of a sketched model ([model.Sketch]) for one example, and multiplies:
// buffers grow with the batch. Where the engine is "auto", it is taken to be the one that the
// estimates of package perexample choose.
func NewSketch(m *model.Model, views *data.Views, batch int, engine string, threads int) (s Sketch, err error) {
	d, err := declare(graph.NewSketch(), m, views, 1, func(uses []perexample.Use) ([]perexample.Engine, error) {
		rules := rulesOf(uses)
		for _, r := range rules {
			s.Formed += 4 * float64(threads) * float64(r.Size())
		}
		if one, ok := named(engine, len(rules)); ok {
			return one, nil
		}
		s.Choosing = perexample.MeasuredBytes(rules, batch)
		return perexample.Choose(rules, perexample.Estimate(rules, batch), batch, maxGradientBytes), nil
	})
	if err != nil {
		return s, err
	}
	s.Training = float64(batch) * (float64(d.executor.Bytes()) + inputBytes(d.network))
	network, executor, err := predicting(graph.NewSketch(), m, 1)
	if err == nil {
		s.Prediction = evaluationBatch * (float64(executor.Bytes()) + inputBytes(network))
	}
	return s, err
}

func inputBytes(n *model.Network) float64 { return 4 * float64(n.Images.Shape().TotalSize()) }
