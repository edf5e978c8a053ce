package pate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/floats"
)

// config is the tiny configuration with ten teachers.
func config(t *testing.T, more ...string) *configs.Config {
	t.Helper()
	settings := map[string]string{
		"privacy.noise_multiplier": "calibrated", "privacy.epsilon": "20", "privacy.delta": "1e-3", "pate.teachers": "10", "pate.pool": "60", "pate.queries": "30",
		"pate.noise": "2", "pate.threshold": "7", "pate.threshold_noise": "3", "pate.self_training": "2", "training.batch_size": "15",
	}
	for _, override := range more {
		key, value, _ := strings.Cut(override, "=")
		settings[key] = value
	}
	var overrides []string
	for key, value := range settings {
		without := settings["pate.teachers"] == "0" && strings.HasPrefix(key, "pate.") && key != "pate.teachers"
		if aggregation := settings["pate.aggregation"]; without || strings.HasPrefix(key, "pate.threshold") && aggregation != "" && aggregation != "confident" {
			continue // means nothing there
		}
		overrides = append(overrides, key+"="+value)
	}
	slices.Sort(overrides)
	return tiny.Parse(t, overrides...)
}

func options(t *testing.T) Options {
	t.Helper()
	return Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny"}}
}

func create(t *testing.T, c *configs.Config, o Options) *Run {
	t.Helper()
	r := tiny.Must(Create(c, o))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

// reopen closes a run, and opens it again.
func reopen(t *testing.T, r *Run, o Options) *Run {
	t.Helper()
	r.Close()
	again := tiny.Must(Open(r.Dir, o))(t)
	t.Cleanup(func() { again.Close() })
	return again
}

func fit(t *testing.T, r *Run) Result {
	t.Helper()
	tiny.Check(t, r.CarryOut(t.Context()))
	return r.Result
}

// The parts are disjoint, cover all examples, are of one size up to 1, and a function of public
// numbers.
func TestPartitionIsDisjointAndCovers(t *testing.T) {
	for _, n := range []int{10, 99, 1000} {
		parts := partition(n, 10, 1)
		seen := make([]int, n)
		for _, part := range parts {
			if len(part) < n/10 || len(part) > n/10+1 {
				t.Errorf("a part of %d examples has %d", n, len(part))
			}
			for _, i := range part {
				seen[i]++
			}
		}
		if slices.Max(seen) != 1 || slices.Min(seen) != 1 {
			t.Errorf("%d examples are in %d to %d parts", n, slices.Min(seen), slices.Max(seen))
		}
		if again := partition(n, 10, 1); !slices.EqualFunc(parts, again, slices.Equal) {
			t.Error("another partition of the same numbers")
		}
	}
	if slices.EqualFunc(partition(99, 10, 1), partition(99, 10, 2), slices.Equal) {
		t.Error("the partition does not depend on its seed")
	}
}

// edited returns the split with other training examples: what change makes of labels and pictures.
func edited(t *testing.T, s *data.Split, change func(labels []uint8, pictures [][]uint8)) *data.Split {
	t.Helper()
	train := s.Train.(*data.Images)
	labels, pictures := make([]uint8, train.Len()), make([][]uint8, train.Len())
	for i := range labels {
		labels[i], pictures[i] = uint8(train.Label(i)), train.Pixels(i)
	}
	change(labels, pictures)
	other := *s
	other.Train = tiny.Must(data.NewImages(train.Shape(), train.Classes(), labels, bytes.Join(pictures, nil)))(t)
	return &other
}

// Whatever one training example is, the votes of one teacher alone can be others, one of each
// question.
func TestOneExampleChangesOneVote(t *testing.T) {
	ballots := func(change int) [][]uint8 {
		o := options(t)
		if change >= 0 {
			o.Given = edited(t, o.Given, func(labels []uint8, pictures [][]uint8) {
				labels[change] = (labels[change] + 1) % 3
				pictures[change] = bytes.Repeat([]byte{255}, len(pictures[change]))
			})
		}
		r := create(t, config(t, "pate.teachers=100", "optimizer.learning_rate=5"), o)
		tiny.Check(t, r.teach(t.Context()))
		var found [][]uint8
		for _, b := range r.ballots {
			found = append(found, b.Votes)
		}
		return found
	}
	before, changed := ballots(-1), 0
	for _, example := range []int{0, 17, 299} {
		var others []int
		for k, votes := range ballots(example) {
			if !slices.Equal(votes, before[k]) {
				others = append(others, k)
			}
		}
		changed += len(others)
		owner := slices.IndexFunc(partition(tiny.Examples, 100, 1), func(part []int) bool { return slices.Contains(part, example) })
		if len(others) > 1 || len(others) == 1 && others[0] != owner {
			t.Errorf("example %d of teacher %d changed the votes of teachers %v", example, owner, others)
		}
	}
	if changed == 0 {
		t.Error("no example changed a vote: the test shows nothing")
	}
}

// All events of the plan are in the ledger at the end, asked or not; the ε of the statement is
// theirs and within the budget; the model and statement are those of a run.
func TestRun(t *testing.T) {
	gaussian := accountant.Gaussian{NoiseMultiplier: 1.4142135623730945} // 2/√2, rounded down
	for aggregation, want := range map[string]Plan{
		"confident": {Aggregation: votes.Aggregation{Max: votes.GaussianMax{Sigma: 2}, Check: &votes.Threshold{At: 7, Sigma: 3}}, answer: gaussian, check: accountant.Gaussian{NoiseMultiplier: 3}},
		"gnmax":     {Aggregation: votes.Aggregation{Max: votes.GaussianMax{Sigma: 2}}, answer: gaussian},
		"lnmax":     {Aggregation: votes.Aggregation{Max: votes.LaplaceMax{Scale: 2}}, answer: accountant.Laplace{Scale: 1}},
	} {
		t.Run(aggregation, func(t *testing.T) {
			r := create(t, config(t, "pate.aggregation="+aggregation), options(t))
			if p := r.Plan; !reflect.DeepEqual(p.Aggregation, want.Aggregation) || p.answer != want.answer || p.check != want.check {
				t.Errorf("found %+v with the events %v and %v, expected %+v", p.Aggregation, p.answer, p.check, want)
			}
			tiny.Check(t, r.teach(t.Context()))
			for _, b := range r.ballots {
				b.Accuracy = 0.25
			}
			result := fit(t, r)
			in := r.Plan.count(r.Books.Ledger())
			wantChecks := 0
			if aggregation == "confident" {
				wantChecks = 30
			}
			if in.Answers != r.Plan.Answers || in.Checks != wantChecks || r.Books.Len() != in.Answers+in.Checks {
				t.Errorf("the ledger holds %+v of %d entries, expected %d checks and %d answers", in, r.Books.Len(), wantChecks, r.Plan.Answers)
			}
			if result.Answered < 1 || result.Answered > r.Plan.Answers || result.Queries > 30 || !(result.Epsilon <= 20) || !(*result.StudentAccuracy > 0.5) || *result.TeacherAccuracy != 0.25 {
				t.Errorf("found %+v", result)
			}
			if !(result.Aggregated > 0.5) || (result.Status == run.BudgetExhausted) != (result.Queries < 30) {
				t.Errorf("found %+v, expected right answers, and that a budget is exhausted where not all is asked", result)
			}
			if rounds, err := run.ReadMetrics(r.Dir); err != nil || len(rounds) != 3 || rounds[2].Step != 3 || rounds[2].LearningRate != 0.5 || !(rounds[2].Epsilon > 0) {
				t.Errorf("%v: metrics %+v, expected 3 rounds with their rate and ε", err, rounds)
			}
			if result.Released != nil || !(*result.EpsilonDataDependent > 0) {
				t.Errorf("data-dependent ε %v, released: %v", *result.EpsilonDataDependent, result.Released)
			}
			s, err := statement.Read(r.Dir)
			if err != nil || s.System != "pate" || s.Epsilon != result.Epsilon || s.LedgerEntries != r.Books.Len() || s.TargetEpsilon != 20 || !(s.AddedDelta > 0) || !strings.Contains(s.Neighbours, "empty") {
				t.Errorf("%v: statement %+v", err, s)
			}
			tiny.Says(t, r.Dir, "the student is measured on the other 30", map[string]string{"lnmax": " LNMax: ", "gnmax": " GNMax: "}[aggregation],
				fmt.Sprintf("%d were asked and %d answered. Paid for are 30 questions and %d answers", result.Queries, result.Answered, r.Plan.Answers))
			if text := tiny.Read(t, r.Path(folder.StatementData)); strings.Contains(text, fmt.Sprint(*result.EpsilonDataDependent)) {
				t.Error("the statement holds the data-dependent ε, which was not released")
			}
			r.Close()
			if tensors, _, err := trained.Weights(r.Dir, r.Config); err != nil || len(tensors) == 0 {
				t.Error(err)
			}
			for _, file := range []string{votesFile, answersFile} {
				if info, err := os.Stat(r.Path(file)); err != nil || info.Mode().Perm() != folder.FilePerm {
					t.Errorf("%s: %v", file, err)
				}
			}
		})
	}
}

// Where an event is not durable nothing is answered or written.
func TestNoAnswerWithoutADurableEvent(t *testing.T) {
	r := create(t, config(t), options(t))
	tiny.Check(t, r.teach(t.Context()))
	journal := &memory{err: errors.New("no space left on device")}
	r.desk = answer.NewDesk(journal, nil)
	if err := r.askNext(); err == nil || len(journal.begun) != 1 {
		t.Errorf("%v after the events %v", err, journal.begun)
	}
	if _, err := os.Stat(r.Path(answersFile)); len(r.answers.asked) != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an answer without an event: %v, %v", r.answers, err)
	}
}

