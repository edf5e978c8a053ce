package pld

import (
	"cmp"
	"math"
	"slices"

	"dpsgd/accountant/internal/pair"
)

// roundingOfLosses is the part of an interval by which the rounding of losses and tails
// may move a loss. Losses that are so close to a grid point count as on it.
const roundingOfLosses = 1e-9

// law is a distribution of losses on a grid: mass[i] is at the loss (index[i] + offset)·interval,
// with increasing index, and infinite at +Inf. What is missing from 1 lies at -Inf.
type law struct {
	index    []int
	mass     []float64
	offset   float64
	infinite float64
}

// put adds mass at index, which is the last index that was put or comes after it in order.
func (w *law) put(index int, mass float64) {
	if mass <= 0 {
		return
	}
	if n := len(w.index); n > 0 && w.index[n-1] == index {
		w.mass[n-1] += mass
		return
	}
	w.index = append(w.index, index)
	w.mass = append(w.mass, mass)
}

// connectDots returns a law that is easier to tell apart than the pair: its δ(ε) joins
// the pair's values at the nodes by chords, as a function of e^ε (Doroshenko, Ghazi,
// Kamath, Kumar, Manurangsi 2022, arXiv:2207.04380, Theorem 3.1). The mass p of a cell
// (a, b] under P and r under Q is split among a and b so that both totals are kept:
//
//	p_a + p_b = p,  p_a e^-a + p_b e^-b = r.
//
// Losses below the first node are raised to it, those above the last one to +Inf.
func connectDots(p pair.Pair, nodes []int, interval float64) law {
	losses := make([]float64, len(nodes))
	for i, k := range nodes {
		losses[i] = float64(k) * interval
	}
	t := tails(p, losses)
	var w law
	w.put(nodes[0], t[0].belowP)
	for i := range len(nodes) - 1 {
		a, width := losses[i], losses[i+1]-losses[i]
		mass, other := between(t[i], t[i+1])
		right := mass
		if a < 690 && other >= pair.LeastNormal { // e^a is finite
			right = (mass - other*math.Exp(a)) / -math.Expm1(-width)
		}
		right = min(max(right, 0), mass)
		w.put(nodes[i], mass-right)
		w.put(nodes[i+1], right)
	}
	w.infinite = t[len(t)-1].aboveP
	return w
}

// atom is several outcomes merged into one: mass is its probability under P, other that under Q,
// and its loss is log(mass/other).
type atom struct{ mass, other, loss float64 }

// merge returns a law that is harder to tell apart than the pair. The outcomes of each
// cell are made one outcome, which is post-processing, and the losses of these move to
// a grid by [rounder]. Cells begin and end half an interval beside the nodes, so that
// most of these losses lie close to grid points.
//
// The grid may have any offset. Where a pair has most of its mass within one interval
// (small sampling probabilities) a grid that misses it loses a part of an interval in
// every release; so the best of several offsets is taken, by E[e^(sL)] at s = steepness, or
// the first one that loses at most enough of its logarithm.
//
// Finite losses beyond the nodes are lowered to -Inf.
func merge(p pair.Pair, nodes []int, interval, steepness, enough float64) law {
	atoms, infinite := atoms(p, subdivided(nodes, interval))
	var best law
	cumulant := logMoment(len(atoms), steepness, func(i int) (mass, loss float64) { return atoms[i].mass, atoms[i].loss })
	most, enough := math.Inf(-1), cumulant-enough
	try := func(offset float64) (good bool) {
		r := rounder{interval: interval}
		r.offset = offset - math.Floor(offset)
		for _, a := range atoms {
			r.move(a)
		}
		r.spend()
		if k := r.cumulant(steepness, interval); k > most {
			most, best = k, r.increasing()
		}
		return most >= enough
	}
	if !slices.ContainsFunc(offsets(atoms, interval, steepness), try) {
		for step := 0x1p-6; step > 0x1p-13; step /= 2 {
			middle := best.offset
			try(middle - step)
			try(middle + step)
		}
	}
	best.infinite = infinite
	return best
}

// subdivided returns the losses between which merge makes one outcome, ascending: half an interval
// beside each node. If there are few nodes, cells one interval wide are divided into up to 16.
func subdivided(nodes []int, interval float64) []float64 {
	n := max(1, min(16, 1<<11/len(nodes)))
	var losses []float64
	for i, k := range nodes {
		parts := n
		if i+1 == len(nodes) || nodes[i+1] > k+1 {
			parts = 1
		}
		for j := range parts {
			losses = append(losses, (float64(k)+0.5+float64(j)/float64(parts))*interval)
		}
	}
	return losses
}

// atoms returns one merged outcome for each cell between neighbouring losses that has mass under P,
// from the greatest loss downwards, and P[L = +Inf].
func atoms(p pair.Pair, losses []float64) (as []atom, infinite float64) {
	t := tails(p, losses)
	last := len(losses) - 1
	for i := last - 1; i >= 0; i-- {
		if mass, other := between(t[i], t[i+1]); mass > 0 {
			loss := min(max(math.Log(mass/other), losses[i]), losses[i+1])
			if other < pair.LeastNormal {
				loss, other = losses[i], mass*math.Exp(-losses[i])
			}
			as = append(as, atom{mass, other, loss})
		}
	}
	return as, p.Infinite()
}

