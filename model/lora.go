package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"

	"gorgonia.org/gorgonia"
)

// LoRA adapts dense layers (Hu et al., arXiv:2106.09685): a layer gives Wx + b + (Alpha/Rank)·BAx,
// where A (Rank, in) and B (out, Rank) are trained in place of W (out, in). A begins as in PEFT, by
// Kaiming's uniform law, and B at 0. The factors have PEFT's names: lora_A.weight, lora_B.weight.
type LoRA struct {
	Rank  int
	Alpha float64
	// Layers lists what is adapted: names of layers, each with all that it holds, or the kinds linear
	// and attention, which leave out the head. Nil is both kinds.
	Layers []string
}

// adapted is a weight with factors beside it, and the kind of its layer.
type adapted struct{ weight, kind string }

// Adapt puts low-rank factors, drawn from the public seed, beside the weights of layers. It comes
// before [Model.TrainOnly] and [Model.Freeze].
func (m *Model) Adapt(l LoRA, seed uint64) error {
	if scale := l.Alpha / float64(l.Rank); l.Rank < 1 || !(scale > 0 && scale <= math.MaxFloat32) {
		return fmt.Errorf("model: adapters of rank %d and alpha %v, expected a rank of at least 1 and an alpha above 0", l.Rank, l.Alpha)
	}
	m.lora = l
	b := graph.NewBuilder(nil)
	if m.sketched {
		b = graph.NewSketch()
	}
	// Another seed than that of the other weights: the same words would make A a copy of some of them.
	if _, err := m.begin(b, random.Seeded(seed^0x41526f4c)); err != nil {
		return err
	}
	if len(m.adapted) == 0 && l.Layers == nil {
		return fmt.Errorf("model: found no linear and no attention layer to adapt outside the head %s", m.head())
	}
	for _, name := range l.Layers {
		if !slices.ContainsFunc(m.adapted, func(a adapted) bool { return a.kind == name || inside(a.weight, name) }) {
			return fmt.Errorf("model: found no layer to adapt called %q, expected that of a linear or attention layer, or of a block around it; linear and attention stand for all of these outside the head", name)
		}
	}
	return nil
}

// adapts reports whether the layer i gets factors.
func (m *Model) adapts(i LayerInfo) bool {
	if m.lora.Rank == 0 || i.Kind != (Linear{}).Kind() && i.Kind != (Attention{}).Kind() {
		return false
	}
	ofKind := !inside(i.Name, m.head())
	return m.lora.Layers == nil && ofKind || slices.ContainsFunc(m.lora.Layers, func(name string) bool {
		return name == i.Kind && ofKind || inside(i.Name, name)
	})
}

// adapt adds to y, the output of the dense layer l on x, what the layer's factors make of x, if it
// has any.
func (p *Pass) adapt(x, y *gorgonia.Node, l dense) *gorgonia.Node {
	if p.Err() != nil || !p.model.adapts(p.layers[len(p.layers)-1]) {
		return y
	}
	lora, a, b := p.model.lora, Factor(l.weight, "A"), Factor(l.weight, "B")
	small := p.product(x, dense{out: lora.Rank, noBias: true, weight: a, weights: uniform(x.Shape()[len(x.Shape())-1])})
	// Scaled here, where there are few values.
	z := p.product(p.times(lora.scale(), small), dense{out: l.out, noBias: true, weight: b, weights: constant(0)})
	if p.first {
		p.model.adapted = append(p.model.adapted, adapted{strings.Join(append(slices.Clone(p.path), l.weight), "."), p.layers[len(p.layers)-1].Kind})
	}
	return p.sum(y, z)
}

func (l LoRA) scale() float32 { return float32(l.Alpha / float64(l.Rank)) }

// times returns x with every value multiplied.
func (p *Pass) times(factor float32, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	run := func(y, x []float32) {
		for i, v := range x {
			y[i] = factor * v
		}
	}
	return Activation{kind: "times", value: run, gradient: func(dx, _, dy []float32) { run(dx, dy) }}.Forward(p, x)
}

// Factor returns the name of factor A or B beside a weight.
func Factor(weight, which string) string {
	return weight[:strings.LastIndex(weight, ".")+1] + "lora_" + which + ".weight"
}

// IsFactor reports whether a name is that of a low-rank factor of an adapter.
func IsFactor(name string) bool {
	return strings.HasSuffix(name, "lora_A.weight") || strings.HasSuffix(name, "lora_B.weight")
}

// Adapters returns the adapters and the names of the weights that have factors; none where rank
// is 0.
func (m *Model) Adapters() (l LoRA, weights []string) {
	for _, a := range m.adapted {
		weights = append(weights, a.weight)
	}
	return m.lora, weights
}

// Merged returns what [Model.Export] does, with W + (Alpha/Rank)·BA in place of the weight W and
// its factors: the tensors of the network without adapters.
func (m *Model) Merged() []Tensor {
	all := m.Export()
	of := func(name string) Tensor {
		return all[slices.IndexFunc(all, func(t Tensor) bool { return t.Name == name })]
	}
	for _, adapted := range m.adapted {
		w, a, b := of(adapted.weight).Data, of(Factor(adapted.weight, "A")), of(Factor(adapted.weight, "B"))
		rank, in := a.Shape[0], a.Shape[1]
		for i, v := range b.Data {
			row, r := i/rank, i%rank
			kernel.Axpy(w[row*in:(row+1)*in], m.lora.scale()*v, a.Data[r*in:(r+1)*in])
		}
	}
	return slices.DeleteFunc(all, func(t Tensor) bool { return IsFactor(t.Name) })
}