// Teachers that saw the examples in another order do not vote beside those of now: an example could
// have two votes. All teachers of one order vote together.
func TestBallotsAreOfOneOrder(t *testing.T) {
	o := options(t)
	other := o
	other.Given = edited(t, o.Given, func(labels []uint8, pictures [][]uint8) {
		labels[0], labels[1] = labels[1], labels[0]
		pictures[0], pictures[1] = pictures[1], pictures[0]
	})
	r := create(t, config(t), o)
	for _, wrong := range []struct{ teacher, votes int }{{10, 60}, {-1, 60}, {9, 3}, {9, 61}} { // of no teacher, of no pool
		tiny.Check(t, r.WriteLine(votesFile, ballot{Examples: r.dealt, Teacher: wrong.teacher, Votes: make([]uint8, wrong.votes)}, nil))
	}
	for _, step := range []struct {
		o            Options
		votes, found int // teachers that have voted, and those whose ballots count then
	}{{o, 9, 9}, {other, 9, 0}, {o, 10, 10}, {other, 10, 10}} {
		for k := range step.votes {
			if r.ballots[k] == nil && step.found > 0 {
				tiny.Check(t, r.keep(&ballot{Examples: r.dealt, Teacher: k, Votes: make([]uint8, 60)}))
			}
		}
		r = reopen(t, r, step.o)
		if found := len(r.ballots) - len(slices.DeleteFunc(slices.Clone(r.ballots), func(b *ballot) bool { return b != nil })); found != step.found {
			t.Errorf("after %d votes: found %d ballots, expected %d", step.votes, found, step.found)
		}
	}
}

