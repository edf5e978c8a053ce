package accountant_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

func TestValidateNamesWhatItFoundAndExpected(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event accountant.Event
		want  string // part of the message; "" means valid, as all events of TestEventJSONFormat are
	}{
		{"no noise", accountant.Gaussian{0}, ""},
		{"q=0", accountant.PoissonSampled{0, accountant.Gaussian{1.1}}, ""},
		{"q=1", accountant.PoissonSampled{1, accountant.Gaussian{1.1}}, ""},
		{"negative noise", accountant.Gaussian{-1}, "noise multiplier is -1, must be finite and at least 0"},
		{"NaN noise", accountant.Gaussian{math.NaN()}, "noise multiplier is NaN"},
		{"infinite noise", accountant.Gaussian{math.Inf(1)}, "noise multiplier is +Inf"},
		{"q<0", accountant.PoissonSampled{-0.1, accountant.Gaussian{1}}, "sampling probability is -0.1, must be in [0, 1]"},
		{"q>1", accountant.PoissonSampled{1.0000001, accountant.Gaussian{1}}, "sampling probability is 1.0000001"},
		{"NaN q", accountant.PoissonSampled{math.NaN(), accountant.Gaussian{1}}, "sampling probability is NaN"},
		{"bad inner", accountant.PoissonSampled{0.5, accountant.Gaussian{-2}}, "noise multiplier is -2"},
		{"nil", nil, "event is nil"},
		{"nil inner", accountant.PoissonSampled{0.5, nil}, "event is nil"},
		{"pointer", &accountant.Gaussian{1}, "*accountant.Gaussian, want an event value"},
		{"deep", nested(accountant.MaxNesting + 1), "nest more than 16 deep"},

		{"laplace without noise", accountant.Laplace{0}, ""},
		{"negative scale", accountant.Laplace{-1}, "scale is -1, must be finite and at least 0"},
		{"infinite scale", accountant.Laplace{math.Inf(1)}, "scale is +Inf"},
		{"noise probability above 1", accountant.RandomizedResponse{1.5, 2}, "noise probability is 1.5, must be in [0, 1]"},
		{"no buckets", accountant.RandomizedResponse{0.5, 0}, "buckets is 0, must be at least 1"},
		{"negative epsilon", accountant.ApproxDP{-1, 0}, "epsilon is -1"},
		{"infinite epsilon", accountant.ApproxDP{math.Inf(1), 0}, "epsilon is +Inf, must be finite"},
		{"NaN delta", accountant.ApproxDP{1, math.NaN()}, "delta is NaN, must be in [0, 1]"},
		{"discrete Laplace on no lattice", accountant.DiscreteLaplace{2, 0}, "sensitivity is 0, must be at least 1"},
		{"discrete Laplace, NaN", accountant.DiscreteLaplace{math.NaN(), 1}, "scale is NaN"},
		{"discrete Gaussian, negative sensitivity", accountant.DiscreteGaussian{2, -1}, "sensitivity is -1, must be at least 0"},
		{"discrete Gaussian, infinite", accountant.DiscreteGaussian{math.Inf(1), 1}, "noise multiplier is +Inf"},
		{"negative range", accountant.BoundedRange{-0.5}, "range is -0.5, must be finite and at least 0"},
		{"of one record, delta above 1", accountant.AddOrRemoveDP{0.5, 1.5}, "delta is 1.5, must be in [0, 1]"},
		{"of one record, NaN", accountant.AddOrRemoveDP{math.NaN(), 0}, "epsilon is NaN"},
		{"NaN rho", accountant.ZCDP{math.NaN()}, "rho is NaN"},
		{"tree of nothing", accountant.TreeAggregation{1, 0}, "steps is 0, must be at least 1"},
		{"tree of negative noise", accountant.TreeAggregation{-1, 5}, "noise multiplier is -1"},

		{"group of none", accountant.PoissonSampledGroup{0.1, 0, accountant.Gaussian{1}}, "group size is 0, must be at least 1"},
		{"group, q>1", accountant.PoissonSampledGroup{2, 3, accountant.Gaussian{1}}, "sampling probability is 2"},
		{"group, bad inner", accountant.PoissonSampledGroup{0.1, 3, accountant.Gaussian{-1}}, "noise multiplier is -1"},
		{"no batch", accountant.FixedSizeSampled{100, 0, accountant.Gaussian{1}}, ""},
		{"no records", accountant.FixedSizeSampled{0, 0, accountant.Gaussian{1}}, "dataset size is 0, must be at least 1"},
		{"batch of more than all", accountant.FixedSizeSampled{100, 101, accountant.Gaussian{1}}, "batch size is 101, must be from 0 to the dataset size 100"},
		{"negative batch", accountant.FixedSizeSampled{100, -1, accountant.Gaussian{1}}, "batch size is -1"},
		{"fixed size, nil", accountant.FixedSizeSampled{100, 10, nil}, "event is nil"},
		{"truncated, no records", accountant.TruncatedPoissonSampled{0, 0.1, 20, accountant.Gaussian{1}}, "dataset size is 0"},
		{"truncated, NaN q", accountant.TruncatedPoissonSampled{100, math.NaN(), 20, accountant.Gaussian{1}}, "sampling probability is NaN"},
		{"truncated to less than none", accountant.TruncatedPoissonSampled{100, 0.1, -1, accountant.Gaussian{1}}, "largest batch size is -1"},
		{"truncated, nil", accountant.TruncatedPoissonSampled{100, 0.1, 20, nil}, "event is nil"},

		{"no blocks", accountant.CyclicSampled{0, accountant.Gaussian{1}}, "blocks is 0, must be at least 1"},
		{"blocks, nil", accountant.CyclicSampled{3, nil}, "event is nil"},
		{"never", accountant.SelfComposed{accountant.Gaussian{1}, 0}, ""},
		{"less than never", accountant.SelfComposed{accountant.Gaussian{1}, -1}, "count is -1, must be at least 0"},
		{"repeated, nil", accountant.SelfComposed{nil, 1}, "event is nil"},
		{"composed, deep", accountant.PoissonSampled{0.5, accounttest.Composed(t, nested(accountant.MaxNesting-1))}, "nest more than 16 deep"},
		{"fewer than one run", accountant.RepeatAndSelect{accountant.Gaussian{1}, 0.5, 1}, "mean number of runs is 0.5, must be finite and at least 1"},
		{"infinitely many runs", accountant.RepeatAndSelect{accountant.Gaussian{1}, math.Inf(1), 1}, "mean number of runs is +Inf"},
		{"negative shape", accountant.RepeatAndSelect{accountant.Gaussian{1}, 10, -0.5}, "shape of the number of runs is -0.5, must be at least 0"},
		{"NaN shape", accountant.RepeatAndSelect{accountant.Gaussian{1}, 10, math.NaN()}, "shape of the number of runs is NaN"},
		{"selected, pointer", accountant.RepeatAndSelect{&accountant.Gaussian{1}, 10, 1}, "want an event value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := accountant.Validate(tt.event)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("Validate(%v) = %v, want valid", tt.event, err)
				}
				return
			}
			if !errors.Is(err, accountant.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate = %v, want ErrInvalid with %q", err, tt.want)
			}
			if data, err := accountant.MarshalEvent(tt.event); err == nil {
				t.Errorf("MarshalEvent wrote the invalid event as %s", data)
			}
		})
	}
}

