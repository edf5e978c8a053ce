package model_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/model"
	"dpsgd/perexample"
)

// words and vectors are the inputs of networks for sequences.
var (
	words   = model.Input{Length: 9, Vocabulary: 5}
	vectors = model.Input{Length: 5, Channels: 4}
)

// sequenceNetworks belong to networks: add a row for a new layer that takes sequences.
var sequenceNetworks = []network{
	{name: "bag of words", input: words, layers: model.Sequential{model.Embedding{Width: 6}, model.MeanOverSequence{}, model.Tanh, model.Linear{Out: classes}}},
	{name: "positions", input: words, layers: model.Sequential{model.Embedding{Width: 4}, model.PositionalEmbedding{}, model.Tanh,
		model.Linear{Out: 5}, model.GELUTanh, model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "waves and norms", input: words, layers: model.Sequential{model.Embedding{Width: 3}, model.PositionalEmbedding{Sinusoidal: true}, model.Linear{Out: 4, NoBias: true},
		model.LayerNorm{}, model.Residual{Body: model.Sequential{model.SiLU, model.Linear{Out: 4}, model.Dropout{}}}, model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "tied", input: words, layers: model.Sequential{model.Embedding{Width: 4}, model.Linear{Out: 4}, model.Tanh, model.TiedLinear{}, model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "tied, pooled", input: words, layers: model.Sequential{model.Embedding{Width: 3}, model.MeanOverSequence{}, model.TiedLinear{}, model.Tanh, model.Linear{Out: classes}}},
	{name: "vectors", input: vectors, layers: model.Sequential{model.LayerNorm{}, model.Linear{Out: 6}, model.Sigmoid,
		model.Linear{Out: 3}, model.MeanOverSequence{}, model.LayerNorm{}, model.Linear{Out: classes}}},
	{name: "long rows", input: model.Input{Length: 2, Channels: 1024}, layers: model.Sequential{model.Linear{Out: 2}, model.Tanh, model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "attention", input: vectors, layers: model.Sequential{model.Attention{Heads: 2}, model.Residual{Body: model.Sequential{model.Attention{Heads: 1, Causal: true, NoBias: true}}},
		model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "class token", input: words, layers: model.Sequential{model.Embedding{Width: 4},
		model.Residual{Body: model.Sequential{model.ClassToken{}, model.Tanh}, Shortcut: model.Sequential{model.ClassToken{}}}, model.PositionalEmbedding{}, model.Attention{Heads: 2},
		model.ELU{Alpha: 0.7}, model.FirstOfSequence{}, model.Linear{Out: classes}}},
	{name: "transformer blocks", input: words, layers: model.Sequential{model.Embedding{Width: 4},
		model.TransformerEncoder{Heads: 2, FeedForward: 6, NormFirst: true, Activation: "gelu"},
		model.TransformerEncoder{Heads: 1, FeedForward: 5, Causal: true, Activation: "gelu_tanh"}, model.LastOfSequence{}, model.Linear{Out: classes}}},
	{name: "adapted transformer block", input: words, lora: model.LoRA{Rank: 2, Alpha: 5}, only: []string{"head", "norms"}, layers: model.Sequential{model.Embedding{Width: 4},
		model.TransformerEncoder{Heads: 2, FeedForward: 6, Activation: "gelu"}, model.Linear{Out: 3}, model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "adapted attention", input: vectors, lora: model.LoRA{Rank: 3, Alpha: 3, Layers: []string{"attention"}}, layers: model.Sequential{model.Attention{Heads: 2}, model.Linear{Out: 4},
		model.Residual{Body: model.Sequential{model.Attention{Heads: 1, NoBias: true}}}, model.MeanOverSequence{}, model.Linear{Out: classes}}},
	{name: "patches", layers: model.Sequential{model.Conv2D{Out: 3, Kernel: model.Size{Height: 1, Width: 2}, Stride: model.Both(1)}, model.LeakyReLU{Slope: 0.2}, model.PatchEmbedding{Patch: 2, Out: 4}, model.ClassToken{},
		model.Attention{Heads: 2}, model.FirstOfSequence{}, model.Linear{Out: classes}}},
	{name: "lstm", input: words, layers: model.Sequential{model.Embedding{Width: 3}, model.LSTM{Recurrent: model.Recurrent{Hidden: 4}},
		model.LSTM{Recurrent: model.Recurrent{Hidden: 2, Bidirectional: true, Last: true}}, model.Linear{Out: classes}}},
	{name: "gru", input: vectors, layers: model.Sequential{model.GRU{Recurrent: model.Recurrent{Hidden: 3, Bidirectional: true}},
		model.GRU{Recurrent: model.Recurrent{Hidden: 4, Last: true}}, model.Linear{Out: classes}}},
	{name: "recurrent, pooled", input: vectors, layers: model.Sequential{model.LSTM{Recurrent: model.Recurrent{Hidden: 3, Last: true, Bidirectional: true}}, model.Tanh, model.Linear{Out: classes}}},
}

// padded lists the networks whose sequences may have padding.
var padded = slices.DeleteFunc(slices.Clone(sequenceNetworks), func(net network) bool { return net.in().Length == 0 })

// drawSequences makes n sequences of different lengths, whose padding holds anything.
func drawSequences(in model.Input, n int, seed uint64, classes int) batch {
	src := random.Seeded(seed)
	draw := rand.New(src)
	var b batch
	for i := range n {
		length := in.Length
		if i%3 != 1 {
			length = 1 + (2*in.Length-2-i)%in.Length
		}
		if i%3 == 2 {
			length = in.Length - 1
		}
		row := make([]float32, 0, in.Length*max(in.Channels, 1)+1)
		if in.Vocabulary > 0 {
			for range length {
				row = append(row, float32(draw.IntN(in.Vocabulary)))
			}
			row = append(row, -1, nan, 7e9, infinity, -3, 0.5, 1, 2, 3)[:in.Length]
		} else {
			for range in.Length * in.Channels {
				row = append(row, float32(draw.NormFloat64()))
			}
			row = append(row, float32(length))
		}
		b.images = append(b.images, row...)
		b.labels, b.mask = append(b.labels, int32((i+int(seed))%classes)), append(b.mask, 1)
	}
	return b
}

// lengthOf returns how many positions of a row are no padding.
func lengthOf(row []float32, in model.Input) int {
	if in.Vocabulary == 0 {
		return int(row[len(row)-1])
	}
	if at := slices.IndexFunc(row, func(v float32) bool { return v < 0 }); at >= 0 {
		return at
	}
	return in.Length
}

// pad writes v to all padding of a row.
func pad(row []float32, in model.Input, v float32) {
	from, to := lengthOf(row, in)+1, len(row)
	if in.Vocabulary == 0 {
		from, to = (from-1)*in.Channels, to-1
	}
	for i := from; i < to; i++ {
		row[i] = v
	}
}

// Padding of any content changes no bit of anything, with either engine.
func TestPaddingChangesNothing(t *testing.T) {
	const n = 5
	for _, net := range padded {
		t.Run(net.name, func(t *testing.T) {
			m := net.model(t)
			for _, engine := range engines {
				s := newStep(t, m, options{batch: n, engine: engine, clipNorm: 0.5})
				in := draw(m, n, 3)
				want := s.run(t, in)
				for _, v := range []float32{0, 1, -1e18, 1e30, nan, infinity} {
					for i := range n {
						pad(in.image(i), m.Input(), v)
					}
					got := s.run(t, in)
					same := sameBits(got.logits, want.logits) && sameBits(got.losses, want.losses) && slices.Equal(got.sum, want.sum) && slices.Equal(got.squaredNorms, want.squaredNorms)
					for i := range n {
						same = same && sameBits(got.gradients[i], want.gradients[i])
					}
					if !same {
						t.Errorf("%v: padding of %v changes a bit", engine, v)
					}
				}
			}
		})
	}
}

// empty takes all positions from a row.
func empty(row []float32, in model.Input) {
	if in.Vocabulary > 0 {
		row[0] = -1
	} else {
		row[len(row)-1] = 0
	}
}

// A sequence of no tokens is an example like any other.
func TestEmptySequences(t *testing.T) {
	for _, net := range padded {
		m := net.model(t)
		in := draw(m, 2, 3)
		empty(in.image(0), m.Input())
		for _, engine := range engines {
			got := newStep(t, m, options{batch: 2, engine: engine, clipNorm: 1}).run(t, in)
			if got.valid[0] != 1 || got.losses[0]-got.losses[0] != 0 || norm(got.gradients[0]) == 0 {
				t.Errorf("%s, %v: found validity %v, loss %v and a gradient of norm %v", net.name, engine, got.valid[0], got.losses[0], norm(got.gradients[0]))
			}
		}
	}
}

// What is no sequence is no example.
func TestBrokenSequences(t *testing.T) {
	for _, test := range []struct {
		in model.Input
		at int
		v  float32
	}{{words, 0, 5}, {words, 2, 0.5}, {words, 1, nan}, {words, 3, infinity}, {words, 3, -infinity}, {vectors, 20, 6}, {vectors, 20, -1}, {vectors, 20, 2.5}, {vectors, 20, nan}, {vectors, 3, nan}} {
		net := network{input: test.in, layers: model.Sequential{model.MeanOverSequence{}, model.Linear{Out: classes}}}
		if test.in == words {
			net.layers = append(model.Sequential{model.Embedding{Width: 3}}, net.layers...)
		}
		m := net.model(t)
		in := draw(m, 2, 3)
		in.image(1)[test.at] = test.v
		got := newStep(t, m, options{batch: 2, engine: perexample.Ghost, clipNorm: 1}).run(t, in)
		if !slices.Equal(got.valid, []float32{1, 0}) {
			t.Errorf("%v at %d of %+v: found the validity %v, expected 1 and 0", test.v, test.at, test.in, got.valid)
		}
	}
}

// sequenceOf returns the own positions of an example, tokens as numbers.
func sequenceOf(row []float32, in model.Input) planes {
	x := newPlanes(max(in.Channels, 1), lengthOf(row, in), 1)
	x.sequence = true
	for t := range x.h {
		for c := range x.c {
			x.set(t, c, float64(row[t*x.c+c]))
		}
	}
	return x
}

func (p planes) vector(t int) []float64 {
	v := make([]float64, p.c)
	for c := range v {
		v[c] = p.data[c*p.h+t]
	}
	return v
}

func (p planes) set(t, c int, v float64) { p.data[c*p.h+t] = v }

// newSequence makes one of vectors of c values, of which f gives those at each position.
func newSequence(positions, c int, f func(t int) []float64) planes {
	y := newPlanes(c, positions, 1)
	y.sequence = true
	for t := range positions {
		for i, v := range f(t) {
			y.set(t, i, v)
		}
	}
	return y
}

// sequenceLayer does what layer does, for layers that take sequences, or work on each position.
func (r *reference) sequenceLayer(l model.Layer, prefix string, x planes) (planes, bool) {
	if !x.sequence {
		return planes{}, false
	}
	positionwise := func(width int) planes {
		return newSequence(x.h, width, func(t int) []float64 {
			return r.layer(l, prefix, planes{data: x.vector(t), c: x.c, h: 1, w: 1}).data
		})
	}
	switch l := l.(type) {
	case model.Embedding:
		table := r.parameters[prefix+"weight"]
		return newSequence(x.h, l.Width, func(t int) []float64 { return table[int(x.data[t])*l.Width:][:l.Width] }), true
	case model.PositionalEmbedding:
		return newSequence(x.h, x.c, func(t int) []float64 {
			v := x.vector(t)
			for i := range v {
				angle := float64(t) / math.Pow(10000, float64(i/2*2)/float64(x.c))
				switch {
				case !l.Sinusoidal:
					v[i] += r.parameters[prefix+"weight"][t*x.c+i]
				case i%2 == 0:
					v[i] += math.Sin(angle)
				default:
					v[i] += math.Cos(angle)
				}
			}
			return v
		}), true
	case model.TiedLinear: // the embedding is the first layer
		return newSequence(x.h, len(r.parameters["0.weight"])/x.c, func(t int) []float64 { return r.matrix("0.weight", "", x.vector(t)) }), true
	case model.MeanOverSequence:
		y := newPlanes(x.c, 1, 1)
		for c := range x.c {
			y.data[c] = mean(x.data[c*x.h:(c+1)*x.h], max(x.h, 1))
		}
		return y, true
	case model.FirstOfSequence, model.LastOfSequence:
		y := newPlanes(x.c, 1, 1)
		if _, last := l.(model.LastOfSequence); last && x.h > 0 {
			copy(y.data, x.vector(x.h-1))
		} else if x.h > 0 {
			copy(y.data, x.vector(0))
		}
		return y, true
	case model.ClassToken:
		return newSequence(x.h+1, x.c, func(t int) []float64 {
			if t == 0 {
				return r.parameters[prefix+"token"]
			}
			return x.vector(t - 1)
		}), true
	case model.Attention:
		return r.attention(l, prefix, x), true
	case model.TransformerEncoder:
		return r.transformer(l, prefix, x), true
	case model.LSTM:
		return r.recurrent(l.Recurrent, prefix, x, r.lstmStep), true
	case model.GRU:
		return r.recurrent(l.Recurrent, prefix, x, r.gruStep), true
	case model.Linear:
		return positionwise(l.Out), true
	case model.Residual:
		return addSequences(r.sequence(l.Body, prefix+"body.", x), r.sequence(l.Shortcut, prefix+"shortcut.", x)), true
	case model.Activation, model.ELU, model.LeakyReLU, model.LayerNorm:
		return positionwise(x.c), true
	}
	return planes{}, false
}

// matrix returns Wx + b of parameters.
func (r *reference) matrix(weight, bias string, x []float64) []float64 {
	w, b := r.weight(weight), r.parameters[bias]
	y := make([]float64, len(w)/len(x))
	for o := range y {
		if b != nil {
			y[o] = b[o]
		}
		for i, v := range x {
			y[o] += w[o*len(x)+i] * v
		}
	}
	return y
}

func (r *reference) attention(l model.Attention, prefix string, x planes) planes {
	qkv := make([][]float64, x.h)
	for t := range qkv {
		qkv[t] = r.matrix(prefix+"in_proj_weight", prefix+"in_proj_bias", x.vector(t))
	}
	width := x.c / l.Heads
	return newSequence(x.h, x.c, func(t int) []float64 {
		out := make([]float64, x.c)
		for h := range l.Heads {
			seen := x.h
			if l.Causal {
				seen = t + 1
			}
			scores, sum := make([]float64, seen), 0.0
			for s := range scores {
				for j := range width {
					scores[s] += qkv[t][h*width+j] * qkv[s][x.c+h*width+j] / math.Sqrt(float64(width))
				}
				scores[s] = math.Exp(scores[s])
				sum += scores[s]
			}
			for s, score := range scores {
				for j := range width {
					out[h*width+j] += score / sum * qkv[s][2*x.c+h*width+j]
				}
			}
		}
		return r.matrix(prefix+"out_proj.weight", prefix+"out_proj.bias", out)
	})
}

func (r *reference) transformer(l model.TransformerEncoder, prefix string, x planes) planes {
	norm := func(name string, x planes) planes { return r.layer(model.LayerNorm{}, prefix+name+".", x) }
	activation := map[string]model.Activation{"gelu": model.GELU, "gelu_tanh": model.GELUTanh}[l.Activation]
	branches := []func(x planes) planes{
		func(x planes) planes {
			return r.attention(model.Attention{Heads: l.Heads, Causal: l.Causal}, prefix+"self_attn.", x)
		},
		func(x planes) planes {
			y := r.layer(activation, "", r.layer(model.Linear{Out: l.FeedForward}, prefix+"linear1.", x))
			return r.layer(model.Linear{Out: x.c}, prefix+"linear2.", y)
		},
	}
	for i, branch := range branches {
		name := []string{"norm1", "norm2"}[i]
		if l.NormFirst {
			x = addSequences(x, branch(norm(name, x)))
		} else {
			x = norm(name, addSequences(x, branch(x)))
		}
	}
	return x
}

func addSequences(x, y planes) planes {
	z := add(x, y)
	z.sequence = true
	return z
}

// recurrent runs one or two passes; a step makes output and state of the inputs' and the outputs'
// part of the gates.
func (r *reference) recurrent(l model.Recurrent, prefix string, x planes, step func(gx, gh, h, state []float64) (out, next []float64)) planes {
	passes := []string{"_l0"}
	if l.Bidirectional {
		passes = append(passes, "_l0_reverse")
	}
	outputs := make([][]float64, x.h)
	var last []float64
	for number, suffix := range passes {
		h, state := make([]float64, l.Hidden), make([]float64, l.Hidden)
		for i := range x.h {
			t := i
			if number == 1 {
				t = x.h - 1 - i
			}
			gx := r.matrix(prefix+"weight_ih"+suffix, prefix+"bias_ih"+suffix, x.vector(t))
			gh := r.matrix(prefix+"weight_hh"+suffix, prefix+"bias_hh"+suffix, h)
			h, state = step(gx, gh, h, state)
			outputs[t] = append(outputs[t], h...)
		}
		last = append(last, h...)
	}
	if l.Last {
		return planes{data: last, c: len(last), h: 1, w: 1}
	}
	return newSequence(x.h, len(last), func(t int) []float64 { return outputs[t] })
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (r *reference) lstmStep(gx, gh, h, c []float64) (out, next []float64) {
	n := len(h)
	out, next = make([]float64, n), make([]float64, n)
	for j := range h {
		gate := func(k int) float64 { return gx[k*n+j] + gh[k*n+j] }
		next[j] = sigmoid(gate(1))*c[j] + sigmoid(gate(0))*math.Tanh(gate(2))
		out[j] = sigmoid(gate(3)) * math.Tanh(next[j])
	}
	return out, next
}

func (r *reference) gruStep(gx, gh, h, _ []float64) (out, next []float64) {
	n := len(h)
	out = make([]float64, n)
	for j := range h {
		reset, update := sigmoid(gx[j]+gh[j]), sigmoid(gx[n+j]+gh[n+j])
		out[j] = (1-update)*math.Tanh(gx[2*n+j]+reset*gh[2*n+j]) + update*h[j]
	}
	return out, h
}
