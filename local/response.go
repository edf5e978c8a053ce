package local

import (
	"encoding/binary"
	"fmt"
	"math"

	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Response is randomized response with any number of values (Warner 1965; Kairouz, Bonawitz, Ramage
// 2016, arXiv:1602.07387): the value itself, or, with a probability, one drawn from all of them.
type Response struct {
	claim
	pure
	noise chance // that the report is drawn from all values
}

var _ Protocol = (*Response)(nil)

// NewResponse returns randomized response, of noise probability d/(e^ε+d-1) for d values, rounded
// up.
func NewResponse(values int, epsilon float64) (*Response, error) {
	c, err := newClaim("randomized_response", values, epsilon)
	if err != nil {
		return nil, err
	}
	return newResponse(c), nil
}

// newResponse returns the protocol with the ε and the number of values of a claim.
func newResponse(c claim) *Response {
	d := float64(c.values)
	noise := atLeast(d / (math.Exp(c.epsilon) + d - 1))
	lie := noise.value() / d
	return &Response{c, pure{noise.complement() + lie, lie}, noise}
}

func (p *Response) String() string {
	return fmt.Sprintf("the value, or with a chance of %.4g one of all %d at random", p.noise.value(), p.values)
}

// Randomize implements [Protocol]. A report is a value in two bytes.
func (p *Response) Randomize(value int, src *random.Source) Report {
	return binary.LittleEndian.AppendUint16(nil, uint16(p.respond(value, src)))
}

func (p *Response) respond(value int, src *random.Source) int {
	if p.noise.draw(src) {
		return int(noise.Below(uint64(p.values), src))
	}
	return value
}

func (p *Response) Likelihood(value int, r Report) float64 {
	if int(binary.LittleEndian.Uint16(r)) == value {
		return p.truth
	}
	return p.lie
}

func (p *Response) Add(scores []float64, r Report) {
	supported, other := p.scores()
	for v := range scores {
		scores[v] += other
	}
	scores[binary.LittleEndian.Uint16(r)] += supported - other
}