func nested(depth int) accountant.Event {
	var e accountant.Event = accountant.Gaussian{1}
	for range depth {
		e = accountant.PoissonSampled{0.5, e}
	}
	return e
}

// The text is a file format: it may gain names, and never change.
func TestEventJSONFormat(t *testing.T) {
	for want, e := range map[string]accountant.Event{
		`{"gaussian":{"noise_multiplier":1.1}}`:                                                             accountant.Gaussian{1.1},
		`{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}`:   accountant.PoissonSampled{0.01, accountant.Gaussian{1.1}},
		`{"poisson_sampled":{"sampling_probability":1e-9,"event":{"gaussian":{"noise_multiplier":1e+21}}}}`: accountant.PoissonSampled{1e-9, accountant.Gaussian{1e21}},
		`{"non_private":{}}`:        accountant.NonPrivate{},
		`{"laplace":{"scale":2.5}}`: accountant.Laplace{2.5},
		`{"randomized_response":{"noise_probability":0.25,"buckets":4}}`:                                                                        accountant.RandomizedResponse{0.25, 4},
		`{"approx_dp":{"epsilon":0.5,"delta":0.000001}}`:                                                                                        accountant.ApproxDP{0.5, 1e-6},
		`{"zcdp":{"rho":0.125}}`:                                                                                                                accountant.ZCDP{0.125},
		`{"add_or_remove_dp":{"epsilon":0.5,"delta":0}}`:                                                                                        accountant.AddOrRemoveDP{0.5, 0},
		`{"bounded_range":{"range":0.5}}`:                                                                                                       accountant.BoundedRange{0.5},
		`{"discrete_laplace":{"scale":2,"sensitivity":3}}`:                                                                                      accountant.DiscreteLaplace{2, 3},
		`{"discrete_gaussian":{"noise_multiplier":4,"sensitivity":0}}`:                                                                          accountant.DiscreteGaussian{4, 0},
		`{"tree_aggregation":{"noise_multiplier":4,"steps":1000}}`:                                                                              accountant.TreeAggregation{4, 1000},
		`{"cyclic_sampled":{"blocks":8,"event":{"gaussian":{"noise_multiplier":1}}}}`:                                                           accountant.CyclicSampled{8, accountant.Gaussian{1}},
		`{"poisson_sampled_group":{"sampling_probability":0.01,"group_size":8,"event":{"gaussian":{"noise_multiplier":1}}}}`:                    accountant.PoissonSampledGroup{0.01, 8, accountant.Gaussian{1}},
		`{"fixed_size_sampled":{"dataset_size":60000,"batch_size":600,"event":{"gaussian":{"noise_multiplier":1}}}}`:                            accountant.FixedSizeSampled{60000, 600, accountant.Gaussian{1}},
		`{"truncated_poisson_sampled":{"dataset_size":60000,"sampling_probability":0.01,"max_batch_size":700,"event":{"laplace":{"scale":1}}}}`: accountant.TruncatedPoissonSampled{60000, 0.01, 700, accountant.Laplace{1}},
		`{"self_composed":{"event":{"gaussian":{"noise_multiplier":1}},"count":12}}`:                                                            accountant.SelfComposed{accountant.Gaussian{1}, 12},
		`{"composed":{"events":[]}}`:                                                                                                            accountant.Composed{},
		`{"composed":{"events":[{"laplace":{"scale":1}},{"composed":{"events":[]}}]}}`:                                                          accounttest.Composed(t, accountant.Laplace{1}, accountant.Composed{}),
		`{"repeat_and_select":{"event":{"zcdp":{"rho":0.1}},"mean":10,"shape":0.5}}`:                                                            accountant.RepeatAndSelect{accountant.ZCDP{0.1}, 10, 0.5},
		`{"repeat_and_select":{"event":{"zcdp":{"rho":0.1}},"mean":10,"shape":"poisson"}}`:                                                      accountant.RepeatAndSelect{accountant.ZCDP{0.1}, 10, math.Inf(1)},
	} {
		got, err := accountant.MarshalEvent(e)
		if err != nil || string(got) != want {
			t.Errorf("MarshalEvent(%v) = %s, %v, want %s", e, got, err, want)
		}
		if back, err := accountant.UnmarshalEvent([]byte(want)); err != nil || back != e {
			t.Errorf("UnmarshalEvent(%s) = %v, %v, want %v", want, back, err, e)
		}
	}
}

