package kernel

// Recurrent computes the recurrence of an LSTM (Hochreiter and Schmidhuber, 1997, with a forget
// gate) or of a GRU (Cho et al., arXiv:1406.1078) in PyTorch's form, for blocks of sequences that
// take their steps together. The products with the inputs are done before: gx (B, Positions,
// Gates·Hidden).
type Recurrent struct {
	Positions, Hidden int
	Cell              Cell
	Reverse           bool // from the last position of a sequence to its first

	weights, back Packed
	hidden, carry workspace
	zeros         []float32
	pool          *Pool
}

// Cell is the formula of one step of one example. A row of states holds its gates and Hidden values
// more.
type Cell interface {
	// Gates returns how many gates it has.
	Gates() int
	// forward computes h and the state from the parts gx and gh of the gates that come from the
	// input and from the output before, which with its state is at hand, too. It may overwrite gh.
	forward(h, state, gx, gh, before, stateBefore []float32)
	// backward computes the gradients of gx and gh from dh, that of h. dh becomes what flows to the
	// output before other than through gh, and carry what flows from step to step in the state.
	backward(dgx, dgh, dh, carry, state, before, stateBefore []float32)
}

// NewRecurrent returns r for a pool.
func NewRecurrent(r Recurrent, p *Pool) *Recurrent {
	r.pool, r.zeros = p, make([]float32, (r.Cell.Gates()+1)*r.Hidden)
	r.hidden, r.carry = newWorkspace(p, imageSpace), newWorkspace(p, gramSpace)
	return &r
}

// StateWidth returns the values of the state of one position.
func (r *Recurrent) StateWidth() int { return (r.Cell.Gates() + 1) * r.Hidden }

// Prepare lays out the weights (Gates·Hidden, Hidden) for Forward.
func (r *Recurrent) Prepare(weights []float32) {
	r.weights.Set(r.pool, true, r.Hidden, r.Cell.Gates()*r.Hidden, weights)
}

// PrepareBack lays out the weights for Gradient.
func (r *Recurrent) PrepareBack(weights []float32) {
	r.back.Set(r.pool, false, r.Cell.Gates()*r.Hidden, r.Hidden, weights)
}

// at returns the position of a step, and that of the step before.
func (r *Recurrent) at(step int) (t, before int) {
	if r.Reverse {
		return r.Positions - 1 - step, r.Positions - step
	}
	return step, step - 1
}

// row returns the row of width values of an example at a position.
func (r *Recurrent) row(x []float32, example, t, width int) []float32 {
	at := (example*r.Positions + t) * width
	return x[at : at+width]
}

// Forward computes h (B, Positions, Hidden) and states (B, Positions, StateWidth) of examples
// [lo, hi) of gx; bias is added to what comes from the output before. Example i has length(i)
// positions, and zeros behind them.
func (r *Recurrent) Forward(worker, lo, hi int, h, states, gx, bias []float32, length func(i int) int) {
	n, gates := r.Hidden, r.Cell.Gates()*r.Hidden
	gh := r.hidden.get(worker, (hi-lo)*gates)
	for step := range r.Positions {
		t, before := r.at(step)
		if step == 0 {
			clear(gh)
		} else {
			r.weights.Multiply(gh, gates, h[(lo*r.Positions+before)*n:], r.Positions*n, hi-lo, 0)
		}
		AddBias(gh, bias)
		for i := lo; i < hi; i++ {
			to, state := r.row(h, i, t, n), r.row(states, i, t, r.StateWidth())
			if t >= length(i) {
				clear(to)
				clear(state)
				continue
			}
			out, stateBefore := r.before(h, states, i, step, before)
			r.Cell.forward(to, state, r.row(gx, i, t, gates), gh[(i-lo)*gates:(i-lo+1)*gates], out, stateBefore)
		}
	}
}

// before returns output and state of an example at the position of the step before: zeros for the
// first.
func (r *Recurrent) before(h, states []float32, i, step, before int) (out, state []float32) {
	if step == 0 {
		return r.zeros[:r.Hidden], r.zeros
	}
	return r.row(h, i, before, r.Hidden), r.row(states, i, before, r.StateWidth())
}

