package speed

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Job says how much work a step is, which a configuration asks of its ranks.
type Job struct {
	Batch                          float64 // expected examples of a step
	Values                         int     // coordinates of the sum
	Physical                       int     // the largest batch that a graph may hold: training.physical_batch_size
	EvaluateEvery, CheckpointEvery int     // steps; 0 is never
}

// Machine holds the times that were measured on one machine, in milliseconds.
type Machine struct {
	Graphs     []Graph `json:"graphs"`        // of ascending sizes, the first of which is 1
	Sample     float64 `json:"sample_ms"`     // of drawing a sample
	Merge      float64 `json:"merge_ms"`      // of making a sum ready to be sent, and taking the total back
	Add        float64 `json:"add_ms"`        // of adding one sum to another
	Event      float64 `json:"event_ms"`      // until an event is durable
	Checkpoint float64 `json:"checkpoint_ms"` // until a checkpoint is
	Update     float64 `json:"update_ms"`     // of noise and update
	Evaluation float64 `json:"evaluation_ms"` // of all test examples
}

// Graph says how many milliseconds a graph computes the contributions of so many examples, at once,
// and their sum.
type Graph struct {
	Examples int     `json:"examples"`
	MS       float64 `json:"ms"`
}

// graph returns the milliseconds of so many examples at once, interpolated between the numbers that
// were measured.
func (m Machine) graph(examples float64) float64 {
	g := m.Graphs
	i := sort.Search(len(g)-1, func(i int) bool { return float64(g[i].Examples) >= examples })
	if i == 0 {
		return g[0].MS
	}
	share := (examples - float64(g[i-1].Examples)) / float64(g[i].Examples-g[i-1].Examples)
	return g[i-1].MS + share*(g[i].MS-g[i-1].MS)
}

// graphs returns the milliseconds of so many examples, of which at most physical are in a graph at
// once.
func (m Machine) graphs(examples float64, physical int) float64 {
	full, rest := math.Modf(examples / float64(physical))
	ms := full * m.graph(float64(physical))
	if rest > 0 {
		ms += m.graph(rest * float64(physical))
	}
	return ms
}

// Step is the expected time of a step, in milliseconds, part by part in their order.
type Step struct {
	Ranks int

	Sample     float64 // rank 0 draws the sample
	Order      float64 // rank 0 sends parameters and the indices of the sample to all
	Gradients  float64 // each rank computes the gradients of its examples
	Sums       float64 // all sums travel to rank 0
	Disk       float64 // rank 0 still waits until the event is on disk
	Update     float64 // rank 0 adds noise and updates
	Evaluation float64 // rank 0 evaluates: the share of one step
}

// Part is the time of one part of a step.
type Part struct {
	Name string  `json:"part"`
	MS   float64 `json:"ms"`
}

// Parts returns the parts of the step in their order.
func (s Step) Parts() []Part {
	return []Part{
		{"sample", s.Sample}, {"parameters, indices to all", s.Order}, {"gradients", s.Gradients},
		{"sums to rank 0", s.Sums}, {"event on disk", s.Disk}, {"noise, update", s.Update}, {"evaluation", s.Evaluation},
	}
}

// MS returns the milliseconds of the whole step.
func (s Step) MS() float64 {
	total := 0.0
	for _, p := range s.Parts() {
		total += p.MS
	}
	return total
}

// Efficiency returns the speedup divided by the number of ranks.
func (s Step) Efficiency(one Step) float64 { return s.Speedup(one) / float64(s.Ranks) }

// Speedup returns how many times faster the step is than one, the same step on one rank.
func (s Step) Speedup(one Step) float64 { return one.MS() / s.MS() }

// Bytes of the messages of a step.
const (
	lengthBytes    = 8 // the length that goes ahead of every message to all
	headerBytes    = 32
	indexBytes     = 8
	sumBytes       = 8
	parameterBytes = 4
	libraryBytes   = 8 << 20
)

// At returns the expected step on n ranks.
func (j Job) At(m Machine, w Network, n int) Step {
	each := (j.Batch + float64(n-1)/2) / float64(n) // the most that one has of N, ⌈N/n⌉, in expectation
	values := float64(j.Values)
	say := func(bytes float64) float64 { return w.broadcast(n, lengthBytes) + w.broadcast(n, bytes) }
	s := Step{
		Ranks: n, Sample: m.Sample, Update: m.Update,
		Order:     say(headerBytes) + say(parameterBytes*values+indexBytes*j.Batch),
		Gradients: m.graphs(each, j.Physical),
	}
	if n > 1 {
		// "I have mine", to rank 0; "so have all", to everybody; then the sums themselves.
		s.Sums = milliseconds(w.Latency) + w.broadcast(n, lengthBytes) + w.reduce(n, sumBytes*values, m.Add) + m.Merge
	}
	// The disk works since the sample was drawn: at the event, and before that at a checkpoint of
	// the step before.
	meanwhile := s.Order + s.Gradients + s.Sums
	s.Disk = max(0, m.Event-meanwhile)
	if every := float64(j.CheckpointEvery); every > 0 {
		s.Disk += (max(0, m.Checkpoint+m.Event-meanwhile) - s.Disk) / every
	}
	if j.EvaluateEvery > 0 {
		s.Evaluation = m.Evaluation / float64(j.EvaluateEvery)
	}
	return s
}

