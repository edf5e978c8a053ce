package speed

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"dpsgd/configs"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// fast is a network, machine and job with round numbers: 1 ms an example, 1 GB/s.
var (
	fast    = Network{Rate: 8e9, Latency: 10 * time.Microsecond}
	machine = Machine{Graphs: []Graph{{1, 1}, {64, 64}, {256, 256}}, Sample: 0.1, Add: 0.1, Event: 1, Update: 1, Evaluation: 1000}
	job     = Job{Batch: 4096, Values: 500_000, Physical: 256, EvaluateEvery: 100}
)

func near(t *testing.T, what string, found, want float64) {
	t.Helper()
	if math.Abs(found-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: found %v, expected %v", what, found, want)
	}
}

// A rank that is alone says nothing to anybody, and takes what was measured.
func TestOneRankDoesNotCommunicate(t *testing.T) {
	s := job.At(machine, Network{Rate: 1, Latency: time.Hour}, 1)
	if s.Order != 0 || s.Sums != 0 || s.Disk != 0 {
		t.Errorf("found %+v", s)
	}
	near(t, "step", s.MS(), 0.1+16*256+1+10)
	near(t, "efficiency", s.Efficiency(s), 1)
}

// Messages: a tree of ⌈log2 n⌉ rounds where they are short, halves where they are long. Messages
// of more than 64 KiB, in five of the ten rounds of the last case, take three times the latency.
func TestMessages(t *testing.T) {
	const latency = 1e-2
	for _, test := range []struct {
		ranks               int
		bytes, adding, want float64
	}{
		{1, 1e9, 1, 0},
		{2, 0, 0, latency},
		{2, 1e6, 1, 6*latency + 0.5*(2+1)},
		{3, 1000, 0, 2 * (latency + 1e-3)},
		{1000, 8, 0, 10 * (latency + 8e-6)},
		{4, 1e6, 1, 12*latency + 0.75*(2+1)},
		{1024, 4e6, 0, 40*latency + 1023./1024*8},
	} {
		near(t, "reduction", fast.reduce(test.ranks, test.bytes, test.adding), test.want)
	}
}

// More ranks have no less to say to each other, and a better network takes no longer.
func TestNetworkIsMonotone(t *testing.T) {
	slow := Network{Rate: fast.Rate / 10, Latency: fast.Latency}
	far := Network{Rate: fast.Rate, Latency: 10 * fast.Latency}
	for _, bytes := range []float64{0, 100, 1e4, 1e6, 1e8} {
		for n := 1; n < 2000; n++ {
			here := fast.broadcast(n, bytes)
			if fast.broadcast(n+1, bytes) < here || slow.broadcast(n, bytes) < here || far.broadcast(n, bytes) < here || fast.reduce(n, bytes, 1) < here {
				t.Fatalf("%d ranks, %v bytes: %v ms", n, bytes, here)
			}
		}
	}
}

// The rank with most examples computes full graphs, and one for the rest of its part.
func TestGraphsOfUnevenParts(t *testing.T) {
	m := Machine{Graphs: []Graph{{1, 10}, {16, 25}}}
	for _, test := range []struct {
		examples float64
		want     float64
	}{{16, 25}, {32, 50}, {33, 60}, {40, 67}, {1, 10}, {0.5, 10}, {0, 0}} {
		near(t, "graphs", m.graphs(test.examples, 16), test.want)
	}
	j := job
	j.Batch, j.Physical = 100, 64
	near(t, "gradients", j.At(machine, fast, 3).Gradients, 101./3)
}

// Rank 0 waits for the disk only where everything else was faster.
func TestDiskWorksMeanwhile(t *testing.T) {
	m := machine
	m.Event = 1000
	s := job.At(m, fast, 16)
	near(t, "all until the noise", s.Disk+s.Order+s.Gradients+s.Sums, 1000)
	if s := job.At(machine, fast, 16); s.Disk != 0 {
		t.Errorf("waits %v ms", s.Disk)
	}
	m.Checkpoint = 500
	j := job
	j.CheckpointEvery = 1
	near(t, "the same with a checkpoint", j.At(m, fast, 16).Disk, s.Disk+500)
	j.CheckpointEvery = 10
	near(t, "the same with some", j.At(m, fast, 16).Disk, s.Disk+50)
}

// Limits are the first numbers of ranks of which they speak.
func TestLimits(t *testing.T) {
	l := job.Limits(machine, fast)
	one := job.At(machine, fast, 1)
	efficiency := func(n int) float64 { return job.At(machine, fast, n).Efficiency(one) }
	if !(efficiency(l.Below90) < 0.9 && efficiency(l.Below90-1) >= 0.9 && efficiency(l.Below50) < 0.5 && efficiency(l.Below50-1) >= 0.5) {
		t.Errorf("found %+v", l)
	}
	for _, n := range []int{1, l.Fastest / 2, l.Fastest - 1, l.Fastest + 1, l.Searched} {
		if job.At(machine, fast, n).MS() < job.At(machine, fast, l.Fastest).MS() {
			t.Errorf("%d ranks are faster than the fastest %d", n, l.Fastest)
		}
	}
	free := job
	free.EvaluateEvery = 0
	if l := free.Limits(Machine{Graphs: machine.Graphs}, Network{Rate: math.Inf(1)}); l.Below50 != 0 || l.Searched != 4096 {
		t.Errorf("where nothing costs: found %+v", l)
	}
}

