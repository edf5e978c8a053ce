package accountant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// The JSON form of an event is an object with one key, the event's name, whose
// value holds the parameters by name:
//
//	{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}
//
// It is part of the format of ledgers on disk: names never change their
// meaning, and a reader that meets an unknown one refuses the file.
const (
	nameNonPrivate              = "non_private"
	nameGaussian                = "gaussian"
	nameLaplace                 = "laplace"
	nameRandomizedResponse      = "randomized_response"
	nameApproxDP                = "approx_dp"
	nameZCDP                    = "zcdp"
	nameTreeAggregation         = "tree_aggregation"
	namePoissonSampled          = "poisson_sampled"
	namePoissonSampledGroup     = "poisson_sampled_group"
	nameFixedSizeSampled        = "fixed_size_sampled"
	nameTruncatedPoissonSampled = "truncated_poisson_sampled"
	nameSelfComposed            = "self_composed"
	nameComposed                = "composed"
	nameRepeatAndSelect         = "repeat_and_select"

	keyNoiseMultiplier     = "noise_multiplier"
	keyScale               = "scale"
	keyNoiseProbability    = "noise_probability"
	keyBuckets             = "buckets"
	keyEpsilon             = "epsilon"
	keyDelta               = "delta"
	keyRho                 = "rho"
	keySteps               = "steps"
	keySamplingProbability = "sampling_probability"
	keyGroupSize           = "group_size"
	keyDatasetSize         = "dataset_size"
	keyBatchSize           = "batch_size"
	keyMaxBatchSize        = "max_batch_size"
	keyCount               = "count"
	keyMean                = "mean"
	keyShape               = "shape"
	keyEvent               = "event"
	keyEvents              = "events"
)

// shapePoisson stands for the shape +Inf, which JSON has no number for.
const shapePoisson = "poisson"

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
	name, parameters := e.encode()
	return json.Marshal(map[string]any{name: parameters})
}

// inner writes an event that another one wraps.
type inner struct{ Event }

// MarshalJSON writes the event; encoding/json calls it.
func (e inner) MarshalJSON() ([]byte, error) { return marshalValid(e.Event) }

func (e NonPrivate) encode() (string, any)         { return nameNonPrivate, struct{}{} }
func (e Gaussian) encode() (string, any)           { return nameGaussian, e }
func (e Laplace) encode() (string, any)            { return nameLaplace, e }
func (e RandomizedResponse) encode() (string, any) { return nameRandomizedResponse, e }
func (e ApproxDP) encode() (string, any)           { return nameApproxDP, e }
func (e ZCDP) encode() (string, any)               { return nameZCDP, e }
func (e TreeAggregation) encode() (string, any)    { return nameTreeAggregation, e }

func (e PoissonSampled) encode() (string, any) {
	return namePoissonSampled, struct {
		SamplingProbability float64 `json:"sampling_probability"`
		Event               inner   `json:"event"`
	}{e.SamplingProbability, inner{e.Event}}
}

func (e PoissonSampledGroup) encode() (string, any) {
	return namePoissonSampledGroup, struct {
		SamplingProbability float64 `json:"sampling_probability"`
		GroupSize           int     `json:"group_size"`
		Event               inner   `json:"event"`
	}{e.SamplingProbability, e.GroupSize, inner{e.Event}}
}

func (e FixedSizeSampled) encode() (string, any) {
	return nameFixedSizeSampled, struct {
		DatasetSize int   `json:"dataset_size"`
		BatchSize   int   `json:"batch_size"`
		Event       inner `json:"event"`
	}{e.DatasetSize, e.BatchSize, inner{e.Event}}
}

func (e TruncatedPoissonSampled) encode() (string, any) {
	return nameTruncatedPoissonSampled, struct {
		DatasetSize         int     `json:"dataset_size"`
		SamplingProbability float64 `json:"sampling_probability"`
		MaxBatchSize        int     `json:"max_batch_size"`
		Event               inner   `json:"event"`
	}{e.DatasetSize, e.SamplingProbability, e.MaxBatchSize, inner{e.Event}}
}

func (e SelfComposed) encode() (string, any) {
	return nameSelfComposed, struct {
		Event inner `json:"event"`
		Count int   `json:"count"`
	}{inner{e.Event}, e.Count}
}

func (e Composed) encode() (string, any) {
	list := e.list
	if list == "" {
		list = "[]"
	}
	return nameComposed, struct {
		Events json.RawMessage `json:"events"`
	}{json.RawMessage(list)}
}

