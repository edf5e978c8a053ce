package kernel

import "math"

// Attention computes multi-head self-attention (Vaswani et al., arXiv:1706.03762, section 3.2) of
// one sequence at a time. Its input has a row of 3·Width values for each position: a query, a key
// and a value, of which each of Heads heads has Width/Heads values. With Causal, a position sees no
// later one.
//
// Like a [Convolution], it takes working memory of its pool: calls on different workers may run at
// the same time.
type Attention struct {
	Width, Heads int
	Causal       bool
	scores       workspace
}

// NewAttention returns a for a pool; the workspaces of a are ignored.
func NewAttention(a Attention, p *Pool) *Attention {
	a.scores = newWorkspace(p, gramSpace)
	return &a
}

// Forward writes to out (positions, Width) the values that each of the first length positions
// attends to: for each head softmax(QKᵀ/√(Width/Heads))·V. It reads and writes zeros to all others.
func (a *Attention) Forward(worker int, out, qkv []float32, length int) {
	clear(out[length*a.Width:])
	if length == 0 {
		return
	}
	p := a.scores.get(worker, length*length)
	for h := range a.Heads {
		q := a.head(qkv, h)
		a.softmax(p, q, length)
		serial.Gemm(false, false, length, q.width, length, 1, p, length, q.value, 3*a.Width, 0, out[h*q.width:], a.Width)
	}
}

// Gradient writes to dqkv the gradient with respect to qkv, given the gradient dout with respect to
// out. It computes the softmax again, which costs less than keeping it.
func (a *Attention) Gradient(worker int, dqkv, qkv, dout []float32, length int) {
	clear(dqkv[length*3*a.Width:])
	if length == 0 {
		return
	}
	both := a.scores.get(worker, 2*length*length)
	p, dp := both[:length*length], both[length*length:]
	for h := range a.Heads {
		q, d := a.head(qkv, h), a.head(dqkv, h)
		pitch, dout := 3*a.Width, dout[h*q.width:]
		a.softmax(p, q, length)
		serial.Gemm(true, false, length, q.width, length, 1, p, length, dout, a.Width, 0, d.value, pitch)
		serial.Gemm(false, true, length, length, q.width, 1, dout, a.Width, q.value, pitch, 0, dp, length)
		for i := range length {
			softmaxGrad(dp[i*length:(i+1)*length], p[i*length:(i+1)*length])
		}
		serial.Gemm(false, false, length, q.width, length, q.scale, dp, length, q.key, pitch, 0, d.query, pitch)
		serial.Gemm(true, false, length, q.width, length, q.scale, dp, length, q.query, pitch, 0, d.key, pitch)
	}
}

// attentionHead is what belongs to one head, in rows 3·Width apart.
type attentionHead struct {
	query, key, value []float32
	width             int
	scale             float32
}

func (a *Attention) head(qkv []float32, h int) attentionHead {
	width := a.Width / a.Heads
	at := h * width
	return attentionHead{qkv[at:], qkv[a.Width+at:], qkv[2*a.Width+at:], width, float32(1 / math.Sqrt(float64(width)))}
}

// softmax writes softmax(scale·QKᵀ) to p, length×length, row by row. The largest score of a row is
// subtracted before exponentials are taken, so that none overflows.
func (a *Attention) softmax(p []float32, q attentionHead, length int) {
	serial.Gemm(false, true, length, length, q.width, q.scale, q.query, 3*a.Width, q.key, 3*a.Width, 0, p, length)
	seen := func(i int) (row, hidden []float32) {
		n := length
		if a.Causal {
			n = i + 1
		}
		return p[i*length : i*length+n], p[i*length+n : (i+1)*length]
	}
	for i := range length {
		row, hidden := seen(i)
		largest := largest(row)
		for j := range row {
			row[j] -= largest
		}
		clear(hidden)
	}
	active.exp(p, p)
	for i := range length {
		row, hidden := seen(i)
		var sum float64
		for _, v := range row {
			sum += float64(v)
		}
		scale := float32(1 / sum)
		for j := range row {
			row[j] *= scale
		}
		clear(hidden)
	}
}

// softmaxGrad turns the gradient dp with respect to the probabilities p of a row into the gradient
// with respect to its scores: p∘(dp - ⟨p, dp⟩).
func softmaxGrad(dp, p []float32) {
	var mean float64
	for j, v := range p {
		mean += float64(v) * float64(dp[j])
	}
	m := float32(mean)
	for j, v := range p {
		dp[j] = v * (dp[j] - m)
	}
}
