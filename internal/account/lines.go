package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// Lines answers questions that all ask for Unknown. [Lines.Answer] takes one, a JSON object:
//
//	{"accountant":"pld","relation":"add_or_remove_one","phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":1000}],"delta":1e-5}
//
// The keys are
//
//	id             anything, for the asker; it is in the answer, as all keys are
//	accountant     a name that accountants.New knows; without it, DefaultAccountant
//	relation       with hyphens or underscores; without it, zero-out
//	group_size     how many records differ together; without it, 1
//	phases         what DP-SGD does, one setting after the other, each with "bands" where so many
//	               blocks of the records take turns; or
//	ledger         any events, as accountant.Ledger writes them; choices count as in a run that was extended; or
//	parallel, …    only for Unknown Epsilon: the key of a theorem, see Theorems, with its subject
//	delta          unless it is what is asked for
//	epsilon        where delta is asked for
//	target_epsilon where a budget has to be met
//
// A line that says what is asked for is refused: epsilon, delta, steps of the last phase, or
// noise_multiplier (sampling_probability if the first phase has none) of any phase.
type Lines struct {
	Failed   int     // lines that were answered with an error
	Unknown  Unknown // what all lines ask for; NoiseMultiplier becomes SamplingProbability where the first phase has none
	accounts Answerer
	read     int // lines so far
}

const (
	keyID            = "id"
	keyAccountant    = "accountant"
	keyRelation      = "relation"
	keyGroupSize     = "group_size"
	keyPhases        = "phases"
	keyLedger        = "ledger"
	keyDelta         = "delta"
	keyEpsilon       = "epsilon"
	keyTargetEpsilon = "target_epsilon"
	keyProbability   = "sampling_probability"
	keyNoise         = "noise_multiplier"
	keySteps         = "steps"
	keyBands         = "bands"
	keyError         = "error"
)

// mostGroup bounds the sizes of groups.
const mostGroup = 1_000_000

// Answer returns the line's object with the answer added: what was asked for, lower, upper and
// seconds, or error. It has no line end.
func (b *Lines) Answer(line []byte) []byte {
	b.read++
	o, err := readObject(line)
	var added object
	if err == nil {
		added, err = b.answer(o)
	}
	if err != nil {
		b.Failed++
		o, added = o.Without(keyError), object{jsonField(keyError, fmt.Sprintf("line %d: %s", b.read, Refusal(err)))}
	}
	answer, err := json.Marshal(append(slices.Clip(o), added...))
	if err != nil {
		return fmt.Appendf(nil, `{%q:%q}`, keyError, "found a line that cannot be written again")
	}
	return answer
}

// Refusal returns the text of an error on one line, without the prefix "train: ".
func Refusal(err error) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "train: ")
}

func jsonField(key string, x any) field {
	raw, err := json.Marshal(x)
	if err != nil {
		raw = []byte("null")
	}
	return field{Key: key, Value: raw}
}

func (b *Lines) answer(o object) (object, error) {
	if t := theoremIn(o); t != nil && b.Unknown == Epsilon {
		c, err := t.line(&b.accounts, o)
		if err != nil {
			return nil, err
		}
		return append(object{jsonField(keyEpsilon, c.Epsilon)}, c.bounds()...), nil
	}
	q, err := b.question(o)
	if err != nil {
		return nil, err
	}
	c, _, err := b.accounts.ask(q)
	if err != nil {
		return nil, err
	}
	var added object
	switch q.Unknown {
	case NoiseMultiplier:
		added = object{jsonField(keyNoise, c.NoiseMultiplier)}
	case SamplingProbability:
		added = object{jsonField(keyProbability, c.SamplingProbability)}
	case Steps:
		added = object{jsonField(keySteps, *c.Steps)}
	}
	if q.Unknown == Delta {
		added = append(added, jsonField(keyDelta, c.Delta))
	} else {
		added = append(added, jsonField(keyEpsilon, c.Epsilon))
	}
	return append(added, c.bounds()...), nil
}

func (c Cost) bounds() object {
	return object{jsonField("lower", c.Lower), jsonField("upper", c.Upper), jsonField("seconds", c.Seconds)}
}