// Killed anywhere, a run goes on: what was paid for counts, what has no result is paid again, the
// budget is not passed, and teachers are not trained twice. The kill is that of the moment between
// a durable event and its record, too.
func TestGoesOnAfterAKill(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(p Progress) bool
		lose  bool // the newest record, as by a kill before it was written
	}{
		{"teachers", func(p Progress) bool { return p.Stage == "teachers" && p.Done == 4 }, false},
		{"first question", func(p Progress) bool { return p.Stage == "questions" && p.Done == 1 }, true},
		{"questions", func(p Progress) bool { return p.Stage == "questions" && p.Done == 9 }, false},
		{"lost question", func(p Progress) bool { return p.Stage == "questions" && p.Done == 9 }, true},
		{"student", func(p Progress) bool { return p.Stage == "student" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			ctx, cancel := context.WithCancel(t.Context())
			o.Progress = func(p Progress) {
				if tt.after(p) {
					cancel()
				}
			}
			r := create(t, config(t), o)
			if err := r.CarryOut(ctx); err != nil || r.Result.Status != run.Interrupted {
				t.Fatalf("%+v, %v", r.Result, err)
			}
			r.Close()
			kept := strings.Count(tiny.Read(t, r.Path(votesFile)), "\n")
			tiny.Write(t, r.Path(votesFile), tiny.Read(t, r.Path(votesFile))+`{"teacher":`)
			if tt.lose {
				content := tiny.Read(t, r.Path(answersFile))
				cut := strings.LastIndex(strings.TrimSuffix(content, "\n"), "\n") + 1
				tiny.Write(t, r.Path(answersFile), content[:cut]+`{"question":`)
			}
			trainedNow := 0
			o.Progress = func(p Progress) {
				if p.Stage == "teachers" {
					trainedNow++
				}
			}
			again := reopen(t, r, o)
			result := fit(t, again)
			if kept+trainedNow != 10 {
				t.Errorf("%d teachers were kept and %d trained, expected 10 together", kept, trainedNow)
			}
			lost := 0
			if tt.lose {
				lost = 1
			}
			in := again.Plan.count(again.Books.Ledger())
			if in.Checks != 30+lost || result.Epsilon > 20 || len(again.answers.asked) != result.Queries {
				t.Errorf("the ledger holds %+v and costs %v, %d questions lost", in, result.Epsilon, lost)
			}
			if !(*result.StudentAccuracy > 0.5) {
				t.Errorf("student accuracy %v", *result.StudentAccuracy)
			}
			last := reopen(t, again, o)
			if slices.Contains(last.ballots, nil) || len(last.answers.asked) != result.Queries {
				t.Errorf("%d of %d questions are read again, and the ballots %v", len(last.answers.asked), result.Queries, last.ballots)
			}
			metrics, words := tiny.Read(t, last.Path(folder.Metrics)), tiny.Read(t, last.Path(folder.Statement))
			if end := fit(t, last); *end.StudentAccuracy != *result.StudentAccuracy || *end.EpsilonDataDependent != *result.EpsilonDataDependent || tiny.Read(t, last.Path(folder.Metrics)) != metrics || tiny.Read(t, last.Path(folder.Statement)) != words {
				t.Errorf("a finished run ends with %+v and other files, expected %+v and the same", end, result)
			}
		})
	}
}

