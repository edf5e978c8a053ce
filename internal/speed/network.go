package speed

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

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