// question reads the question of a line that names no theorem.
func (b *Lines) question(o object) (Question, error) {
	f := fields{object: o}
	q := Question{Unknown: b.Unknown}
	keys := []string{keyID, keyAccountant, keyRelation, keyGroupSize, keyPhases}
	switch {
	case b.Unknown == Delta:
		keys = append(keys, keyLedger, keyEpsilon)
	case b.Unknown > Delta:
		keys = append(keys, keyDelta, keyTargetEpsilon)
	default:
		keys = append(keys, keyLedger, keyDelta)
		for _, t := range Theorems() {
			keys = append(keys, t.Name)
		}
	}
	f.only(keys)
	f.view(&q.View)
	if b.Unknown == Delta {
		q.Epsilon = f.needed(keyEpsilon, "a number")
	} else {
		q.Delta = f.needed(keyDelta, "a number")
	}
	if b.Unknown > Delta {
		q.Epsilon = f.needed(keyTargetEpsilon, "a number above 0")
	}
	if f.err == nil {
		f.err = b.readReleases(o, &q)
	}
	return q, f.err
}

// view reads the accountant, the relation and the group size of a line, or their defaults.
func (f *fields) view(v *View) {
	v.Accountant = f.text(keyAccountant, DefaultAccountant)
	if !slices.Contains(accountants.Names(), v.Accountant) {
		f.failf("found %q: %.40q, expected one of %s", keyAccountant, v.Accountant, strings.Join(accountants.Names(), ", "))
	}
	var ok bool
	relation := f.text(keyRelation, accountant.ZeroOut.String())
	if v.Relation, ok = ParseRelation(relation); !ok {
		f.failf("found %q: %.40q, expected %s", keyRelation, relation, Relations)
	}
	v.GroupSize = f.whole(keyGroupSize, mostGroup, 1)
}

// Relations are the names that ParseRelation reads, for messages.
const Relations = "add-or-remove-one, replace-one or zero-out"

// ParseRelation reads the name of a relation, with hyphens or underscores.
func ParseRelation(name string) (r accountant.Relation, ok bool) {
	err := r.UnmarshalText([]byte(strings.ReplaceAll(name, "_", "-")))
	return r, err == nil
}

// readReleases reads the phases or the ledger into q. With phases it also sets q.Unknown.
func (b *Lines) readReleases(o object, q *Question) error {
	phases, ledger := o.Get(keyPhases), o.Get(keyLedger)
	switch {
	case phases != nil && ledger != nil:
		return errors.New(`found "phases" and "ledger", expected one of the two`)
	case ledger != nil:
		all := new(accountant.Ledger)
		err := all.UnmarshalJSON(ledger)
		if err == nil {
			q.Ledger, q.Divisor, err = Seen(all)
		}
		return err
	case phases == nil && q.Unknown > Delta:
		return errors.New(`found no "phases", expected a list of at least one`)
	case phases == nil:
		return errors.New(`found neither "phases" nor "ledger", expected one of the two`)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(phases, &list); err != nil || len(list) == 0 {
		return fmt.Errorf(`found "phases": %.40s, expected a list of at least one`, phases)
	}
	q.Ledger = new(accountant.Ledger)
	for i, text := range list {
		if err := b.readPhase(text, i, i == len(list)-1, q); err != nil {
			return fmt.Errorf("phase %d: %w", i+1, err)
		}
	}
	return nil
}

// readPhase adds phase i to q. The first phase sets q.Unknown. The last phase has no steps where
// these are asked for: it becomes q.Step.
func (b *Lines) readPhase(text []byte, i int, last bool, q *Question) error {
	o, err := readObject(text)
	if err != nil {
		return err
	}
	if i == 0 {
		q.Unknown = b.Unknown
		if q.Unknown == NoiseMultiplier && o.Get(keyProbability) == nil {
			q.Unknown = SamplingProbability
		}
	}
	open := map[Unknown]string{NoiseMultiplier: keyNoise, SamplingProbability: keyProbability}[q.Unknown]
	if q.Unknown == Steps && last {
		open = keySteps
	}
	wanted := slices.DeleteFunc([]string{keyProbability, keyNoise, keySteps}, func(key string) bool { return key == open })
	if o.Get(open) != nil {
		return fmt.Errorf("found %q, which is asked for, expected %s", open, strings.Join(wanted, " and "))
	}
	f := fields{object: o}
	f.only(append(wanted, keyBands))
	for _, key := range wanted {
		if o.Get(key) == nil {
			f.failf("found no %q, expected %s", key, strings.Join(wanted, ", "))
		}
	}
	bands := 0
	if o.Get(keyBands) != nil {
		bands = f.count(keyBands)
	}
	// What is left open has a value that validates.
	p := InTurns(bands, f.number(keyProbability, 1/float64(max(1, bands))), f.number(keyNoise, 1))
	steps := f.whole(keySteps, MostSteps, 1)
	switch {
	case f.err != nil:
		return f.err
	case open == keySteps:
		q.Step = p
		return accountant.Validate(p)
	}
	return q.Ledger.Add(p, steps)
}