// Where the check fails nothing is drawn from the votes: no event of an answer, and no class. The
// check itself is paid for before it is drawn, whatever it says. Thresholds are hundreds of
// deviations from any votes.
func TestNoAnswerWhereTheCheckFails(t *testing.T) {
	for threshold, answered := range map[int]int{0: 5, 1000: 0} {
		r := create(t, config(t), options(t))
		tiny.Check(t, r.teach(t.Context()))
		r.dependent = r.Plan.Aggregation.NewAccount()
		r.Plan.config.Pate.Threshold = threshold
		journal := new(memory)
		r.desk = answer.NewDesk(journal, nil)
		for range 5 {
			tiny.Check(t, r.askNext())
		}
		want := slices.Repeat([]accountant.Event{r.Plan.check, r.Plan.answer}, 5)
		if answered == 0 {
			want = slices.Repeat([]accountant.Event{r.Plan.check}, 5)
		}
		if !slices.Equal(journal.begun, want) || len(r.answers.class) != answered {
			t.Errorf("threshold %d: the events are %v, and %d classes were answered; expected %v and %d", threshold, journal.begun, len(r.answers.class), want, answered)
		}
		r.Plan.Queries = 5
		if err := r.Next(t.Context()); errors.Is(err, ErrUnanswered) != (answered == 0) {
			t.Errorf("threshold %d: %v after %d answers", threshold, err, answered)
		}
		if content := tiny.Read(t, r.Path(answersFile)); answered == 0 && strings.Contains(content, "class") {
			t.Errorf("a question that failed its check has a class:\n%s", content)
		}
	}
}

// What was paid for, and whose result kills have lost, costs as much as any: answers give way to it
// in the budget, and it counts in the data-dependent ε for the worst votes, after another kill too.
func TestChecksLostInKillsCost(t *testing.T) {
	for lost, c := range map[tally]*configs.Config{
		{Checks: 40, Answers: 1}:  config(t),
		{Answers: 2, Releases: 1}: config(t, "pate.aggregation=gnmax", "pate.release_data_dependent=true", "pate.release_order=2"),
	} {
		o := options(t)
		r := create(t, c, o)
		for range lost.Checks {
			tiny.Check(t, r.Books.Append(r.Books.Len()+1, r.Plan.check))
		}
		for range lost.Answers {
			tiny.Check(t, r.Books.Append(r.Books.Len()+1, r.Plan.answer))
		}
		for range lost.Releases {
			tiny.Check(t, r.Books.Append(r.Books.Len()+1, r.Plan.Release.Event()))
		}
		again := reopen(t, r, o)
		if again.Plan.lost != lost || again.Plan.Answers >= r.Plan.Answers {
			t.Errorf("%+v are lost and %d answers planned, expected %+v, and fewer answers than %d", again.Plan.lost, again.Plan.Answers, lost, r.Plan.Answers)
		}
		result := fit(t, again)
		planned := again.Plan.count(tiny.Must(again.Planned())(t))
		if in := again.Plan.count(again.Books.Ledger()); in != planned || in.Answers != again.Plan.Answers+lost.Answers || in.Releases != 2*lost.Releases || !(result.Epsilon <= 20) {
			t.Errorf("the ledger holds %+v and costs %v, expected %+v with %+v that are lost within 20", in, result.Epsilon, planned, lost)
		}
		account := again.Plan.Aggregation.NewAccount()
		for question, answered := range again.answers.asked {
			account.Add(votes.Question{Votes: again.counts(question), Answered: answered})
		}
		without, _ := account.Epsilon(again.Plan.Budget.Delta)
		account.AddLost(lost.Checks, lost.Answers)
		with, _ := account.Epsilon(again.Plan.Budget.Delta)
		if s := again.Plan.Release; s != nil {
			without = s.Epsilon(-1, again.Plan.Budget.Delta)
			with = s.Epsilon(again.Plan.Aggregation.Lost(lost.Checks, lost.Answers, s.Order), again.Plan.Budget.Delta)
		}
		last := reopen(t, again, o)
		tiny.Check(t, last.teach(t.Context()))
		for _, r := range []*Run{again, last} {
			if r.answers.released != nil {
				*r.answers.released = -1 // as its noise may make it
			}
			if got, _ := r.dataDependent(); math.Abs(got/with-1) > 1e-9 || !(with > without) || r.Plan.lost != lost || r.Plan.Answers != again.Plan.Answers {
				t.Errorf("data-dependent ε is %v with %+v lost of %d, expected %v with %+v of %d, and %v without", got, r.Plan.lost, r.Plan.Answers, with, lost, again.Plan.Answers, without)
			}
		}
	}
}

