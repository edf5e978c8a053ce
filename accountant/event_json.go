package accountant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// kinds lists the types of events. Names and keys are part of the format of ledgers on disk: they
// never change their meaning, and a reader refuses a file with an unknown one. In JSON an event is
// an object with one key, the event's name, whose value holds the parameters by their keys:
//
//	{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}
var kinds = []kind{
	kindNamed[AddOrRemoveDP]("add_or_remove_dp"),
	kindNamed[ApproxDP]("approx_dp"),
	kindNamed[BallsInBins]("balls_in_bins"),
	kindNamed[BoundedRange]("bounded_range"),
	kindNamed[Composed]("composed"),
	kindNamed[CyclicSampled]("cyclic_sampled"),
	kindNamed[DiscreteGaussian]("discrete_gaussian"),
	kindNamed[DiscreteLaplace]("discrete_laplace"),
	kindNamed[FixedSizeSampled]("fixed_size_sampled"),
	kindNamed[Gaussian]("gaussian"),
	kindNamed[Laplace]("laplace"),
	kindNamed[NonPrivate]("non_private"),
	kindNamed[PoissonSampled]("poisson_sampled"),
	kindNamed[PoissonSampledGroup]("poisson_sampled_group"),
	kindNamed[RandomizedResponse]("randomized_response"),
	kindNamed[RepeatAndSelect]("repeat_and_select"),
	kindNamed[SelfComposed]("self_composed"),
	kindNamed[SmoothGaussian]("smooth_gaussian"),
	kindNamed[TreeAggregation]("tree_aggregation"),
	kindNamed[TruncatedPoissonSampled]("truncated_poisson_sampled"),
	kindNamed[ZCDP]("zcdp"),
}

// kind is one type of event.
type kind struct {
	name string

	// of returns the parameters of e and true if e is of this type, else false.
	of func(e Event) (parameters []parameter, ok bool)

	// make returns a new event of this type, once fill has set its parameters.
	make func(fill func(parameters []parameter) error) (Event, error)
}

// parameter is one parameter of an event: its JSON key, where its value is, and what it must be.
type parameter struct {
	key   string
	at    any                   // a *float64, *int, *Event, or decoder
	check func(depth int) error // refuses a value out of its range; the event lies depth deep in others
}

// within returns the parameter under key that stores a number at. valid returns an error for a bad
// number x; the name that it gets is key with spaces in the place of underscores.
func within[N float64 | int](key string, at *N, valid func(name string, x N) error) parameter {
	return parameter{key, at, func(int) error { return valid(strings.ReplaceAll(key, "_", " "), *at) }}
}

// inside returns the parameter under "event" that stores at an event, which has to be valid itself.
func inside(at *Event) parameter {
	return parameter{"event", at, func(depth int) error { return validate(*at, depth+1) }}
}

func checkAll(parameters []parameter, depth int) error {
	for _, p := range parameters {
		if err := p.check(depth); err != nil {
			return err
		}
	}
	return nil
}

func atLeast(least int) func(name string, n int) error {
	return func(name string, n int) error {
		if n < least {
			return fmt.Errorf("%w: %s is %d, must be at least %d", ErrInvalid, name, n, least)
		}
		return nil
	}
}

// decoder is the value of a parameter with a JSON form of its own. decode sets it to the value that
// o, the parameters of an event that lies depth deep in others, holds under key.
type decoder interface {
	json.Marshaler
	decode(o object, key string, depth int) error
}

// eventPointer is a pointer to an event, whose parameters it lists by their addresses.
type eventPointer[E any] interface {
	*E
	parameters() []parameter
}

func kindNamed[E Event, P eventPointer[E]](name string) kind {
	return kind{
		name: name,
		of: func(e Event) ([]parameter, bool) {
			value, ok := e.(E)
			return P(&value).parameters(), ok
		},
		make: func(fill func([]parameter) error) (Event, error) {
			var value E
			err := fill(P(&value).parameters())
			return value, err
		},
	}
}

// kindOf returns the name of e and its parameters, unless e is not one of the events.
func kindOf(e Event) (name string, parameters []parameter, ok bool) {
	for _, k := range kinds {
		if parameters, ok := k.of(e); ok {
			return k.name, parameters, true
		}
	}
	return "", nil, false
}

// MarshalEvent writes e as JSON on one line. The text is the same for equal events on every
// platform, and UnmarshalEvent gives back the same float64s, bit for bit. Events that do not
// validate are an error.
func MarshalEvent(e Event) ([]byte, error) {
	if err := Validate(e); err != nil {
		return nil, err
	}
	return marshalValid(e)
}

func marshalValid(e Event) ([]byte, error) {
	name, parameters, _ := kindOf(e)
	var b bytes.Buffer
	fmt.Fprintf(&b, "{%q:{", name)
	for i, p := range parameters {
		value, err := p.marshal()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", p.key, value)
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}

func (p parameter) marshal() ([]byte, error) {
	if inner, ok := p.at.(*Event); ok {
		return marshalValid(*inner)
	}
	return json.Marshal(p.at)
}

// UnmarshalEvent reads what MarshalEvent writes, and nothing else: unknown, missing or repeated
// keys, other capitalisation, null, numbers outside float64, parameters out of range and data after
// the event are errors. They match ErrInvalid.
func UnmarshalEvent(data []byte) (Event, error) {
	e, err := unmarshalEvent(data, 0)
	if err != nil {
		return nil, err
	}
	return e, Validate(e)
}

func unmarshalEvent(data []byte, depth int) (Event, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("%w: events nest more than %d deep", ErrInvalid, maxNesting)
	}
	o, err := readAnyObject(data)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if len(o.Object) != 1 {
		return nil, fmt.Errorf("%w: event has %d keys, want one, the name of the event", ErrInvalid, len(o.Object))
	}
	only := o.Object[0]
	e, err := unmarshalNamed(only.Key, only.Value, depth)
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", only.Key, err)
	}
	return e, nil
}

func unmarshalNamed(name string, data []byte, depth int) (Event, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.name)
		}
		return nil, fmt.Errorf("%w: unknown event, want one of %s", ErrInvalid, strings.Join(names, ", "))
	}
	return kinds[i].make(func(parameters []parameter) error {
		var keys []string
		for _, p := range parameters {
			keys = append(keys, p.key)
		}
		o, err := readObject(data, keys...)
		if err != nil {
			return err
		}
		for _, p := range parameters {
			if err := p.unmarshal(o, depth); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p parameter) unmarshal(o object, depth int) (err error) {
	switch at := p.at.(type) {
	case *float64:
		*at, err = o.float64(p.key)
	case *int:
		*at, err = o.int(p.key)
	case *Event:
		*at, err = unmarshalEvent(o.Get(p.key), depth+1)
	case decoder:
		err = at.decode(o, p.key, depth)
	}
	return err
}
