package speed

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
	"time"

	"dpsgd/configs"
	"dpsgd/internal/ranks"
)

// Job is what a configuration asks of its ranks.
type Job struct {
	Batch                          float64 // expected examples of a step
	Deviation                      float64 // of their number: samples are random
	Values                         int     // coordinates of the sum
	Physical                       int     // the largest batch that a graph may hold: training.physical_batch_size
	EvaluateEvery, CheckpointEvery int     // steps; 0 is never
}

// Machine is what was measured on one machine, in milliseconds.
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

// Graph is how long the contributions of a physical batch take, with their sum. A graph that is not full takes as long.
type Graph struct {
	Examples int     `json:"examples"`
	MS       float64 `json:"ms"`
}

// graph is the time of a physical batch, between those that were measured.
func (m Machine) graph(physical int) float64 {
	g := m.Graphs
	i := sort.Search(len(g), func(i int) bool { return g[i].Examples >= physical })
	if i == len(g) {
		i--
		return g[i].MS * float64(physical) / float64(g[i].Examples)
	}
	if i == 0 {
		return g[0].MS
	}
	share := float64(physical-g[i-1].Examples) / float64(g[i].Examples-g[i-1].Examples)
	return g[i-1].MS + share*(g[i].MS-g[i-1].MS)
}

// Step is the expected time of a step, in milliseconds, part by part in their order.
type Step struct {
	Ranks    int
	Physical int // the size of the graph of every rank

	Sample     float64 // rank 0 draws
	Order      float64 // parameters and the indices of the sample, to everybody
	Gradients  float64 // of as many examples as each rank has
	Padding    float64 // of graphs that are not full
	Sums       float64 // everybody's, to rank 0
	Disk       float64 // that rank 0 still waits for the event
	Update     float64 // noise and update, on rank 0
	Evaluation float64 // its share in a step, on rank 0
}

type Part struct {
	Name string  `json:"part"`
	MS   float64 `json:"ms"`
}

// Parts are those of a step in their order.
func (s Step) Parts() []Part {
	return []Part{
		{"sample", s.Sample}, {"parameters, indices to all", s.Order}, {"gradients", s.Gradients}, {"padding", s.Padding},
		{"sums to rank 0", s.Sums}, {"event on disk", s.Disk}, {"noise, update", s.Update}, {"evaluation", s.Evaluation},
	}
}

// MS is the whole step.
func (s Step) MS() float64 {
	total := 0.0
	for _, p := range s.Parts() {
		total += p.MS
	}
	return total
}

// Efficiency is how much of the ranks' time the same step would take on one of them.
func (s Step) Efficiency(one Step) float64 { return s.Speedup(one) / float64(s.Ranks) }

// Speedup is how many times faster than on one rank a step is.
func (s Step) Speedup(one Step) float64 { return one.MS() / s.MS() }

// Bytes of what is sent.
const (
	lengthBytes    = 8 // ahead of everything that all hear
	headerBytes    = 32
	indexBytes     = 8
	sumBytes       = 8
	parameterBytes = 4
	libraryBytes   = 8 << 20
)

// with is a step on so many ranks whose graphs hold so many examples.
func (j Job) with(m Machine, w Network, n, physical int) Step {
	each := j.Batch / float64(n)
	values := float64(j.Values)
	say := func(bytes float64) float64 { return w.broadcast(n, lengthBytes) + w.broadcast(n, bytes) }
	s := Step{
		Ranks: n, Physical: physical, Sample: m.Sample, Update: m.Update,
		Order:     say(headerBytes) + say(parameterBytes*values+indexBytes*j.Batch),
		Gradients: m.graph(physical) * each / float64(physical),
	}
	if n > 1 {
		// "I have mine", to rank 0; "so have all", to everybody; then the sums themselves.
		s.Sums = milliseconds(w.Latency) + w.broadcast(n, lengthBytes) + w.reduce(n, sumBytes*values, m.Add) + m.Merge
	}
	s.Padding = max(0, m.graph(physical)*j.graphs(n, physical)-s.Gradients)
	// The disk works since the sample was drawn: at the event, and before that at a checkpoint of the step before.
	meanwhile := s.Order + s.Gradients + s.Padding + s.Sums
	s.Disk = max(0, m.Event-meanwhile)
	if every := float64(j.CheckpointEvery); every > 0 {
		s.Disk += (max(0, m.Checkpoint+m.Event-meanwhile) - s.Disk) / every
	}
	if j.EvaluateEvery > 0 {
		s.Evaluation = m.Evaluation / float64(j.EvaluateEvery)
	}
	return s
}