// Of a run that paid for more than it planned, and did not come to its budget, the statement claims
// what covers the kill, and says beside it what was released.
func TestStatementOfWhatWasReleased(t *testing.T) {
	o := options(t)
	r := create(t, config(t, "privacy.epsilon=200"), o)
	tiny.Check(t, r.Books.Append(1, r.Plan.check))
	again := reopen(t, r, o)
	result := fit(t, again)
	s, err := statement.Read(r.Dir)
	if err != nil || s.Released == nil || s.Epsilon != result.Epsilon || !(s.Released.Epsilon < s.Epsilon) || s.Repeated != 1 || s.ClaimedEntries != s.LedgerEntries {
		t.Fatalf("found ε = %v of %d releases and %+v of %d (%v), expected what was released beside a larger claim", s.Epsilon, s.ClaimedEntries, s.Released, s.LedgerEntries, err)
	}
	text := tiny.Read(t, r.Path(folder.Statement))
	for _, want := range []string{"ε of the releases by now (rounded up)", "The run was killed and repeated releases"} {
		if !strings.Contains(text, want) {
			t.Errorf("the statement lacks %q", want)
		}
	}
}

// Killed while what was not asked is paid for, a run pays the rest and asks nothing more.
func TestPaysTheRestAfterAKill(t *testing.T) {
	o := options(t)
	r := create(t, config(t), o)
	tiny.Check(t, r.teach(t.Context()))
	for range 5 {
		tiny.Check(t, r.askNext())
	}
	tiny.Check(t, r.keepRecord(record{Ended: &tally{Checks: r.Plan.Queries, Answers: r.Plan.Answers}}))
	tiny.Check(t, r.Books.Append(r.Books.Len()+1, r.Plan.check))
	again := reopen(t, r, o)
	result := fit(t, again)
	if in := again.Plan.count(again.Books.Ledger()); in.Checks != r.Plan.Queries || in.Answers != r.Plan.Answers || result.Queries != 5 {
		t.Errorf("the ledger holds %+v after %d questions, expected %d and %d after 5", in, result.Queries, r.Plan.Queries, r.Plan.Answers)
	}
}