// Gradient computes the gradient dgx with respect to gx of examples [lo, hi) from dh, that with
// respect to h. h and states are those of Forward.
func (r *Recurrent) Gradient(worker, lo, hi int, dgx, dh, h, states []float32, length func(i int) int) {
	n, gates, rows := r.Hidden, r.Cell.Gates()*r.Hidden, hi-lo
	dgh := r.hidden.get(worker, rows*gates)
	kept := r.carry.get(worker, 2*rows*n)
	flows, carry := kept[:rows*n], kept[rows*n:] // to the output and to the state before
	clear(kept)
	for step := r.Positions - 1; step >= 0; step-- {
		t, before := r.at(step)
		for i := lo; i < hi; i++ {
			at := i - lo
			d, flow, to := r.row(dgx, i, t, gates), flows[at*n:(at+1)*n], dgh[at*gates:(at+1)*gates]
			if t >= length(i) {
				clear(d)
				clear(flow)
				clear(to)
				continue
			}
			out, stateBefore := r.before(h, states, i, step, before)
			Add(flow, flow, r.row(dh, i, t, n))
			r.Cell.backward(d, to, flow, carry[at*n:(at+1)*n], r.row(states, i, t, r.StateWidth()), out, stateBefore)
		}
		if step > 0 {
			r.back.Multiply(flows, n, dgh, gates, rows, 1)
		}
	}
}

// LSTMCell has the gates input, forget, cell and output, in this order; the state ends with the cell.
type LSTMCell struct{}

func (LSTMCell) Gates() int { return 4 }

func (LSTMCell) forward(h, state, gx, gh, _, stateBefore []float32) {
	n := len(h)
	gates, cell, cellBefore := state[:4*n], state[4*n:], stateBefore[4*n:]
	Add(gates, gx, gh)
	Sigmoid(gates[:2*n], gates[:2*n])
	Tanh(gates[2*n:3*n], gates[2*n:3*n])
	Sigmoid(gates[3*n:], gates[3*n:])
	in, forget, new, out := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:4*n]
	ScaleChannels(h, in, new)
	ScaleChannels(cell, forget, cellBefore)
	Add(cell, cell, h)
	Tanh(h, cell)
	ScaleChannels(h, h, out)
}

func (LSTMCell) backward(dgx, dgh, dh, carry, state, _, stateBefore []float32) {
	n := len(dh)
	in, forget, new, out, cell, cellBefore := state[:n], state[n:2*n], state[2*n:3*n], state[3*n:4*n], state[4*n:5*n], stateBefore[4*n:5*n]
	dIn, dForget, dNew, dOut := dgx[:n], dgx[n:2*n], dgx[2*n:3*n], dgx[3*n:4*n]
	Tanh(dNew, cell)
	ScaleChannels(dOut, dh, dNew)
	SigmoidGrad(dOut, out, dOut)
	ScaleChannels(dIn, dh, out)
	TanhGrad(dIn, dNew, dIn)
	Add(carry, carry, dIn) // now with respect to the cell
	ScaleChannels(dNew, carry, in)
	TanhGrad(dNew, new, dNew)
	ScaleChannels(dIn, carry, new)
	SigmoidGrad(dIn, in, dIn)
	ScaleChannels(dForget, carry, cellBefore)
	SigmoidGrad(dForget, forget, dForget)
	ScaleChannels(carry, carry, forget)
	copy(dgh, dgx)
	clear(dh)
}

// GRUCell has the gates reset, update and new, in this order; the state ends with what the output
// before adds to the last one.
type GRUCell struct{}

func (GRUCell) Gates() int { return 3 }

func (GRUCell) forward(h, state, gx, gh, before, _ []float32) {
	n := len(h)
	Add(state[:2*n], gx[:2*n], gh[:2*n])
	Sigmoid(state[:2*n], state[:2*n])
	reset, update, new, hidden := state[:n], state[n:2*n], state[2*n:3*n], state[3*n:4*n]
	copy(hidden, gh[2*n:])
	for j, r := range reset {
		new[j] = gx[2*n+j] + r*hidden[j]
	}
	Tanh(new, new)
	for j, z := range update {
		h[j] = (1-z)*new[j] + z*before[j]
	}
}

func (GRUCell) backward(dgx, dgh, dh, _, state, before, _ []float32) {
	n := len(dh)
	reset, update, new, hidden := state[:n], state[n:2*n], state[2*n:3*n], state[3*n:4*n]
	for j, d := range dh {
		r, z, g := reset[j], update[j], new[j]
		dNew := d * (1 - z) * (1 - g*g)
		dgx[j] = dNew * hidden[j] * r * (1 - r)
		dgx[n+j] = d * (before[j] - g) * z * (1 - z)
		dgx[2*n+j] = dNew
		dgh[2*n+j] = dNew * r
		dh[j] = d * z
	}
	copy(dgh[:2*n], dgx)
}

// HiddenGradient writes to dgh the gradient with respect to what the outputs before add to the gates
// of one position, given dgx: they enter the new gate times the reset gate.
func (GRUCell) HiddenGradient(dgh, dgx, state []float32) {
	n := len(dgx) / 3
	copy(dgh[:2*n], dgx)
	for j, r := range state[:n] {
		dgh[2*n+j] = dgx[2*n+j] * r
	}
}