func (e RepeatAndSelect) encode() (string, any) {
	var shape any = e.Shape
	if math.IsInf(e.Shape, 1) {
		shape = shapePoisson
	}
	return nameRepeatAndSelect, struct {
		Event inner   `json:"event"`
		Mean  float64 `json:"mean"`
		Shape any     `json:"shape"`
	}{inner{e.Event}, e.Mean, shape}
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
		reader, ok := eventReaders()[name]
		if !ok {
			return nil, fmt.Errorf("event %q: %w: unknown event, want one of %s",
				name, ErrInvalid, strings.Join(slices.Sorted(maps.Keys(eventReaders())), ", "))
		}
		o, err := readObject(parameters, reader.keys...)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", name, err)
		}
		f := fields{object: o, depth: depth}
		e := reader.read(&f)
		if f.err != nil {
			return nil, fmt.Errorf("event %q: %w", name, f.err)
		}
		return e, nil
	}
	panic("accountant: unreachable")
}

// eventReader reads the parameters of one event.
type eventReader struct {
	keys []string
	read func(f *fields) Event
}

// eventReaders holds the reader of each event by its name. (A function, since the
// readers of events that wrap others come back to it.)
func eventReaders() map[string]eventReader {
	return map[string]eventReader{
		nameNonPrivate: {nil, func(f *fields) Event { return NonPrivate{} }},
		nameGaussian: {[]string{keyNoiseMultiplier}, func(f *fields) Event {
			return Gaussian{f.float(keyNoiseMultiplier)}
		}},
		nameLaplace: {[]string{keyScale}, func(f *fields) Event { return Laplace{f.float(keyScale)} }},
		nameRandomizedResponse: {[]string{keyNoiseProbability, keyBuckets}, func(f *fields) Event {
			return RandomizedResponse{f.float(keyNoiseProbability), f.int(keyBuckets)}
		}},
		nameApproxDP: {[]string{keyEpsilon, keyDelta}, func(f *fields) Event {
			return ApproxDP{f.float(keyEpsilon), f.float(keyDelta)}
		}},
		nameZCDP: {[]string{keyRho}, func(f *fields) Event { return ZCDP{f.float(keyRho)} }},
		nameTreeAggregation: {[]string{keyNoiseMultiplier, keySteps}, func(f *fields) Event {
			return TreeAggregation{f.float(keyNoiseMultiplier), f.int(keySteps)}
		}},
		namePoissonSampled: {[]string{keySamplingProbability, keyEvent}, func(f *fields) Event {
			return PoissonSampled{f.float(keySamplingProbability), f.event(keyEvent)}
		}},
		namePoissonSampledGroup: {[]string{keySamplingProbability, keyGroupSize, keyEvent}, func(f *fields) Event {
			return PoissonSampledGroup{f.float(keySamplingProbability), f.int(keyGroupSize), f.event(keyEvent)}
		}},
		nameFixedSizeSampled: {[]string{keyDatasetSize, keyBatchSize, keyEvent}, func(f *fields) Event {
			return FixedSizeSampled{f.int(keyDatasetSize), f.int(keyBatchSize), f.event(keyEvent)}
		}},
		nameTruncatedPoissonSampled: {[]string{keyDatasetSize, keySamplingProbability, keyMaxBatchSize, keyEvent}, func(f *fields) Event {
			return TruncatedPoissonSampled{f.int(keyDatasetSize), f.float(keySamplingProbability), f.int(keyMaxBatchSize), f.event(keyEvent)}
		}},
		nameSelfComposed: {[]string{keyEvent, keyCount}, func(f *fields) Event {
			return SelfComposed{f.event(keyEvent), f.int(keyCount)}
		}},
		nameComposed: {[]string{keyEvents}, func(f *fields) Event { return f.composed(keyEvents) }},
		nameRepeatAndSelect: {[]string{keyEvent, keyMean, keyShape}, func(f *fields) Event {
			return RepeatAndSelect{f.event(keyEvent), f.float(keyMean), f.shape(keyShape)}
		}},
	}
}

// fields reads the values of an object that has all of its keys. Its first error
// sticks.
type fields struct {
	object object
	depth  int
	err    error
}

func (f *fields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *fields) float(key string) float64 {
	x, err := f.object.float64(key)
	f.keep(err)
	return x
}

func (f *fields) int(key string) int {
	n, err := f.object.int(key)
	f.keep(err)
	return n
}

func (f *fields) shape(key string) float64 {
	if string(f.object[key]) == `"`+shapePoisson+`"` {
		return math.Inf(1)
	}
	return f.float(key)
}

func (f *fields) event(key string) Event {
	e, err := unmarshalEvent(f.object[key], f.depth+1)
	f.keep(err)
	return e
}

// composed reads a list of events and writes it anew, so that equal lists are equal by ==.
func (f *fields) composed(key string) Event {
	if !bytes.HasPrefix(f.object[key], []byte("[")) {
		f.keep(fmt.Errorf("%w: %q is %.40s, want a list of events", ErrInvalid, key, f.object[key]))
		return Composed{}
	}
	events, err := Composed{list: string(f.object[key])}.read(f.depth)
	if err != nil {
		f.keep(err)
		return Composed{}
	}
	// Not Compose, which validates: at every level anew, that would take a time
	// exponential in the depth. UnmarshalEvent validates once, in the end.
	c, err := composeUnchecked(events)
	f.keep(err)
	return c
}
