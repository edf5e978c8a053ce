package accountant

import (
	"encoding/json"
	"fmt"
)

// The JSON form of an event is an object with one key, the event's name, whose
// value holds the parameters by name:
//
//	{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}
//
// It is part of the format of ledgers on disk: names never change their
// meaning, and a reader that meets an unknown one refuses the file.
const (
	nameGaussian       = "gaussian"
	namePoissonSampled = "poisson_sampled"
	nameNonPrivate     = "non_private"

	keyNoiseMultiplier     = "noise_multiplier"
	keySamplingProbability = "sampling_probability"
	keyEvent               = "event"
)

// MarshalEvent writes e as JSON on one line. The text is the same for equal
// events on every platform, and UnmarshalEvent gives back the same float64s,
// bit for bit. Events that do not validate are an error.
func MarshalEvent(e Event) ([]byte, error) {
	if err := Validate(e); err != nil {
		return nil, err
	}
	return marshalValid(e)
}

func marshalValid(e Event) ([]byte, error) {
	switch e := e.(type) {
	case Gaussian:
		return json.Marshal(map[string]any{nameGaussian: struct {
			NoiseMultiplier float64 `json:"noise_multiplier"`
		}{e.NoiseMultiplier}})
	case PoissonSampled:
		inner, err := marshalValid(e.Event)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{namePoissonSampled: struct {
			SamplingProbability float64         `json:"sampling_probability"`
			Event               json.RawMessage `json:"event"`
		}{e.SamplingProbability, inner}})
	case NonPrivate:
		return json.Marshal(map[string]any{nameNonPrivate: struct{}{}})
	}
	panic(fmt.Sprintf("accountant: event type %T validates but has no JSON form", e))
}

// UnmarshalEvent reads what MarshalEvent writes, and nothing else: unknown,
// missing or repeated keys, other capitalisation, null, numbers outside
// float64, parameters out of range and data after the event are errors. They
// match ErrInvalid.
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
	if len(o) != 1 {
		return nil, fmt.Errorf("%w: event has %d keys, want one, the name of the event", ErrInvalid, len(o))
	}
	for name, parameters := range o {
		e, err := readEvent(name, parameters, depth)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", name, err)
		}
		return e, nil
	}
	panic("accountant: unreachable")
}

// readEvent reads the parameters of the event called name.
func readEvent(name string, parameters []byte, depth int) (Event, error) {
	switch name {
	case nameGaussian:
		o, err := readObject(parameters, keyNoiseMultiplier)
		if err != nil {
			return nil, err
		}
		sigma, err := o.float64(keyNoiseMultiplier)
		return Gaussian{NoiseMultiplier: sigma}, err
	case namePoissonSampled:
		o, err := readObject(parameters, keySamplingProbability, keyEvent)
		if err != nil {
			return nil, err
		}
		q, err := o.float64(keySamplingProbability)
		if err != nil {
			return nil, err
		}
		inner, err := unmarshalEvent(o[keyEvent], depth+1)
		return PoissonSampled{SamplingProbability: q, Event: inner}, err
	case nameNonPrivate:
		_, err := readObject(parameters)
		return NonPrivate{}, err
	}
	return nil, fmt.Errorf("%w: unknown event, want %s, %s or %s",
		ErrInvalid, nameGaussian, namePoissonSampled, nameNonPrivate)
}