// A ledger that was put back, a plan that was changed and answers that were never paid for are
// refused.
func TestRefusesWhatDoesNotAgree(t *testing.T) {
	o := options(t)
	r := create(t, config(t), o)
	reopen := func(change func()) error {
		change()
		r.Close()
		again, err := Open(r.Dir, o)
		if err == nil {
			again.Close()
		}
		return err
	}
	tiny.Check(t, r.Books.Append(1, r.Plan.check))
	if err := reopen(func() { tiny.Write(t, r.Path(answersFile), "{\"question\":0,\"answered\":true}\n") }); !errors.Is(err, checkpoints.ErrRollback) {
		t.Errorf("an answer that was not paid for, behind its check: %v", err)
	}
	o = options(t)
	r = create(t, config(t), o)
	fit(t, r)
	changed := strings.Replace(tiny.Read(t, r.Path(folder.Config)), "noise: 2", "noise: 3", 1)
	kept := tiny.Read(t, r.Path(folder.Config))
	if err := reopen(func() { tiny.Write(t, r.Path(folder.Config), changed) }); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("other noise: %v", err)
	}
	tiny.Write(t, r.Path(folder.Config), kept)
	more := o
	more.Given = tiny.Source(t, tiny.Examples+1)
	if _, err := Open(r.Dir, more); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("one example more: %v", err)
	}
	content := tiny.Read(t, r.Path(answersFile))
	next, beyond := fmt.Sprintf("{\"question\":%d,\"answered\":true,\"class\":", r.Result.Queries), ""
	for i := range 31 {
		beyond += fmt.Sprintf("{\"question\":%d}\n", i)
	}
	for what, wrong := range map[string]string{"a question again": content + "{\"question\":3}\n", "no class": content + next + "3}\n", "a class below 0": content + next + "-1}\n", "more than was planned": beyond} {
		if err := reopen(func() { tiny.Write(t, r.Path(answersFile), wrong) }); !errors.Is(err, checkpoints.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Whatever kills have lost, the answers and checks that are made stay planned.
func TestWhatIsMadeStaysPlanned(t *testing.T) {
	p := tiny.Must(NewPlan(config(t), setup.Outline{Examples: tiny.Examples, Tests: tiny.Examples, Classes: 3}))(t)
	if err := p.goOn(tally{Checks: 500}, tally{Checks: 5, Answers: 4}); err != nil || p.Answers != 4 || p.Queries != 5 {
		t.Errorf("%d checks and %d answers are planned (%v), expected the 5 and 4 that are made", p.Queries, p.Answers, err)
	}
}

// The data-dependent ε is released where that is configured: its event is in the ledger, the
// statement has it, and its cost is within the budget.
func TestReleaseOfTheDataDependent(t *testing.T) {
	o := options(t)
	r := create(t, config(t, "pate.release_data_dependent=true", "pate.release_order=2", "pate.aggregation=gnmax"), o)
	result := fit(t, r)
	for _, order := range []float64{2, 12, 1000} {
		if dearer := released(order).Event().(accountant.SmoothGaussian).Divergence(order) / (order / (2 * 4 * 4)); !(dearer >= 1 && dearer <= 2) {
			t.Errorf("the release at order %g costs %v times what noise of 4 sensitivities does, expected 1 to 2", order, dearer)
		}
	}
	if below := math.Erfc(r.Plan.Release.Z/math.Sqrt2) / 2; math.Abs(below-0.01) > 1e-9 {
		t.Errorf("the released ε is too small with probability %v, expected one in a hundred", below)
	}
	if in := r.Plan.count(r.Books.Ledger()); in.Releases != 1 || result.Released == nil || result.Epsilon > 20 {
		t.Errorf("ledger %+v, result %+v", in, result)
	}
	released := strings.LastIndex(strings.TrimSuffix(tiny.Read(t, r.Path(answersFile)), "\n"), "\n") + 1
	if s, err := statement.Read(r.Dir); err != nil || !slices.ContainsFunc(s.Facts, func(f statement.Fact) bool { return strings.Contains(f.Name, "released by its smooth sensitivity") }) {
		t.Errorf("%v: facts %v", err, s.Facts)
	}
	tiny.Check(t, os.Truncate(r.Path(answersFile), int64(released))) // as by a kill ahead of it
	if again := fit(t, reopen(t, r, o)); again.Released != nil || again.Status != result.Status || !reflect.DeepEqual(again.StudentAccuracy, result.StudentAccuracy) {
		t.Errorf("found %+v, expected no second release where the plan has one", again)
	}
	r.answers.released, r.ballots[0].Votes[len(r.answers.asked)-1] = nil, 200 // no class
	if err := r.releaseDependent(); err == nil || !strings.Contains(err.Error(), "other teachers") {
		t.Errorf("found %v, expected a refusal of the last question, which lacks a vote", err)
	}
}

// Answers have the noise of the plan: 4,000 answers to votes of 6 against 4 with σ = 2 are the
// larger class with probability Φ(2/(2√2)) within 7 deviations (false failures: 1 in 10^11). An
// aggregation without noise answers it always, one that counts votes twice with Φ(4/(2√2)).
func TestAnswersHaveTheNoiseOfThePlan(t *testing.T) {
	r := create(t, config(t, "pate.aggregation=gnmax"), options(t))
	v := tiny.Must(answer.NewVotes([]int{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, 2))(t)
	q := tiny.Must(r.Plan.question(v))(t)
	if want := r.Plan.answer; q.Event() != want || math.Abs(want.(accountant.Gaussian).NoiseMultiplier-math.Sqrt2) > 1e-9 {
		t.Errorf("event %v, expected %v: σ/√2", q.Event(), want)
	}
	const n = 4000
	within := func(p float64) bool {
		desk, first := answer.NewDesk(new(memory), nil), 0
		for range n {
			class := tiny.Must(answer.Ask(desk, q))(t)
			if class == 0 {
				first++
			}
		}
		return math.Abs(float64(first)-n*p) <= 7*math.Sqrt(n*p*(1-p)+1)
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	if !within(phi(2 / (2 * math.Sqrt2))) {
		t.Error("the answers do not have the noise of the plan")
	}
	for _, mutant := range []float64{1, phi(4 / (2 * math.Sqrt2))} {
		if within(mutant) {
			t.Errorf("the test does not tell the plan from answers that are right with probability %v", mutant)
		}
	}
}

// memory is a journal of tests alone.
type memory struct {
	ledger accountant.Ledger
	begun  []accountant.Event
	err    error // of every event
}

func (m *memory) Begin(_ int, e accountant.Event) func() error {
	m.begun = append(m.begun, e)
	return func() error { return m.err }
}
func (m *memory) Ledger() *accountant.Ledger { return &m.ledger }

// An example's neighbours are the other examples most like it, the most alike first. The pool here
// has more examples than are compared at a time.
func TestNeighboursAreTheNearest(t *testing.T) {
	o := options(t)
	o.Given.Test = tiny.Pictures(t, graphBlock+50, 2)
	r := create(t, config(t, fmt.Sprintf("pate.pool=%d", graphBlock+40)), o)
	rows, width, err := centred(r)
	tiny.Check(t, err)
	alike := func(i, j int) float64 { // rows have norm 1
		difference := slices.Clone(rows[i*width:][:width])
		kernel.Axpy(difference, -1, rows[j*width:][:width])
		return -kernel.SumSquares(difference)
	}
	for i := range r.Plan.Pool {
		found := r.graph.neighbours[i*r.graph.degree:][:r.graph.degree]
		last := int(found[len(found)-1])
		for j := range r.Plan.Pool {
			if near := slices.Contains(found, int32(j)); j == i && near || j != i && !near && alike(i, j) > alike(i, last)+1e-5 {
				t.Fatalf("the neighbours of example %d are %v: %d is one of them: %v", i, found, j, near)
			}
		}
		if alike(i, int(found[0])) < alike(i, last) || math.Abs(floats.Sum(r.graph.weights[i*r.graph.degree:][:r.graph.degree])-1) > 1e-9 {
			t.Fatalf("the neighbours of example %d, %v, are not in their order, or their weights do not add up to 1", i, found)
		}
	}
}

// Networks see features less the mean of those of the pool, and the model comes with that mean.
func TestFeaturesAreCentred(t *testing.T) {
	o := options(t)
	o.Given = tiny.Large(t)
	r := create(t, config(t, "features.name=scattering", "model.layers=[flatten, {linear: {out_features: classes, bias: false}}]"), o)
	pool, _, _ := setup.Pool(r.Config, "", r.Plan.Pool+r.rest.Len())
	left, size := meanOf(r.Examples.Test.(*data.Features), pool), float64(len(r.mean))
	if found, was := math.Sqrt(kernel.SumSquares(left)/size), math.Sqrt(kernel.SumSquares(r.mean)/size); !(found < 0.1*was) {
		t.Errorf("the features of the pool have a mean of %v, which was %v; expected that it is subtracted", found, was)
	}
	fit(t, r)
	tensors, _, err := checkpoints.ReadModel(r.Path(folder.Model))
	if i := slices.IndexFunc(tensors, func(m checkpoints.Tensor) bool { return m.Name == trained.MeanOfFeatures }); err != nil || i < 0 || !slices.Equal(tensors[i].Data, r.mean) {
		t.Errorf("the model comes without the mean (%v)", err)
	}
	tiny.Says(t, r.Dir, "| Features of each example, a function that no example had a part in | scattering,")
}

// Every question has one vote of each teacher.
func TestOneVoteOfEachTeacher(t *testing.T) {
	r := create(t, config(t, "pate.queries=0", "privacy.epsilon=200"), options(t))
	tiny.Check(t, r.teach(t.Context()))
	if r.Plan.Queries != 60 {
		t.Errorf("%d questions are planned, expected one for each of the pool", r.Plan.Queries)
	}
	for question := range r.Plan.Pool {
		sum := 0
		for _, n := range r.counts(question) {
			sum += n
		}
		if sum != 10 || len(r.of(question)) != 10 {
			t.Errorf("question %d has %d votes of 10 teachers", question, sum)
		}
	}
}

// What a configuration asks for and teachers do not do is refused in one line, before anything is
// written.
func TestRefusedConfigurations(t *testing.T) {
	for override, want := range map[string]string{
		"pate.teachers=0": "no pate.teachers", "pate.teachers=301": "at most one for each of the 300", "pate.pool=90": "fewer than the 90 test examples",
		"privacy.noise_multiplier=1": "privacy.noise_multiplier", "privacy.none=true": "privacy.none", "privacy.unit=label": "privacy.unit label",
		"pate.queries=61": "at most pate.pool", "pate.threshold=11": "at most the 10 votes", "privacy.epsilon=0.001": "room for answers",
		"optimizer.learning_rate=by_noise": "by_noise", "run.private_diagnostics=true": "run.private_diagnostics", "training.average=ema": "training.average ema", "privacy.delta=0.0033333333333333335": "less than 1/n",
		"privacy.epsilon=none privacy.noise_multiplier=1": "no privacy.epsilon", "federated.clients=20": "federated.clients", "model.init=w.safetensors model.init_trained_on=public": "model.init", "pate.threshold_noise=1.4142135623730945": "looks like an answer",
		"pate.aggregation=lnmax pate.release_data_dependent=true": "pate.release_data_dependent",
	} {
		o := options(t)
		_, err := Create(config(t, strings.Fields(override)...), o)
		if !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, expected %q", override, err, want)
		}
		if _, err := os.Stat(o.RunsDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s left %s", override, o.RunsDir)
		}
	}
}

// The student learns what was answered, and nothing else about the pool.
func TestLessonsAreOfTheAnswers(t *testing.T) {
	r := create(t, config(t), options(t))
	r.answers.class = map[int]int{0: 1, 7: 1}
	if labels, learnt := r.lessons(); len(learnt) == 0 || slices.Min(labels[:1]) != 1 || slices.ContainsFunc(learnt, func(i int) bool { return labels[i] != 1 }) {
		t.Errorf("found the labels %v of %v, expected class 1, as the answers are", labels, learnt)
	}
}

// The student learns the answers, whatever the labels are, and in each further round those that it
// says itself, by seeds that no teacher has: with these the same model comes out.
func TestStudentComesOutAgain(t *testing.T) {
	r := create(t, config(t, "training.seed=2", "optimizer.learning_rate=0.1", "training.epochs=1", "optimizer.schedule.warmup_steps=9", "pate.aggregation=gnmax"), options(t))
	fit(t, r)
	for question := range r.Plan.Queries {
		r.answers.class[question] = question / 10 // whatever is in the picture
	}
	tiny.Check(t, os.Remove(r.Path(folder.Model))) // else it stays as it is
	r.Step = 0
	tiny.Check(t, r.study(t.Context()))
	n := tiny.Must(newNetwork(r.Plan, r.Source.Shape, 3, r.pool, r.pool, r.rest, r.Pool))(t)
	labels, learnt := r.lessons()
	for round := range 3 {
		n.trainer.Learn(labels)
		tiny.Check(t, n.train(t.Context(), learnt, 2+10+uint64(round)))
		said, _ := decide(tiny.Must(n.predict())(t), 3)
		learnt = slices.DeleteFunc(learnt, func(i int) bool { return int32(said[i]) != labels[i] })
	}
	if !slices.Equal(n.model.Values, r.student.model.Values) {
		t.Error("another student comes out")
	}
}

// The pool of own data, whose test examples may be sorted by class, has all classes, and its student is
// measured on the others again.
func TestPoolOfOwnDataIsDrawn(t *testing.T) {
	o := options(t)
	sorted := make([]int, o.Given.Test.Len())
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(i, j int) int { return o.Given.Test.Label(i) - o.Given.Test.Label(j) })
	o.Given.Test = data.Select(sorted, o.Given.Test)
	r := create(t, config(t, "data.folder=stripes", "data.classes=[top, middle, bottom]", "data.size=6", "data.channels=1"), o)
	seen := map[int]int{}
	for i := range r.pool.Len() {
		seen[r.pool.Label(i)]++
	}
	if len(seen) != 3 || slices.Min(slices.Collect(maps.Values(seen))) < 9 {
		t.Errorf("found %v examples of each class in the pool of %d", seen, r.pool.Len())
	}
	want := *fit(t, r).StudentAccuracy
	if found := tiny.Must(train.Evaluate(r.Dir, train.Options{Options: run.Options{Request: o.Request}}))(t); float64(found.TestAccuracy) != want {
		t.Errorf("the student is measured on other examples than those outside the pool")
	}
	tiny.Says(t, r.Dir, "60 test examples that training.seed draws")
}

// The data-dependent ε that is shown is that of the questions, with what was lost at its worst.
func TestDataDependentOfTheQuestions(t *testing.T) {
	r := create(t, config(t, "pate.aggregation=gnmax"), options(t))
	fit(t, r)
	account := r.Plan.Aggregation.NewAccount()
	for question := range r.answers.asked {
		account.Add(votes.Question{Votes: r.counts(question)})
	}
	want, _ := account.Epsilon(r.Plan.Budget.Delta)
	if got, _ := r.dataDependent(); got != want {
		t.Errorf("found %v, expected %v", got, want)
	}
}

// As many answers are planned as fit the budget beside all checks, and not one more. What is planned
// is allowed, and nothing else.
func TestAnswersFitTheBudget(t *testing.T) {
	for _, epsilon := range []string{"18", "20", "25"} {
		p := tiny.Must(NewPlan(config(t, "privacy.epsilon="+epsilon, "pate.release_data_dependent=true", "pate.release_order=2", "pate.teachers=300", "pate.threshold=300"), setup.Outline{Examples: tiny.Examples, Tests: tiny.Examples, Classes: 3}))(t)
		for _, l := range []*accountant.Ledger{new(accountant.Ledger), tiny.Must(p.planned(p.Queries, p.Answers))(t)} {
			for _, e := range []accountant.Event{p.check, p.answer, p.Release.Event(), accountant.Gaussian{NoiseMultiplier: 9}} {
				if got := tiny.Must(p.Allows(l, e))(t); got != (l.Count() == 0 && e != accountant.Gaussian{NoiseMultiplier: 9}) {
					t.Errorf("ε = %s: %v after %d events is allowed: %v", epsilon, e, l.Count(), got)
				}
			}
		}
		for more := range 2 {
			spent, _, err := p.accounts.Spent(tiny.Must(p.planned(p.Queries, p.Answers+more))(t), p.Budget.Delta)
			if fits := spent.Epsilon <= p.Budget.Epsilon; err != nil || fits != (more == 0) && p.Answers < p.Queries {
				t.Errorf("ε = %s: %d answers and %d more cost %v (%v)", epsilon, p.Answers, more, spent.Epsilon, err)
			}
		}
	}
}
