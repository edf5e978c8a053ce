package account

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/tiny"
)

// answered parses one answer.
func answered(t testing.TB, b *Lines, line string) map[string]any {
	t.Helper()
	text := b.Answer([]byte(line))
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%s was answered with %s: %v", line, text, err)
	}
	return o
}

// A line is answered with its object as it was, key by key and digit by digit, and the answer of
// its accountant behind it.
func TestBatchKeepsTheQuery(t *testing.T) {
	b := &Lines{Unknown: Epsilon}
	query := `{"delta":1.0e-05,"phases":[{"steps":1e2,"sampling_probability":0.0100,"noise_multiplier":1},{"sampling_probability":0.02,"noise_multiplier":2.50,"steps":7,"bands":3}],"relation":"add_or_remove_one","accountant":"rdp","group_size":1}`
	l := releasesOf(t, 0.01, 1, 100)
	tiny.Check(t, l.Add(InTurns(3, 0.02, 2.5), 7))
	want := answer(t, Question{View: View{Accountant: "rdp"}, Ledger: l, Delta: 1e-5})
	number := tiny.Must(json.Marshal(want.Epsilon))(t)
	head := strings.TrimSuffix(query, "}") + `,"epsilon":` + string(number) + `,"lower":0,"upper":` + string(number) + `,"seconds":`
	if text := string(b.Answer([]byte(query))); !strings.HasPrefix(text, head) {
		t.Errorf("found    %s\nexpected %s…}", text, head)
	}
}

// Phases and ledgers are asked about by the accountant and the relation that a line names, in both
// spellings of it; without names by the default ones.
func TestBatchAsksWhomTheLineNames(t *testing.T) {
	l := releasesOf(t, 0.1, 4, 1000)
	text := tiny.Must(json.Marshal(l))(t)
	const phases = `"phases":[{"sampling_probability":0.1,"noise_multiplier":4,"steps":1000}]`
	for head, v := range map[string]View{
		phases:                             {Accountant: DefaultAccountant, Relation: accountant.ZeroOut},
		phases + `,"accountant":"optimal"`: {Accountant: "optimal", Relation: accountant.ZeroOut},
		phases + `,"accountant":"rdp","relation":"replace_one"`:                       {Accountant: RDP, Relation: accountant.ReplaceOne},
		`"ledger":` + string(text) + `,"relation":"add-or-remove-one","group_size":2`: {DefaultAccountant, accountant.AddOrRemoveOne, 2},
	} {
		for unknown, given := range map[Unknown]string{Epsilon: `,"delta":1e-6}`, Delta: `,"epsilon":2}`} {
			want := answer(t, Question{View: v, Unknown: unknown, Ledger: l, Epsilon: 2, Delta: 1e-6})
			o := answered(t, &Lines{Unknown: unknown}, "{"+head+given)
			if key := map[Unknown]string{Epsilon: "epsilon", Delta: "delta"}[unknown]; o[key] != want.Upper || o["upper"] != want.Upper || o["lower"] != want.Lower || o["seconds"].(float64) <= 0 {
				t.Errorf("%s%s: found %v, expected %+v", head, given, o, want)
			}
		}
	}
}

// What a phase leaves open is solved for, with the answers of the package.
func TestBatchSolves(t *testing.T) {
	v := View{Accountant: DefaultAccountant, GroupSize: 1}
	tests := []struct {
		unknown  Unknown
		line     string
		question Question
		key      string
		found    func(Cost) float64
	}{
		{NoiseMultiplier, `{"phases":[{"sampling_probability":0.01,"steps":1000}],"target_epsilon":2,"delta":1e-5}`,
			Question{Unknown: NoiseMultiplier, Ledger: releasesOf(t, 0.01, 1, 1000)}, "noise_multiplier", func(c Cost) float64 { return c.NoiseMultiplier }},
		{NoiseMultiplier, `{"phases":[{"noise_multiplier":1.5,"steps":1000}],"target_epsilon":2,"delta":1e-5}`,
			Question{Unknown: SamplingProbability, Ledger: releasesOf(t, 1, 1.5, 1000)}, "sampling_probability", func(c Cost) float64 { return c.SamplingProbability }},
		{Steps, `{"phases":[{"sampling_probability":0.01,"noise_multiplier":2,"steps":50},{"sampling_probability":0.01,"noise_multiplier":1.5}],"target_epsilon":2,"delta":1e-5}`,
			Question{Unknown: Steps, Ledger: releasesOf(t, 0.01, 2, 50), Step: DPSGD(0.01, 1.5)}, "steps", func(c Cost) float64 { return float64(*c.Steps) }},
	}
	for _, test := range tests {
		q := test.question
		q.View, q.Epsilon, q.Delta = v, 2, 1e-5
		want := answer(t, q)
		o := answered(t, &Lines{Unknown: test.unknown}, test.line)
		if o[test.key] != test.found(want) || o["epsilon"] != want.Epsilon || o["upper"] != want.Epsilon || o["lower"] != want.Lower {
			t.Errorf("%s: found %v, expected %+v", test.line, o, want)
		}
	}
}