// anyEvent draws any event that validates, its numbers any bits.
func anyEvent(t *testing.T, rng *rand.Rand, depth int) accountant.Event {
	atMost1 := func() float64 { return math.Float64frombits(rng.Uint64() % (math.Float64bits(1) + 1)) }
	finite := func() float64 { return math.Float64frombits(rng.Uint64() % math.Float64bits(math.Inf(1))) }
	whole := func() int { return 1 + int(rng.Uint64()>>(2+rng.IntN(62))) }
	inner := func() accountant.Event { return anyEvent(t, rng, depth-1) }
	kinds := []func() accountant.Event{
		func() accountant.Event { return accountant.Gaussian{finite()} },
		func() accountant.Event { return accountant.Laplace{finite()} },
		func() accountant.Event { return accountant.RandomizedResponse{atMost1(), whole()} },
		func() accountant.Event { return accountant.ApproxDP{finite(), atMost1()} },
		func() accountant.Event { return accountant.ZCDP{finite()} },
		func() accountant.Event { return accountant.TreeAggregation{finite(), whole()} },
		func() accountant.Event { return accountant.NonPrivate{} },
		func() accountant.Event { return accountant.DiscreteLaplace{finite(), whole()} },
		func() accountant.Event { return accountant.DiscreteGaussian{finite(), whole() - 1} },
		func() accountant.Event { return accountant.BoundedRange{finite()} },
		func() accountant.Event { return accountant.AddOrRemoveDP{finite(), atMost1()} },
		// From here on with events inside.
		func() accountant.Event { return accountant.PoissonSampled{atMost1(), inner()} },
		func() accountant.Event { return accountant.PoissonSampledGroup{atMost1(), whole(), inner()} },
		func() accountant.Event {
			n := whole()
			return accountant.FixedSizeSampled{n, rng.IntN(n), inner()}
		},
		func() accountant.Event {
			return accountant.TruncatedPoissonSampled{whole(), atMost1(), whole() - 1, inner()}
		},
		func() accountant.Event { return accountant.CyclicSampled{whole(), inner()} },
		func() accountant.Event { return accountant.SelfComposed{inner(), whole() - 1} },
		func() accountant.Event {
			return accountant.RepeatAndSelect{inner(), 1 + finite()/2, []float64{0, finite(), math.Inf(1)}[rng.IntN(3)]}
		},
		func() accountant.Event {
			var parts []accountant.Event
			for range rng.IntN(4) {
				parts = append(parts, inner())
			}
			return accounttest.Composed(t, parts...)
		},
	}
	if depth == 0 {
		kinds = kinds[:11]
	}
	return kinds[rng.IntN(len(kinds))]()
}

func TestEventJSONKeepsEveryBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		e := anyEvent(t, rng, 3)
		data := tiny.Must(accountant.MarshalEvent(e))(t)
		back, err := accountant.UnmarshalEvent(data)
		if err != nil || back != e {
			t.Fatalf("%v came back from %s as %v, %v", e, data, back, err)
		}
		if again, err := accountant.MarshalEvent(back); err != nil || string(again) != string(data) {
			t.Fatalf("%s was written as %s the second time, %v", data, again, err)
		}
	}
}

// Events are equal by == exactly if they say the same, also compositions, which are read
// from text in any spelling.
func TestEventsAreValues(t *testing.T) {
	c := accounttest.Composed(t, accountant.PoissonSampled{0.5, accountant.Gaussian{1}}, accountant.Laplace{2})
	spelled := `{ "composed" : {"events":[ {"poisson_sampled":{"event":{"gaussian":{"noise_multiplier":1.0}},"sampling_probability":5e-1}},
		{"laplace":{"scale":2e0}} ]} }`
	if read, err := accountant.UnmarshalEvent([]byte(spelled)); err != nil || read != accountant.Event(c) {
		t.Errorf("%s is read as %v, %v, want %v", spelled, read, err, c)
	}
	if again := accounttest.Composed(t, c.Events()...); again != c {
		t.Errorf("%v composed of its parts is %v", c, again)
	}
	for name, other := range map[string]accountant.Event{
		"nothing":       accountant.Composed{},
		"another order": accounttest.Composed(t, accountant.Laplace{2}, accountant.PoissonSampled{0.5, accountant.Gaussian{1}}),
		"another part":  accounttest.Composed(t, accountant.PoissonSampled{0.5, accountant.Gaussian{1}}, accountant.Laplace{3}),
		"one part":      accountant.Laplace{2},
		"wrapped":       accounttest.Composed(t, c),
	} {
		if other == accountant.Event(c) {
			t.Errorf("%s: %v == %v", name, other, c)
		}
	}
	l := accounttest.Ledger(t, accountant.Entry{c, 2}, accountant.Entry{accounttest.Composed(t, c.Events()...), 3})
	if len(l.Entries()) != 1 || l.Count() != 5 {
		t.Errorf("equal compositions are not counted together: %v", l.Entries())
	}
	if s := c.String(); s != "Composed(PoissonSampled(q=0.5, Gaussian(σ=1)), Laplace(b=2))" {
		t.Errorf("String is %s", s)
	}
	if empty := accounttest.Composed(t); empty != (accountant.Composed{}) || len(empty.Events()) != 0 {
		t.Errorf("the composition of nothing is %#v", empty)
	}
}