// mostRanks is the largest number of ranks in the search for limits.
const mostRanks = 10_000

// Limits says from which number of ranks on more of them do not pay; 0 is none up to Searched.
type Limits struct {
	Below90  int `json:"below_90_percent"` // the first number of ranks with a lower efficiency
	Below50  int `json:"below_50_percent"`
	Fastest  int `json:"fastest"`  // beyond it steps take longer
	Searched int `json:"searched"` // the largest number that was tried
}

// Limits finds the limits among 1 to 10,000 ranks, with at least one expected example a rank.
func (j Job) Limits(m Machine, w Network) Limits {
	l := Limits{Fastest: 1, Searched: max(1, min(mostRanks, int(j.Batch)))}
	one := j.At(m, w, 1)
	fastest := one.MS()
	for n := 2; n <= l.Searched; n++ {
		s := j.At(m, w, n)
		efficiency := s.Efficiency(one)
		if efficiency < 0.9 && l.Below90 == 0 {
			l.Below90 = n
		}
		if efficiency < 0.5 && l.Below50 == 0 {
			l.Below50 = n
		}
		if s.MS() < fastest {
			l.Fastest, fastest = n, s.MS()
		}
	}
	return l
}

// Network describes the network between the ranks. Each rank can send and receive at this rate,
// both at once, and all ranks at the same time.
type Network struct {
	Rate    float64       // bits a second
	Latency time.Duration // of an empty message, from the call that sends it to the return of the one that receives it
}

// rates lists the units that [ParseRate] knows.
var rates = []struct {
	unit string
	bits float64
}{{"kb", 1e3}, {"Mb", 1e6}, {"Gb", 1e9}, {"Tb", 1e12}}

// ParseRate reads bits per second as people write them: 25Gb, 100Mb, 2.5Gb/s.
func ParseRate(text string) (float64, error) {
	number := strings.TrimSuffix(text, "/s")
	for _, r := range rates {
		digits, found := strings.CutSuffix(number, r.unit)
		if !found {
			continue
		}
		if x, err := strconv.ParseFloat(digits, 64); err == nil && x > 0 && !math.IsInf(x*r.bits, 0) {
			return x * r.bits, nil
		}
	}
	return 0, fmt.Errorf("found the rate %q of a network, expected bits a second such as 25Gb, 1Gb or 100Mb (8 bits are a byte)", text)
}

// rounds returns ⌈log2 n⌉: in that many rounds what one rank has reaches n ranks, as everybody who
// has it passes it on in each round.
func rounds(n int) float64 { return float64(bits.Len(uint(n - 1))) }

// broadcast returns the milliseconds until n ranks have the bytes that one of them has.
func (w Network) broadcast(n int, bytes float64) float64 { return w.reduce(n, bytes, 0) }

// reduce returns the milliseconds until one rank has the sum of n ranks' vectors of so many bytes;
// to add one to another takes adding milliseconds. MPI libraries choose between two ways by the
// length: a tree, which sends everything in every round, and halves, where every rank deals with a
// part: that takes twice as many rounds and sends everything twice. (Thakur, Rabenseifner, Gropp:
// Optimization of Collective Communication Operations in MPICH, 2005, sections 4.2 and 4.5. A ring
// sends as much in n rounds.)
func (w Network) reduce(n int, bytes, adding float64) float64 {
	if n < 2 {
		return 0
	}
	whole, part := w.sending(bytes)+adding, float64(n-1)/float64(n)
	tree := rounds(n) * (w.start(bytes) + whole)
	halves := part * (2*w.sending(bytes) + adding)
	for round := 1.0; round <= rounds(n); round++ {
		halves += 2 * w.start(math.Ldexp(bytes, -int(round)))
	}
	return min(tree, halves)
}

// eager is the longest message that Open MPI over TCP sends at once (btl_tcp_eager_limit). Sender
// and receiver agree on a longer one before it is sent.
const eager = 64 << 10

// start returns the milliseconds until the first byte of a message arrives.
func (w Network) start(bytes float64) float64 {
	if bytes > eager {
		return 3 * milliseconds(w.Latency) // announced, asked for, sent
	}
	return milliseconds(w.Latency)
}

// sending returns the milliseconds that bytes take at the rate of the network.
func (w Network) sending(bytes float64) float64 { return 8e3 * bytes / w.Rate }