// Wrong lines are answered with what was found and expected, in order, and the next line is
// answered as if nothing had been.
func TestBatchErrors(t *testing.T) {
	const phase = `{"sampling_probability":0.1,"noise_multiplier":1,"steps":5}`
	epsilon, delta, steps, calibrate := Epsilon, Delta, Steps, NoiseMultiplier
	tests := []struct {
		unknown    Unknown
		line, want string
	}{
		{epsilon, ``, "found an empty line, expected a JSON object"},
		{epsilon, "  \t", "found an empty line"},
		{epsilon, `ε`, "expected a JSON object"},
		{epsilon, `[1]`, `found "[1]", expected a JSON object`},
		{epsilon, `{"delta":1e-5`, "found no JSON object: unexpected EOF"},
		{epsilon, `{"delta":1e-5} {}`, "found text after the JSON object"},
		{epsilon, `{"delta":1e-5,"phases":[` + phase + `],"noise":1}`, `found the key "noise", expected id, accountant, relation,`},
		{epsilon, `{"delta":1e-5,"delta":1e-6,"phases":[` + phase + `]}`, `found the key "delta" twice`},
		{epsilon, `{"Delta":1e-5,"phases":[` + phase + `]}`, `found the key "Delta"`},
		{epsilon, `{"phases":[` + phase + `]}`, `found no "delta", expected a number`},
		{epsilon, `{"delta":"1e-5","phases":[` + phase + `]}`, `found "delta": "1e-5", expected a number`},
		{epsilon, `{"delta":null,"phases":[` + phase + `]}`, `found "delta": null, expected a number`},
		{epsilon, `{"delta":1e-999999,"phases":[` + phase + `]}`, `delta is 0, expected a number above 0`},
		{epsilon, `{"delta":1,"phases":[` + phase + `]}`, "delta is 1, expected a number above 0 and below 1"},
		{epsilon, `{"delta":1e-5}`, `found neither "phases" nor "ledger"`},
		{epsilon, `{"delta":1e-5,"phases":[` + phase + `],"ledger":[]}`, `found "phases" and "ledger", expected one of the two`},
		{epsilon, `{"delta":1e-5,"phases":[]}`, `found "phases": [], expected a list of at least one`},
		{epsilon, `{"delta":1e-5,"phases":{}}`, `found "phases": {}, expected a list`},
		{epsilon, `{"delta":1e-5,"phases":[3]}`, `phase 1: found "3", expected a JSON object`},
		{epsilon, `{"delta":1e-5,"phases":[` + phase + `,{"sampling_probability":0.1,"steps":5}]}`, `phase 2: found no "noise_multiplier"`},
		{epsilon, `{"delta":1e-5,"phases":[{"sampling_probability":1.5,"noise_multiplier":1,"steps":5}]}`, "phase 1: accountant: invalid: sampling probability"},
		{epsilon, `{"delta":1e-5,"phases":[{"sampling_probability":0.1,"noise_multiplier":-1,"steps":5}]}`, "phase 1: accountant: invalid: noise multiplier"},
		{epsilon, `{"delta":1e-5,"phases":[{"sampling_probability":0.1,"noise_multiplier":0,"steps":5}]}`, "no guarantee: epsilon is infinite"},
		{epsilon, `{"delta":1e-5,"phases":[{"sampling_probability":0.1,"noise_multiplier":1,"steps":0}]}`, `found "steps": 0, expected a whole number from 1`},
		{epsilon, `{"delta":1e-5,"phases":[{"sampling_probability":0.1,"noise_multiplier":1,"steps":1.5}]}`, `found "steps": 1.5, expected a whole number`},
		{epsilon, `{"delta":1e-5,"ledger":[{"event":{"gauss":{}},"count":1}]}`, `event "gauss"`},
		{epsilon, `{"delta":1e-5,"ledger":null}`, "want a list of entries"},
		{epsilon, `{"delta":1e-5,"accountant":"moments","phases":[` + phase + `]}`, `found "accountant": "moments", expected one of `},
		{epsilon, `{"delta":1e-5,"accountant":1,"phases":[` + phase + `]}`, `found "accountant": 1, expected a string`},
		{epsilon, `{"delta":1e-5,"relation":"add","phases":[` + phase + `]}`, `found "relation": "add", expected add-or-remove-one, replace-one or zero-out`},
		{epsilon, `{"delta":1e-5,"group_size":0,"phases":[` + phase + `]}`, `found "group_size": 0, expected a whole number from 1`},
		{epsilon, `{"delta":1e-5,"epsilon":1,"phases":[` + phase + `]}`, `found the key "epsilon"`},
		{delta, `{"delta":1e-5,"phases":[` + phase + `]}`, `found the key "delta"`},
		{delta, `{"epsilon":-1,"phases":[` + phase + `]}`, "epsilon is -1, expected"},
		{steps, `{"target_epsilon":1,"delta":1e-5,"phases":[` + phase + `]}`, `phase 1: found "steps", which is asked for`},
		{steps, `{"target_epsilon":1,"delta":1e-5,"ledger":[]}`, `found the key "ledger"`},
		{steps, `{"delta":1e-5,"phases":[{"sampling_probability":0.1,"noise_multiplier":1}]}`, `found no "target_epsilon"`},
		{calibrate, `{"target_epsilon":1,"delta":1e-5,"phases":[` + phase + `]}`, `phase 1: found "noise_multiplier", which is asked for`},
		{calibrate, `{"accountant":"rdp","target_epsilon":1e-12,"delta":1e-5,"phases":[{"sampling_probability":1,"steps":1000000}]}`, "target out of reach"},
		{calibrate, `{"target_epsilon":0,"delta":1e-5,"phases":[{"sampling_probability":1,"steps":10}]}`, "the budget epsilon is 0, expected"},
	}
	batches := map[Unknown]*Lines{}
	for _, test := range tests {
		b := batches[test.unknown]
		if b == nil {
			b = &Lines{Unknown: test.unknown}
			batches[test.unknown] = b
		}
		o := answered(t, b, test.line)
		message, _ := o["error"].(string)
		if !strings.Contains(message, test.want) || strings.Contains(message, "\n") {
			t.Errorf("%s: found error %q, expected %q", test.line, message, test.want)
		}
		if o["epsilon"] != nil && test.unknown != Delta && !strings.Contains(test.line, `"epsilon"`) {
			t.Errorf("%s: found an answer beside the error: %v", test.line, o)
		}
	}
	good := answered(t, batches[epsilon], `{"delta":1e-5,"phases":[`+phase+`]}`)
	if good["error"] != nil || good["epsilon"] == nil {
		t.Errorf("after all errors found %v", good)
	}
}