// offsets lists the offsets of the grid to try, in intervals, 0 first. Some put one of the atoms
// that are heaviest under e^(sL), s the steepness, on a grid point. Some do that for one of the
// least losses with some mass: credit (see rounder) is left over unless it can be spent on that
// atom. The others are evenly spaced.
func offsets(atoms []atom, interval, steepness float64) []float64 {
	weight := func(a atom) float64 { return math.Log(a.mass) + steepness*a.loss }
	heaviest := slices.Clone(atoms)
	slices.SortFunc(heaviest, func(a, b atom) int { return cmp.Compare(weight(b), weight(a)) })
	parts := []float64{0}
	put := func(a atom) {
		grid := a.loss / interval
		parts = append(parts, grid-math.Floor(grid))
	}
	for _, a := range heaviest[:min(4, len(heaviest))] {
		put(a)
	}
	below, some := 0.0, 1e-6
	for _, a := range slices.Backward(atoms) {
		if below += a.mass; below > some {
			put(a)
			some = 10 * below
		}
	}
	others := min(32, 1<<17/(len(atoms)+1)) // fine cells need none
	for i := range others {
		parts = append(parts, (float64(i)+0.5)/float64(others))
	}
	return parts
}

// logMoment returns log Σ mass·e^(θ·loss) over n outcomes, of which at returns the i-th.
func logMoment(n int, theta float64, at func(i int) (mass, loss float64)) float64 {
	most := math.Inf(-1)
	for i := range n {
		_, loss := at(i)
		most = max(most, theta*loss)
	}
	sum := 0.0
	for i := range n {
		mass, loss := at(i)
		sum += mass * math.Exp(theta*loss-most)
	}
	return most + math.Log(sum)
}

// rounder builds a law from the greatest loss downwards. It moves atoms to
// neighbouring points of the grid such that δ(ε), also of any composition, does not grow.
//
// Write Y = e^-L. δ(ε) of a composition is E_P[(1 - e^ε Y₁⋯Y_T)₊], and for any values of
// the other factors it is E[f(Y)] with f decreasing and convex. Let atoms of mass m_i
// lie at y₁ ≤ y₂ ≤ …, and move them to z₁ ≤ z₂ ≤ …. If
//
//	Σ_{i ≤ n} m_i (z_i - y_i) ≥ 0  for every n,                (credit)
//
// then E[f] does not grow: f(z_i) - f(y_i) ≤ f′(z_i)(z_i - y_i), where g_i = -f′(z_i) ≥ 0 decreases
// with i, so Σ m_i (f(z_i) - f(y_i)) ≤ -Σ g_i m_i (z_i - y_i) ≤ 0 by summation by parts. (It is
// weak majorization.) So: from the greatest loss downwards, lowering a loss (z > y) earns credit,
// and credit is spent on raising others. Nearly all of it is spent, so the mean of Y is kept and
// the error is quadratic in the interval, as that of connectDots is.
type rounder struct {
	law      // decreasing while it is built
	interval float64
	credits  []float64 // credits[n] = Σ m (z - y) of all that lies at index[0] to index[n], at least 0
}

func (r *rounder) credit() float64 {
	if n := len(r.credits); n > 0 {
		return r.credits[n-1]
	}
	return 0
}

// place puts mass at an index and adds earned to the credit. A cost is an earned below 0.
func (r *rounder) place(index int, mass, earned float64) {
	if mass <= 0 {
		return
	}
	credit := max(0, r.credit()+earned) // only rounding makes it negative
	r.put(index, mass)
	r.credits = append(r.credits[:len(r.index)-1], credit)
}

// move puts atom a, the next one downwards, on the two grid points around its loss. It raises no
// atom by more than half an interval unless there is plenty of credit: what lies around a grid
// point is to meet there, the upper half paying for the lower one.
func (r *rounder) move(a atom) {
	grid := a.loss/r.interval - r.offset
	down := math.Floor(grid + roundingOfLosses)
	fall := max(0, grid-down) * r.interval
	if fall <= roundingOfLosses*r.interval {
		r.place(int(down), a.mass, 0)
		return
	}
	earned := a.other * math.Expm1(fall)                // m y (e^fall - 1)
	cost := -a.other * math.Expm1(-(r.interval - fall)) // m y (1 - e^-rise)
	raised := 0.0
	near := grid-down >= 0.5 || r.credit() > a.other*r.interval
	if n := len(r.index); near && n > 0 && int(down)+1 <= r.index[n-1] && cost > 0 {
		raised = min(1, r.credit()/cost*(1-1e-9))
	}
	r.place(int(down)+1, raised*a.mass, -raised*cost)
	r.place(int(down), (1-raised)*a.mass, (1-raised)*earned)
}

// spend uses the credit that is left to raise the least losses to the next greater one, all of the
// mass at the last point as long as the credit lasts, then a part of it. The sums of the rule
// (credit) only need to hold at the last atom before z changes. So what the last point has earned
// by itself pays for it as a whole, not for a part of it, which moves before the rest and needs
// credit from before: credits[n-2] plus the part's own, part·(earned - cost).
func (r *rounder) spend() {
	for n := len(r.index); n > 1; n-- {
		loss, next := r.loss(r.index[n-1], r.interval), r.loss(r.index[n-2], r.interval)
		cost := -math.Exp(math.Log(r.mass[n-1])-loss) * math.Expm1(loss-next)
		credit, before := r.credits[n-1], r.credits[n-2]
		if part := min(credit/cost, before/(cost-(credit-before))) * (1 - 1e-9); credit < cost {
			r.mass[n-2] += part * r.mass[n-1]
			r.mass[n-1] *= 1 - part
			return
		}
		r.mass[n-2] += r.mass[n-1]
		r.credits[n-2] = credit - cost
		r.index, r.mass, r.credits = r.index[:n-1], r.mass[:n-1], r.credits[:n-1]
	}
}

// increasing puts the rounder's law in ascending order and returns it. The rounder is then used up.
func (r *rounder) increasing() law {
	slices.Reverse(r.index)
	slices.Reverse(r.mass)
	return r.law
}