// Compositions in compositions took a time exponential in the depth to read; a test that does so
// never ends.
func TestDeepCompositionsAreReadOnce(t *testing.T) {
	e := accountant.Event(accounttest.Composed(t, accountant.Gaussian{1}, accountant.Laplace{1}))
	for range accountant.MaxNesting - 1 {
		e = accounttest.Composed(t, e)
	}
	data := tiny.Must(accountant.MarshalEvent(e))(t)
	if back, err := accountant.UnmarshalEvent(data); err != nil || back != e {
		t.Fatalf("%s came back as %v, %v", data, back, err)
	}
	if c, err := accountant.Compose(e); !errors.Is(err, accountant.ErrInvalid) || c != (accountant.Composed{}) {
		t.Errorf("one level more: %v, %v, want ErrInvalid", c, err)
	}
}

func TestComposeRefuses(t *testing.T) {
	for name, part := range map[string]accountant.Event{"nil": nil, "pointer": &accountant.Gaussian{1}, "invalid": accountant.Gaussian{-1}} {
		c, err := accountant.Compose(accountant.Laplace{1}, part)
		if !errors.Is(err, accountant.ErrInvalid) || !strings.Contains(err.Error(), "composed event 1:") || c != (accountant.Composed{}) {
			t.Errorf("%s: %v, %v, want ErrInvalid that names event 1", name, c, err)
		}
	}
}

func TestUnmarshalEventIsStrict(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", ``, "expected a JSON object"},
		{"cut off", `{"gaussian":{"noise_multiplier":1`, "EOF"},
		{"not an object", `[1]`, "expected a JSON object"},
		{"null", `null`, "expected a JSON object"},
		{"no event", `{}`, "0 keys"},
		{"two events", `{"gaussian":{"noise_multiplier":1},"non_private":{}}`, "2 keys"},
		{"unknown event", `{"cauchy":{"scale":1}}`, `"cauchy": accountant: invalid: unknown event`},
		{"other case", `{"Gaussian":{"noise_multiplier":1}}`, "unknown event"},
		{"unknown key", `{"gaussian":{"noise_multiplier":1,"clip_norm":1}}`, `unknown key "clip_norm"`},
		{"other case of key", `{"gaussian":{"Noise_Multiplier":1}}`, "unknown key"},
		{"missing key", `{"gaussian":{}}`, `key "noise_multiplier" is missing`},
		{"missing inner", `{"poisson_sampled":{"sampling_probability":0.5}}`, `key "event" is missing`},
		{"duplicate key", `{"gaussian":{"noise_multiplier":1,"noise_multiplier":9}}`, "twice, expected it once"},
		{"duplicate event", `{"gaussian":{"noise_multiplier":1},"gaussian":{"noise_multiplier":9}}`, "twice, expected it once"},
		{"null number", `{"gaussian":{"noise_multiplier":null}}`, "want a number"},
		{"quoted number", `{"gaussian":{"noise_multiplier":"1"}}`, "want a number"},
		{"NaN", `{"gaussian":{"noise_multiplier":NaN}}`, "invalid character"},
		{"overflow", `{"gaussian":{"noise_multiplier":1e400}}`, "outside the range of float64"},
		{"out of range", `{"poisson_sampled":{"sampling_probability":1.5,"event":{"non_private":{}}}}`, "sampling probability is 1.5"},
		{"parameters of non_private", `{"non_private":{"x":1}}`, "unknown key"},
		{"trailing data", `{"gaussian":{"noise_multiplier":1}} {}`, "found text after the JSON object"},
		{"trailing junk", `{"gaussian":{"noise_multiplier":1}}x`, "found text after the JSON object"},
		{"fraction for a count", `{"self_composed":{"event":{"non_private":{}},"count":1.0}}`, `"count" is 1.0, want a whole number`},
		{"exponent for a size", `{"fixed_size_sampled":{"dataset_size":1e3,"batch_size":1,"event":{"non_private":{}}}}`, `"dataset_size" is 1e3, want a whole number`},
		{"quoted count", `{"self_composed":{"event":{"non_private":{}},"count":"1"}}`, "want a whole number"},
		{"null count", `{"self_composed":{"event":{"non_private":{}},"count":null}}`, "want a whole number"},
		{"count past int", `{"self_composed":{"event":{"non_private":{}},"count":9223372036854775808}}`, "want a whole number"},
		{"negative count", `{"self_composed":{"event":{"non_private":{}},"count":-1}}`, "count is -1"},
		{"batch above dataset", `{"fixed_size_sampled":{"dataset_size":5,"batch_size":6,"event":{"non_private":{}}}}`, "batch size is 6"},
		{"null event", `{"self_composed":{"event":null,"count":1}}`, "expected a JSON object"},
		{"null events", `{"composed":{"events":null}}`, `"events" is null, want a list of events`},
		{"events not a list", `{"composed":{"events":{"non_private":{}}}}`, "want a list of events"},
		{"null among events", `{"composed":{"events":[null]}}`, "composed event 0"},
		{"bad among events", `{"composed":{"events":[{"non_private":{}},{"laplace":{"scale":-1}}]}}`, "scale is -1"},
		{"unknown among events", `{"composed":{"events":[{"non_private":{}},{"cauchy":{}}]}}`, "composed event 1"},
		{"other word for a shape", `{"repeat_and_select":{"event":{"non_private":{}},"mean":2,"shape":"Poisson"}}`, `"shape" is "Poisson", want a number`},
		{"infinite shape", `{"repeat_and_select":{"event":{"non_private":{}},"mean":2,"shape":Infinity}}`, "invalid character"},
		{"mean below 1", `{"repeat_and_select":{"event":{"non_private":{}},"mean":0.5,"shape":1}}`, "mean number of runs is 0.5"},
		{"missing group size", `{"poisson_sampled_group":{"sampling_probability":0.5,"event":{"non_private":{}}}}`, `key "group_size" is missing`},
		{"deep", strings.Repeat(`{"poisson_sampled":{"sampling_probability":1,"event":`, 1000), "nest more than 16 deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if tt.name == "deep" { // complete it, so that only its depth is wrong
				text += `{"non_private":{}}` + strings.Repeat("}}", 1000)
			}
			e, err := accountant.UnmarshalEvent([]byte(text))
			if err == nil {
				t.Fatalf("read as %v", e)
			}
			if !errors.Is(err, accountant.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want ErrInvalid with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has several lines: %q", err)
			}
		})
	}
}