// An id comes back with the answer, and an error says which line it is about.
func TestBatchAnswersNameTheirLines(t *testing.T) {
	b := &Lines{Unknown: Epsilon}
	const asked = `{"id":{"run":7},"phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":10}],"delta":1e-5`
	if text := string(b.Answer([]byte(asked + "}"))); !strings.HasPrefix(text, asked+`,"epsilon":`) || b.Failed != 0 {
		t.Errorf("found %s and %d failures", text, b.Failed)
	}
	if text := string(b.Answer([]byte("x"))); !strings.HasPrefix(text, `{"error":"line 2: found `) || b.Failed != 1 {
		t.Errorf("found %s and %d failures, expected one in line 2", text, b.Failed)
	}
}

// An answer with an error that is asked again has one error.
func TestBatchAnswersAnErrorOnce(t *testing.T) {
	b := &Lines{Unknown: Epsilon}
	once := b.Answer([]byte(`{"delta":2}`))
	if text := string(b.Answer(once)); strings.Count(text, `"error"`) != 1 || !strings.Contains(text, "found the key") {
		t.Errorf("found %s", text)
	}
}

// A stream of questions that are all different takes no more memory at its end than in its middle:
// what is kept is bounded. 4,000 curves of 900 orders would be some 30 MB.
func TestBatchMemoryIsBounded(t *testing.T) {
	b := &Lines{Unknown: Epsilon}
	half := func(from int) uint64 {
		for i := range 2000 {
			line := fmt.Sprintf(`{"accountant":"rdp","phases":[{"sampling_probability":%v,"noise_multiplier":50,"steps":10}],"delta":1e-5}`, 1e-4*(1+1e-5*float64(from+i)))
			if o := string(b.Answer([]byte(line))); !strings.Contains(o, `"epsilon"`) {
				t.Fatal(o)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	middle := half(0)
	if end := half(2000); end > middle+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", middle, end)
	}
}

// A ledger that accountants write is read as they read it.
func TestBatchReadsLedgersStrictly(t *testing.T) {
	var l accountant.Ledger
	for _, e := range []accountant.Event{accountant.Gaussian{NoiseMultiplier: 3}, accountant.Laplace{Scale: 4}} {
		tiny.Check(t, l.Add(e, 2))
	}
	text := tiny.Must(json.Marshal(&l))(t)
	b := &Lines{Unknown: Epsilon}
	want := answer(t, Question{View: View{Accountant: DefaultAccountant}, Ledger: &l, Delta: 1e-5})
	if o := answered(t, b, fmt.Sprintf(`{"ledger":%s,"delta":1e-5}`, text)); o["epsilon"] != want.Epsilon {
		t.Errorf("found %v, expected %v", o, want.Epsilon)
	}
	twice := strings.Replace(string(text), `"count":2`, `"count":1,"count":2`, 1)
	if o := answered(t, b, fmt.Sprintf(`{"ledger":%s,"delta":1e-5}`, twice)); o["error"] == nil {
		t.Errorf("a repeated count was answered with %v", o)
	}
}

// The ledger of a run that was extended costs the same by its entries as by its folder.
func TestBatchCountsChoices(t *testing.T) {
	releases := releasesOf(t, 0.1, 4, 100)
	l := tiny.Must(releases.With(Choice, 3))(t)
	text := tiny.Must(json.Marshal(l))(t)
	want := answer(t, Question{View: View{Accountant: "rdp"}, Ledger: releases, Delta: 1e-5 / 8})
	if o := answered(t, &Lines{Unknown: Epsilon}, fmt.Sprintf(`{"accountant":"rdp","ledger":%s,"delta":1e-5}`, text)); o["epsilon"] != want.Epsilon {
		t.Errorf("found %v, expected ε = %v of the same releases at δ/8", o, want.Epsilon)
	}
	want = answer(t, Question{View: View{Accountant: "rdp"}, Unknown: Delta, Ledger: releases, Epsilon: 3})
	if o := answered(t, &Lines{Unknown: Delta}, fmt.Sprintf(`{"accountant":"rdp","ledger":%s,"epsilon":3}`, text)); o["delta"] != 8*want.Delta {
		t.Errorf("found %v, expected 8 times the δ = %v of the same releases", o, want.Delta)
	}
}

// More choices than δ can be halved are an error and no number.
func TestBatchOfTooManyChoices(t *testing.T) {
	for _, unknown := range []Unknown{Epsilon, Delta} {
		given := map[Unknown]string{Epsilon: `"delta":1e-5`, Delta: `"epsilon":1`}[unknown]
		line := `{"accountant":"rdp","ledger":[{"event":{"gaussian":{"noise_multiplier":9}},"count":1},{"event":{"approx_dp":{"epsilon":0,"delta":0}},"count":1100}],` + given + `}`
		if o := answered(t, &Lines{Unknown: unknown}, line); o["error"] == nil {
			t.Errorf("found %v, expected an error", o)
		}
	}
}