// graphs is how many physical batches the rank with most examples is expected to compute:
// E⌈N / (ranks · physical)⌉ for a normal number N of examples, as the sum over k of P(N > k·ranks·physical).
func (j Job) graphs(ranks, physical int) float64 {
	room := float64(ranks) * float64(physical)
	if j.Deviation == 0 {
		return math.Ceil(j.Batch / room)
	}
	const certain = 8 // deviations
	first := max(0, math.Floor((j.Batch-certain*j.Deviation)/room))
	expected := first
	for k := first; k*room < j.Batch+certain*j.Deviation; k++ {
		// Whole numbers above k·room begin half a unit beyond it.
		expected += math.Erfc((k*room+0.5-j.Batch)/(j.Deviation*math.Sqrt2)) / 2
	}
	return expected
}

// At is a step on so many ranks, whose graphs hold what [ranks.Physical] makes them hold.
func (j Job) At(m Machine, w Network, n int) Step {
	c := new(configs.Config)
	c.Training.PhysicalBatchSize = j.Physical
	return j.with(m, w, n, ranks.Physical(c, j.Batch, j.Physical, n))
}

// mostRanks is where the search for limits ends.
const mostRanks = 10_000

// Limits say where more ranks stop paying; 0 is at no number up to one example a rank and 10,000 ranks.
type Limits struct {
	Below90  int `json:"below_90_percent"` // the first number of ranks with a lower efficiency
	Below50  int `json:"below_50_percent"`
	Fastest  int `json:"fastest"`  // beyond it steps take longer
	Searched int `json:"searched"` // up to so many
}

// Limits looks through all numbers of ranks.
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

// WithBatch is the same job with so many times the examples in a step, from this many records.
func (j Job) WithBatch(times float64, records int) Job {
	n := float64(records)
	if j.Deviation > 0 {
		chance := min(1, times*j.Batch/n)
		j.Deviation = math.Sqrt(n * chance * (1 - chance))
	}
	j.Batch = min(n, times*j.Batch)
	return j
}

// Network is what lies between the ranks: each sends and receives at once at this rate, and all at the
// same time.
type Network struct {
	Rate    float64       // bits a second
	Latency time.Duration // from the call of a sender to the return of its receiver, of a message without length
}

// rates are the units of [ParseRate].
var rates = []struct {
	unit string
	bits float64
}{{"kb", 1e3}, {"Mb", 1e6}, {"Gb", 1e9}, {"Tb", 1e12}}

// ParseRate reads bits a second as people say them: 25Gb, 100Mb, 2.5Gb/s.
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

// rounds is how many times what one rank has must be passed on until n ranks have it.
func rounds(n int) float64 { return float64(bits.Len(uint(n - 1))) }

// broadcast is how many milliseconds n ranks need to know what one knows, reduce to add up what each of them has,
// where adding takes so long. MPI libraries choose between two ways by the length: a tree, which
// sends everything in every round, and halves: everybody deals with a part, which takes twice as
// many rounds and sends everything twice. (Thakur, Rabenseifner, Gropp: Optimization of Collective
// Communication Operations in MPICH, 2005, sections 4.2 and 4.5. A ring sends as much in n rounds.)
func (w Network) broadcast(n int, bytes float64) float64 { return w.reduce(n, bytes, 0) }

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

// eager is the longest message that is sent at once, of Open MPI over TCP (btl_tcp_eager_limit). Before a
// longer one sender and receiver agree on it.
const eager = 64 << 10

// start is how long the first byte of a message takes.
func (w Network) start(bytes float64) float64 {
	if bytes > eager {
		return 3 * milliseconds(w.Latency) // announced, asked for, sent
	}
	return milliseconds(w.Latency)
}

// sending is how long so many bytes take on a line.
func (w Network) sending(bytes float64) float64 { return 8e3 * bytes / w.Rate }