// A larger batch is more efficient.
func TestLargerBatch(t *testing.T) {
	large := job
	large.Batch *= 4
	small, big := job.At(machine, fast, 64), large.At(machine, fast, 64)
	if big.Efficiency(large.At(machine, fast, 1)) <= small.Efficiency(job.At(machine, fast, 1)) {
		t.Error("a larger batch is not more efficient")
	}
}

// What the design of this program expected on paper before there was any of it: a batch of 16,384,
// 190 ms for 256 examples, 551,000 parameters, 25 Gb/s, 25 µs a message, and equal parts: on 1,000
// ranks the largest is 3 % larger than the others.
func TestPaper(t *testing.T) {
	j := Job{Batch: 16_384, Values: 551_000, Physical: 256}
	m := Machine{Graphs: []Graph{{1, 190. / 256}, {256, 190}}, Add: 0.4, Update: 1.4}
	w := Network{Rate: 25e9, Latency: 25 * time.Microsecond}
	one := j.At(m, w, 1)
	for ranks, want := range map[int]float64{16: 0.97, 100: 0.94, 1000: 0.60} {
		found := j.At(m, w, ranks).Efficiency(one)
		t.Logf("%d ranks: efficiency %.3f", ranks, found)
		if math.Abs(found-want) > 0.05 {
			t.Errorf("%d ranks: efficiency %v, expected about %v", ranks, found, want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{"25Gb": 25e9, "1Gb": 1e9, "100Mb": 1e8, "2.5Gb/s": 2.5e9, "64kb": 64e3, "1Tb": 1e12} {
		if found, err := ParseRate(text); err != nil || found != want {
			t.Errorf("%s: found %v, %v", text, found, err)
		}
	}
	for _, text := range []string{"", "25", "25GB", "Gb", "0Gb", "-1Gb", "NaNGb", "InfGb", "1e400Gb", "1e308Gb", "25 Gb", "25gb"} {
		if found, err := ParseRate(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: found %v, %v", text, found, err)
		}
	}
}

// The sizes of graphs that are measured go up from 1 to the largest.
func TestGraphSizes(t *testing.T) {
	for most, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 6}, 128: {1, 8, 32, 128}, 256: {1, 4, 16, 64, 256}} {
		if found := graphSizes(most); len(found) != len(want) || found[0] != want[0] || found[len(found)-1] != most {
			t.Errorf("%d: found %v, expected %v", most, found, want)
		}
	}
	m := Machine{Graphs: []Graph{{1, 1}, {4, 2}}}
	for size, want := range map[float64]float64{1: 1, 2: 4. / 3, 4: 2} {
		near(t, "graph", m.graph(size), want)
	}
}

// A plan of a preset, measured here: everything is there, and agrees.
func TestPlanOfAPreset(t *testing.T) {
	c := tiny.Must(configs.Load("digits", []string{"performance.threads=1"}))(t)
	p := tiny.Must(OnRanks(context.Background(), c, Request{Ranks: 3, Network: fast, Measure: 50 * time.Millisecond}))(t)
	if p.Network != "mnist-cnn" || p.Threads != 1 || p.Parameters != 26_010 || p.Batch != 512 || p.Steps < 100 || p.Memory.Total() < 1<<20 {
		t.Errorf("found %+v", p)
	}
	m := p.Measured
	if len(m.Graphs) != 4 || m.Sample <= 0 || m.Merge <= 0 || m.Add <= 0 || m.Event <= 0 || m.Evaluation <= 0 {
		t.Errorf("measured %+v", m)
	}
	if len(p.Rows) != len(tableRanks)+1 || p.Rows[0].Ranks != 1 || p.Rows[2].Ranks != 3 || p.Rows[0].Efficiency != 1 {
		t.Fatalf("found the rows %+v", p.Rows)
	}
	total := 0.0
	for _, part := range p.Parts {
		total += part.MS
	}
	near(t, "step", total, p.Rows[2].StepMS)
	if len(p.Batches) < 2 || p.Batches[0] != p.Rows[2] {
		t.Errorf("found %+v", p)
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}

// What is no run of `train run` has no plan.
func TestPlanRefuses(t *testing.T) {
	for preset, want := range map[string]string{"federated-digits": "federated.clients", "label-digits": "privacy.unit", "pate-digits": "pate.teachers"} {
		c := tiny.Must(configs.Load(preset, nil))(t)
		if _, err := OnRanks(context.Background(), c, Request{Ranks: 2, Network: fast}); !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v", preset, err)
		}
	}
}
