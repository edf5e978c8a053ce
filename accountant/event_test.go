package accountant

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestValidateNamesWhatItFoundAndExpected(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event Event
		want  string // part of the message; "" means valid
	}{
		{"gaussian", Gaussian{1.1}, ""},
		{"no noise", Gaussian{0}, ""},
		{"poisson", PoissonSampled{0.01, Gaussian{1.1}}, ""},
		{"q=0", PoissonSampled{0, Gaussian{1.1}}, ""},
		{"q=1", PoissonSampled{1, Gaussian{1.1}}, ""},
		{"non-private", NonPrivate{}, ""},
		{"negative noise", Gaussian{-1}, "noise multiplier is -1, must be finite and at least 0"},
		{"NaN noise", Gaussian{math.NaN()}, "noise multiplier is NaN"},
		{"infinite noise", Gaussian{math.Inf(1)}, "noise multiplier is +Inf"},
		{"q<0", PoissonSampled{-0.1, Gaussian{1}}, "sampling probability is -0.1, must be in [0, 1]"},
		{"q>1", PoissonSampled{1.0000001, Gaussian{1}}, "sampling probability is 1.0000001"},
		{"NaN q", PoissonSampled{math.NaN(), Gaussian{1}}, "sampling probability is NaN"},
		{"bad inner", PoissonSampled{0.5, Gaussian{-2}}, "noise multiplier is -2"},
		{"nil", nil, "event is nil"},
		{"nil inner", PoissonSampled{0.5, nil}, "event is nil"},
		{"pointer", &Gaussian{1}, "*accountant.Gaussian, want an event value"},
		{"deep", nested(maxNesting + 1), "nest more than 16 deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Validate(tt.event)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("Validate(%v) = %v, want valid", tt.event, err)
				}
				return
			}
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate = %v, want ErrInvalid with %q", err, tt.want)
			}
			if data, err := MarshalEvent(tt.event); err == nil {
				t.Errorf("MarshalEvent wrote the invalid event as %s", data)
			}
		})
	}
}

func nested(depth int) Event {
	var e Event = Gaussian{1}
	for range depth {
		e = PoissonSampled{0.5, e}
	}
	return e
}

// The text is a file format: it may gain names, and never change.
func TestEventJSONFormat(t *testing.T) {
	for want, e := range map[string]Event{
		`{"gaussian":{"noise_multiplier":1.1}}`:                                                             Gaussian{1.1},
		`{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}`:   PoissonSampled{0.01, Gaussian{1.1}},
		`{"poisson_sampled":{"sampling_probability":1e-9,"event":{"gaussian":{"noise_multiplier":1e+21}}}}`: PoissonSampled{1e-9, Gaussian{1e21}},
		`{"non_private":{}}`: NonPrivate{},
	} {
		got, err := MarshalEvent(e)
		if err != nil || string(got) != want {
			t.Errorf("MarshalEvent(%v) = %s, %v, want %s", e, got, err, want)
		}
		if back, err := UnmarshalEvent([]byte(want)); err != nil || back != e {
			t.Errorf("UnmarshalEvent(%s) = %v, %v, want %v", want, back, err, e)
		}
	}
}

func TestEventJSONKeepsEveryBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		q := math.Float64frombits(rng.Uint64() % (math.Float64bits(1) + 1))         // any float64 in [0, 1]
		sigma := math.Float64frombits(rng.Uint64() % math.Float64bits(math.Inf(1))) // any finite one ≥ 0
		data, err := MarshalEvent(PoissonSampled{q, Gaussian{sigma}})
		if err != nil {
			t.Fatal(err)
		}
		back, err := UnmarshalEvent(data)
		if err != nil || back != Event(PoissonSampled{q, Gaussian{sigma}}) {
			t.Fatalf("q=%v σ=%v came back from %s as %v, %v", q, sigma, data, back, err)
		}
	}
}

func TestUnmarshalEventIsStrict(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", ``, "EOF"},
		{"cut off", `{"gaussian":{"noise_multiplier":1`, "EOF"},
		{"not an object", `[1]`, "want an object"},
		{"null", `null`, "want an object"},
		{"no event", `{}`, "0 keys"},
		{"two events", `{"gaussian":{"noise_multiplier":1},"non_private":{}}`, "2 keys"},
		{"unknown event", `{"cauchy":{"scale":1}}`, `"cauchy": accountant: invalid: unknown event`},
		{"other case", `{"Gaussian":{"noise_multiplier":1}}`, "unknown event"},
		{"unknown key", `{"gaussian":{"noise_multiplier":1,"clip_norm":1}}`, `unknown key "clip_norm"`},
		{"other case of key", `{"gaussian":{"Noise_Multiplier":1}}`, "unknown key"},
		{"missing key", `{"gaussian":{}}`, `key "noise_multiplier" is missing`},
		{"missing inner", `{"poisson_sampled":{"sampling_probability":0.5}}`, `key "event" is missing`},
		{"duplicate key", `{"gaussian":{"noise_multiplier":1,"noise_multiplier":9}}`, "appears twice"},
		{"duplicate event", `{"gaussian":{"noise_multiplier":1},"gaussian":{"noise_multiplier":9}}`, "appears twice"},
		{"null number", `{"gaussian":{"noise_multiplier":null}}`, "want a number"},
		{"quoted number", `{"gaussian":{"noise_multiplier":"1"}}`, "want a number"},
		{"NaN", `{"gaussian":{"noise_multiplier":NaN}}`, "invalid character"},
		{"overflow", `{"gaussian":{"noise_multiplier":1e400}}`, "outside the range of float64"},
		{"out of range", `{"poisson_sampled":{"sampling_probability":1.5,"event":{"non_private":{}}}}`, "sampling probability is 1.5"},
		{"parameters of non_private", `{"non_private":{"x":1}}`, "unknown key"},
		{"trailing data", `{"gaussian":{"noise_multiplier":1}} {}`, "data after the end"},
		{"trailing junk", `{"gaussian":{"noise_multiplier":1}}x`, "data after the end"},
		{"deep", strings.Repeat(`{"poisson_sampled":{"sampling_probability":1,"event":`, 1000), "nest more than 16 deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if tt.name == "deep" { // complete it, so that depth is what is wrong
				text += `{"non_private":{}}` + strings.Repeat("}}", 1000)
			}
			e, err := UnmarshalEvent([]byte(text))
			if err == nil {
				t.Fatalf("read as %v", e)
			}
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want ErrInvalid with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has several lines: %q", err)
			}
		})
	}
}

func FuzzUnmarshalEvent(f *testing.F) {
	f.Add([]byte(`{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}`))
	f.Add([]byte(`{"non_private":{}}`))
	f.Add([]byte(`{"gaussian":{"noise_multiplier":-0}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := UnmarshalEvent(data)
		if err != nil {
			return
		}
		out, err := MarshalEvent(e)
		if err != nil {
			t.Fatalf("%q was read as %v, which cannot be written: %v", data, e, err)
		}
		if back, err := UnmarshalEvent(out); err != nil || back != e {
			t.Fatalf("%v written as %s came back as %v, %v", e, out, back, err)
		}
	})
}
