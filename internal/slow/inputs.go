// Package slow is for tests whose evidence takes long. `go test ./...` leaves it out or takes less
// of it; `DPSGD_SLOW=1 go test -timeout 60m ./...` asks for all of it, and so does .ci/slow, with no
// other tests. A step of .ci/run is .ci/slow with fewer cases.
package slow

import (
	"encoding/binary"
	"flag"
	"os"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"
)

// Inputs is the body of a fuzz target. try reads one input and returns how many bytes this says
// that it stands for; it fails the test where something is wrong with what was read. Beside that an
// input may allocate 64 MiB more than it stands for.
//
// `go test` runs the seeds and the files below testdata/fuzz, `go test -fuzz` what the coverage
// finds beside them, and DPSGD_INPUTS=N as many mutations of the seeds, one after the other in this
// process, which is up to a hundred times faster. The last two allow an input no more than a second of
// processor time.
func Inputs(f *testing.F, seeds [][]byte, try func(t testing.TB, input []byte) (declared int64)) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	if n, err := strconv.Atoi(os.Getenv("DPSGD_INPUTS")); err == nil {
		words := mutator(n)
		for i := 0; i < n && !f.Failed(); i++ {
			within(f, words.mutated(seeds), true, try)
		}
		f.Logf("%d inputs", n)
	}
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	f.Fuzz(func(t *testing.T, input []byte) { within(t, input, fuzzing, try) })
}

const (
	mostBytes = 64 << 20
	mostTime  = time.Second
)

// within fails if try takes more memory or processor time than it may. Collections of garbage count
// for the input under which they happen, so it is tried three times.
func within(t testing.TB, input []byte, timed bool, try func(t testing.TB, input []byte) (declared int64)) {
	var took time.Duration
	for range 3 {
		before, begun := allocated(), processorTime()
		declared := try(t, input)
		took = processorTime() - begun
		if more := allocated() - before; more > mostBytes+max(0, declared) {
			t.Errorf("%.200q takes %d bytes of memory, expected at most %d beyond the %d that it stands for", input, more, mostBytes, declared)
		}
		if !timed || took <= mostTime {
			return
		}
	}
	t.Errorf("%.200q takes %v of processor time, expected at most %v", input, took, mostTime)
}

func allocated() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// mutator is a stream of words, by SplitMix64 (Steele, Lea, Flood 2014).
type mutator uint64

// below returns a number from 0 to n-1; 0 for n = 0.
func (m *mutator) below(n int) int {
	*m += 0x9e3779b97f4a7c15
	z := uint64(*m)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(max(1, n)))
}

// ends are numbers at which a parser may err.
var ends = []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}

func (m *mutator) mutated(seeds [][]byte) []byte {
	input := append([]byte(nil), seeds[m.below(len(seeds))]...)
	for range 1 + m.below(8) {
		at := m.below(len(input))
		switch m.below(7) {
		case 0:
			input = input[:at]
		case 1:
			other := seeds[m.below(len(seeds))]
			input = append(input[:at], other[m.below(len(other)):]...)
		case 2:
			input = append(input[:at], input[at+m.below(min(16, len(input)-at)):]...)
		case 3:
			input = append(input[:at], append([]byte{byte(m.below(256))}, input[at:]...)...)
		case 4:
			end := binary.LittleEndian.AppendUint64(nil, ends[m.below(len(ends))])
			copy(input[at:], end[:1<<m.below(4)])
		default:
			if len(input) > 0 {
				input[at] ^= 1 << m.below(8)
			}
		}
	}
	return input
}

// variable is the environment variable that asks for slow evidence when it is not empty.
const variable = "DPSGD_SLOW"

// Asked reports whether the environment variable DPSGD_SLOW is not empty. A test then takes more
// cases than it does by default.
func Asked() bool { return os.Getenv(variable) != "" }

// Evidence skips a test that takes seconds of processor time, unless slow evidence is asked for.
// Something quicker has to hold the same contract in every `go test ./...`.
func Evidence(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skipf("slow evidence: %s=1 go test -timeout 60m -run '^%s$' . carries it out", variable, t.Name())
	}
}

// Number returns how many draws or cases a test takes: the value of the environment variable name
// if it is set; else all if slow evidence is asked for, and few if not.
func Number(t testing.TB, name string, few, all int) int {
	t.Helper()
	text := os.Getenv(name)
	switch {
	case text == "" && Asked():
		return all
	case text == "":
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, expected a number of at least 1", name, text)
	}
	return n
}