func FuzzUnmarshalEvent(f *testing.F) {
	var seeds [][]byte
	for _, seed := range []string{
		`{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}`,
		`{"non_private":{}}`,
		`{"gaussian":{"noise_multiplier":-0}}`,
		`{"composed":{"events":[{"laplace":{"scale":1}},{"randomized_response":{"noise_probability":0.5,"buckets":2}}]}}`,
		`{"composed":{"events":[{"composed":{"events":[]}}, {"zcdp":{"rho":1e-3}}]}}`,
		`{"self_composed":{"event":{"approx_dp":{"epsilon":1,"delta":1e-9}},"count":3}}`,
		`{"repeat_and_select":{"event":{"tree_aggregation":{"noise_multiplier":1,"steps":9}},"mean":10,"shape":"poisson"}}`,
		`{"fixed_size_sampled":{"dataset_size":9,"batch_size":3,"event":{"poisson_sampled_group":{"sampling_probability":1,"group_size":2,"event":{"non_private":{}}}}}}`,
		`{"truncated_poisson_sampled":{"dataset_size":9,"sampling_probability":0.1,"max_batch_size":0,"event":{"non_private":{}}}}`,
	} {
		seeds = append(seeds, []byte(seed))
	}
	slow.Inputs(f, seeds, func(t testing.TB, data []byte) int64 {
		e, err := accountant.UnmarshalEvent(data)
		if err != nil {
			return 0
		}
		out, err := accountant.MarshalEvent(e)
		if err != nil {
			t.Fatalf("%q was read as %v, which cannot be written: %v", data, e, err)
		}
		if back, err := accountant.UnmarshalEvent(out); err != nil || back != e {
			t.Fatalf("%v written as %s came back as %v, %v", e, out, back, err)
		}
		return 0
	})
}
