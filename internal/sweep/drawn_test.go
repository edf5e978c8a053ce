package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/rdp"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"
)

const drawnSweep = `
name: sweep
base: base.yaml
random:
  privacy.clip_norm: {log_uniform: [0.1, 1]}
  privacy.noise_multiplier: {choices: [1, 4]}
trials: {distribution: poisson, mean: 3}
seeds: 2
`

// inAll is a base whose steps are on all examples, which costs less to compute.
var inAll = strings.Replace(tiny.Config, "batch_size: 40", "sampling: full", 1)

// startWith makes the folder of a sweep that has drawn these points and was killed at once.
func startWith(t *testing.T, s *configs.Sweep, o Options, points ...[]string) {
	t.Helper()
	d := configs.Draw{Points: points}
	if s.Number.Drawn() {
		for i := range points {
			d.Names = append(d.Names, fmt.Sprintf("%012x", 0x5eed<<24+0xb0b*(i*i+7)))
		}
	}
	trials := tiny.Must(s.Trials(d))(t)
	begun := &sweep{file: s, draw: d, trials: trials}
	dir := filepath.Join(o.RunsDir, s.Name)
	tiny.Check(t, os.MkdirAll(dir, 0o700))
	tiny.Write(t, filepath.Join(dir, folder.Sweep), tiny.JSON(t, begun.identity()))
}

// identityOf reads what a sweep drew.
func identityOf(t *testing.T, dir string) (id sweepIdentity) {
	t.Helper()
	tiny.Check(t, json.Unmarshal([]byte(tiny.Read(t, filepath.Join(dir, folder.Sweep))), &id))
	return id
}

// Number and points are drawn once: they are on disk before the first trial begins, and a sweep
// that is killed, as early or late as may be, goes on with them, repeats nothing and loses nothing.
func TestKilledDrawnSweepGoesOnWithItsDraw(t *testing.T) {
	s, o := sweepOf(t, inAll, strings.Replace(drawnSweep, "poisson", "geometric", 1)), sweepOptions(t)
	dir := filepath.Join(o.RunsDir, "sweep")
	killSweep(t, s, o, 1, 0)
	drawn := tiny.Read(t, filepath.Join(dir, folder.Sweep))
	killSweep(t, s, o, 2, 7)
	r := runSweep(t, s, o)
	if tiny.Read(t, filepath.Join(dir, folder.Sweep)) != drawn {
		t.Error("a sweep that goes on draws again")
	}
	id := identityOf(t, dir)
	if len(id.Draw.Points) == 0 || r.Trials != 2*len(id.Draw.Points) || r.Finished != r.Trials || len(r.Points) != len(id.Draw.Points) {
		t.Errorf("found %d trials of %d points, expected those of %d drawn points with two seeds", r.Trials, len(r.Points), len(id.Draw.Points))
	}
	// The second trial made steps 6 and 7 twice, and two steps less.
	if want := 12 * r.Trials; r.Composed.Releases != want {
		t.Errorf("found %d releases, expected %d", r.Composed.Releases, want)
	}
	before := tiny.Snapshot(t, dir)
	if again := runSweep(t, s, o); tiny.JSON(t, again) != tiny.JSON(t, r) || !maps.Equal(before, tiny.Snapshot(t, dir)) {
		t.Error("a finished sweep changed something")
	}
	// Another folder has another draw, but for one in some 100,000.
	other := sweepOptions(t)
	killSweep(t, s, other, 1, 0)
	if found := identityOf(t, filepath.Join(other.RunsDir, "sweep")); tiny.JSON(t, found.Draw.Points) == tiny.JSON(t, id.Draw.Points) {
		t.Errorf("two sweeps drew %v", found.Draw.Points)
	}
}

// Whatever is done to the draw, or to the sweep file in order to pay for another one: the sweep is
// refused and nothing changes.
func TestDamagedDrawIsRefused(t *testing.T) {
	points := [][]string{{"0.5", "1"}, {"0.25", "4"}}
	replace := func(old, new string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			text := tiny.Read(t, path)
			if !strings.Contains(text, old) {
				t.Fatalf("%s has no %s", path, old)
			}
			tiny.Write(t, path, strings.Replace(text, old, new, 1))
		}
	}
	edit := func(change func(id *sweepIdentity)) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			id := identityOf(t, filepath.Dir(path))
			change(&id)
			tiny.Write(t, path, tiny.JSON(t, id))
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, path string)
		file   [2]string // what is replaced in the sweep file
		match  error
	}{
		{"a value", replace(`"0.5"`, `"0.6"`), [2]string{}, checkpoints.ErrCorrupt},
		{"the law of the number", replace("mean 3", "mean 2"), [2]string{}, checkpoints.ErrCorrupt},
		{"one point less", edit(func(id *sweepIdentity) { id.Draw.Points, id.Trials = id.Draw.Points[:1], id.Trials[:2] }), [2]string{}, checkpoints.ErrCorrupt},
		{"one point less, with its checksum and without its rows", func(t *testing.T, path string) {
			edit(func(id *sweepIdentity) {
				id.Draw, id.Trials = drawOf(id.Draw.From, configs.Draw{Points: points[:1], Names: id.Draw.Draw.Names[:1]}), id.Trials[:2]
			})(t, path)
			os.Remove(filepath.Join(filepath.Dir(path), folder.Rows))
		}, [2]string{}, checkpoints.ErrRollback},
		{"no draw", edit(func(id *sweepIdentity) { id.Draw = nil }), [2]string{}, ErrOtherSweep},
		{"half a file", func(t *testing.T, path string) { tiny.Write(t, path, tiny.Read(t, path)[:300]) }, [2]string{}, ErrOtherSweep},
		{"no file", func(t *testing.T, path string) { os.Remove(path) }, [2]string{}, ErrOtherSweep},
		{"no folder", func(t *testing.T, path string) { os.RemoveAll(filepath.Dir(path)) }, [2]string{}, checkpoints.ErrRollback},
		{"a smaller mean in the sweep file", nil, [2]string{"mean: 3", "mean: 2"}, ErrOtherSweep},
		{"another distribution in the sweep file", nil, [2]string{"poisson", "geometric"}, ErrOtherSweep},
		{"fewer choices in the sweep file", nil, [2]string{"[1, 4]", "[4]"}, ErrOtherSweep},
		{"a fixed number in the sweep file", nil, [2]string{"{distribution: poisson, mean: 3}", "2"}, ErrOtherSweep},
		{"fewer seeds in the sweep file", nil, [2]string{"seeds: 2", "seeds: 1"}, ErrOtherSweep},
		{"a grid in the sweep file", nil, [2]string{drawnSweep, smallSweep}, ErrOtherSweep},
	}
	s, whole := sweepOf(t, inAll, drawnSweep), sweepOptions(t)
	startWith(t, s, whole, points...)
	runSweep(t, s, whole)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Request: whole.Request, RunsDir: filepath.Join(t.TempDir(), "runs")}
			copyFolder(t, o.RunsDir, whole.RunsDir)
			if tt.damage != nil {
				tt.damage(t, filepath.Join(o.RunsDir, "sweep", folder.Sweep))
			}
			changed := s
			if tt.file[0] != "" {
				changed = sweepOf(t, inAll, strings.Replace(drawnSweep, tt.file[0], tt.file[1], 1))
			}
			refuses(t, o.RunsDir, tt.match, "", func() error {
				_, err := Run(context.Background(), changed, o)
				return err
			})
		})
	}
}

// kinds are the points of drawnSweep by what they cost.
func kinds(t *testing.T, sampling string, releases ...int) []accountant.Event {
	t.Helper()
	var events []accountant.Event
	for i, sigma := range []string{"1", "4"} {
		event := tinyrun.Plan(t, "privacy.noise_multiplier="+sigma, "training.sampling="+sampling).Event(0)
		events = append(events, accountant.SelfComposed{Event: event, Count: releases[i]})
	}
	return events
}

func costOfBest(t *testing.T, kinds []accountant.Event, mean, shape float64) float64 {
	t.Helper()
	a := tiny.Must(rdp.New(accountant.ZeroOut, rdp.DefaultOrders()))(t)
	g := tiny.Must(a.Selection(kinds, mean, shape, 1e-4))(t)
	return g.Epsilon
}

// The best point costs what the costliest point that can be drawn makes it cost, both seeds of it,
// whatever was drawn, and also if nothing was.
func TestCostOfTheBestIsOfWhatCanBeDrawn(t *testing.T) {
	for i, points := range [][][]string{{{"0.5", "1"}, {"0.25", "4"}}, {{"0.5", "4"}}, {}} {
		base, sampling := tiny.Config, "poisson"
		if i > 0 {
			base, sampling = inAll, "full"
		}
		want := costOfBest(t, kinds(t, sampling, 24, 24), 3, math.Inf(1))
		s, o := sweepOf(t, base, drawnSweep), sweepOptions(t)
		startWith(t, s, o, points...)
		r := runSweep(t, s, o)
		if r.Selected == nil || !(math.Abs(r.Selected.Epsilon/want-1) <= 1e-11) || r.Selected.Delta != 1e-4 || r.Selected.Accountant != "rdp" || r.Selected.Number != "poisson with mean 3" {
			t.Errorf("%d points: found %+v, expected ε = %v", len(points), r.Selected, want)
		}
	}
}

// A total and a choice are about one unit: other clients are refused, also those that only can be drawn.
func TestTrialsProtectTheSame(t *testing.T) {
	drawn := strings.Replace(drawnSweep, "random:", "random:\n  federated.%s: {choices: [%s]}", 1)
	for _, sweep := range []string{drawn, "name: sweep\nbase: base.yaml\ngrid: {federated.%s: [%s]}\n"} {
		for key, values := range map[string]string{"clients": "0, 100", "seed": "1, 2", "alpha": "1, 2"} {
			base := inAll
			if key != "clients" {
				base += "federated: {clients: 100, split: dirichlet}\n"
			}
			s, o := sweepOf(t, base, fmt.Sprintf(sweep, key, values)), sweepOptions(t)
			if s.Number != nil {
				startWith(t, s, o)
			}
			if _, err := Run(context.Background(), s, o); !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), "100 clients") {
				t.Errorf("%s: found error %v, expected one about other clients", key, err)
			}
		}
	}
}

// The cost of the best counts trials as they were trained beside those that can be drawn, under a
// relation that all of their events have. Its statement adds to δ what an average number of runs adds.
func TestSelectionIsOfAllThatCanHaveHappened(t *testing.T) {
	s, o := sweepOf(t, inAll, drawnSweep), sweepOptions(t)
	startWith(t, s, o, []string{"0.5", "1"})
	r := runSweep(t, s, o)
	r.Selected.Epsilon = 2
	quiet := accountant.Gaussian{NoiseMultiplier: 9}
	tiny.Must(carryOut(s, o, false, func(ended *sweep) (run.Status, error) {
		for relation, kind := range map[accountant.Relation]accountant.Event{
			accountant.ZeroOut: quiet, accountant.ReplaceOne: accountant.FixedSizeSampled{DatasetSize: 300, BatchSize: 40, Event: quiet},
		} {
			ended.kinds = []accountant.Event{kind}
			found := tiny.Must(ended.selected())(t)
			a := tiny.Must(rdp.New(relation, rdp.DefaultOrders()))(t)
			want := tiny.Must(a.Selection(append(kinds(t, "full", 24, 24)[:1], kind), 3, math.Inf(1), 1e-4))(t)
			if !(math.Abs(found.Epsilon/want.Epsilon-1) <= 1e-11) {
				t.Errorf("%v: found ε = %v, expected %v", relation, found.Epsilon, want.Epsilon)
			}
		}
		of := statement.Statement{AddedDelta: 0x1p-100, Features: "f", InitialWeights: "w", Task: data.Number, Facts: []statement.Fact{{Name: "Tokens", Value: "public"}}}
		s := ended.selection(r, of, nil)
		if want := 3 * 2 * 0x1p-100 * (1 + math.Exp(2)); !(math.Abs(s.AddedDelta/want-1) <= 1e-15) {
			t.Errorf("found %v added to δ, expected %v", s.AddedDelta, want)
		}
		if !slices.Contains(s.Facts, of.Facts[0]) || s.Features != "f" || s.InitialWeights != "w" || s.Task != data.Number {
			t.Errorf("found %+v, expected all that the model rests on", s)
		}
		return run.Done, ended.plan()
	}))(t)
}

// It rises with the mean and with seeds, and not with steps that a killed trial released twice: it
// releases no more than planned.
func TestCostOfTheBestIsMonotonic(t *testing.T) {
	cost := func(file string) float64 {
		s, o := sweepOf(t, inAll, file), sweepOptions(t)
		startWith(t, s, o, []string{"0.5", "1"})
		return runSweep(t, s, o).Selected.Epsilon
	}
	one := cost(strings.Replace(drawnSweep, "seeds: 2", "seeds: 1", 1))
	two, wider := cost(drawnSweep), cost(strings.Replace(drawnSweep, "mean: 3", "mean: 30", 1))
	if !(one < two && two < wider) {
		t.Errorf("found %v of one seed, %v of two, %v with a larger mean, expected them to rise", one, two, wider)
	}
	s, o := sweepOf(t, inAll, drawnSweep), sweepOptions(t)
	startWith(t, s, o, []string{"0.5", "1"})
	killSweep(t, s, o, 1, 9)
	if again := runSweep(t, s, o).Selected.Epsilon; again != two {
		t.Errorf("found %v with a trial that lost steps, expected %v", again, two)
	}
}

// A drawn number of 0 is a result: there is none, and it cost nothing to find out.
func TestNoPoints(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, drawnSweep), sweepOptions(t)
	startWith(t, s, o)
	r := runSweep(t, s, o)
	note := strings.Join(r.Note(), " ")
	if r.Status != run.Done || r.Trials != 0 || len(r.Rows) != 0 || r.Best != "" || r.Composed != nil || !strings.Contains(note, "drawn is 0: there is no result") {
		t.Errorf("found %+v with the note %s", r, note)
	}
	if report := tiny.Read(t, filepath.Join(r.Sweep, folder.Report)); !strings.Contains(report, "there is no result") {
		t.Errorf("found\n%s", report)
	}
}

// A sweep that is not finished has no cost of its best, nor one whose number is fixed; both
// compose.
func TestOnlyAFinishedDrawnNumberIsSelected(t *testing.T) {
	s, o := sweepOf(t, inAll, drawnSweep), sweepOptions(t)
	startWith(t, s, o, []string{"0.5", "1"}, []string{"0.25", "1"})
	r := interruptSweep(t, s, o, 13) // in the second trial
	if r.Selected != nil || r.Composed == nil || len(r.Rows) != 1 || !strings.Contains(strings.Join(r.Note(), " "), "is known when all drawn points are trained") {
		t.Errorf("found %+v", r)
	}
	fixed := runSweep(t, sweepOf(t, inAll, strings.Replace(drawnSweep, "{distribution: poisson, mean: 3}", "3", 1)), sweepOptions(t))
	if fixed.Selected != nil || fixed.Trials != 6 || fixed.Composed.Releases != 72 || strings.Contains(strings.Join(fixed.Note(), " "), "repeat-and-select") {
		t.Errorf("found %+v", fixed)
	}
}

// The cost of the best alone is of trials whose number of steps nobody chose on the way. If one was
// extended elsewhere, only the cost of all of them together is left.
func TestExtendedTrialHasNoSelection(t *testing.T) {
	s, o := sweepOf(t, inAll, drawnSweep), sweepOptions(t)
	startWith(t, s, o, []string{"0.5", "1"}, []string{"0.25", "1"})
	first := runSweep(t, s, o)
	trial, at := filepath.Join(first.Sweep, first.Rows[0].Trial), filepath.Join(first.Sweep, folder.Sweep)
	link := filepath.Join(o.RunsDir, "link")
	if err := os.Symlink(trial, link); err == nil { // not on every system
		if _, err := train.Extend(link, 0, 24, train.Options{Options: run.Options{Request: o.Request}}); !errors.Is(err, train.ErrExtension) {
			t.Errorf("by a link: found %v, expected an error that matches %v", err, train.ErrExtension)
		}
		tiny.Check(t, os.Remove(link))
	}
	tiny.Check(t, os.Rename(at, at+".away"))
	if _, err := train.Extend(trial, 0, 24, train.Options{Options: run.Options{Request: o.Request}}); err != nil {
		t.Fatal(err)
	}
	tiny.Check(t, os.Rename(at+".away", at))
	if r, err := Run(t.Context(), s, o); !errors.Is(err, ErrOtherSweep) {
		t.Errorf("found %+v (%v), expected an error that matches %v", r.Selected, err, ErrOtherSweep)
	}
}

// Nothing that is published with the best point of a drawn number tells how many there were or
// which of them it is: its statement, the cards and exports of its models. All of them say the ε of
// the selection. What other points and the trials themselves have to say is marked.
func TestBestIsPublishedWithoutTheNumber(t *testing.T) {
	pictures := fmt.Sprintf("data: {folder: %q, classes: [top, middle, bottom], size: 12, channels: 1}", tinyrun.PictureFolder(t))
	s, o := sweepOf(t, strings.Replace(tiny.Config, "data: {name: digits}", pictures, 1), drawnSweep), Options{RunsDir: filepath.Join(t.TempDir(), "runs")}
	startWith(t, s, o, []string{"0.5", "1"}, []string{"0.25", "4"}, []string{"0.5", "4"}, []string{"0.25", "1"})
	r := runSweep(t, s, o)
	epsilon := accountant.RoundUp(r.Selected.Epsilon, 3)
	published := map[string]string{}
	for _, name := range []string{folder.Selected, folder.SelectedData} {
		published[name] = tiny.Read(t, filepath.Join(r.Sweep, name))
	}
	best := 0
	for _, trial := range r.Rows {
		dir := filepath.Join(r.Sweep, trial.Trial)
		own := tiny.Read(t, filepath.Join(dir, folder.Statement))
		if !strings.Contains(own, "**Not to be published.**") || strings.Contains(own, "runs on this data") {
			t.Errorf("%s: the statement of a trial is not marked, or counts the others:\n%s", trial.Trial, own)
		}
		link := filepath.Join(t.TempDir(), "link")
		tiny.Check(t, os.Symlink(dir, link))
		m := tiny.Must(trained.Open(link))(t)
		card := tiny.Must(exchange.Card(m))(t)
		if trial.Trial != r.Best && !strings.HasPrefix(trial.Trial, r.Best+",") {
			if !m.Statement.Hidden || !strings.Contains(string(card), "**Not to be published**") || !strings.Contains(tiny.JSON(t, m.Provenance()), "not_to_be_published") {
				t.Errorf("%s: the card of another point is not marked", trial.Trial)
			}
			continue
		}
		best++
		published[trial.Trial+"/card"] = string(card)
		published[trial.Trial+"/"+folder.Model] = tiny.Read(t, filepath.Join(dir, folder.Model))
		files := tiny.Must(exchange.Export(m, "onnx", filepath.Join(t.TempDir(), "best.onnx")))(t)
		for _, file := range files {
			published[trial.Trial+"/"+filepath.Base(file)] = tiny.Read(t, file)
		}
	}
	if best != 2 {
		t.Fatalf("found %d trials of the best point %s, expected both seeds", best, r.Best)
	}
	for name, text := range published {
		if strings.Contains(text, "draw=") || strings.Contains(text, `"draw"`) || strings.Contains(text, "| draw |") || strings.Contains(text, "runs on this data") || strings.Contains(text, "Head of the ledger") {
			t.Errorf("%s tells of other points:\n%.3000s", name, text)
		}
		if !strings.HasSuffix(name, folder.Model) && name != folder.SelectedData && !strings.Contains(text, epsilon) {
			t.Errorf("%s does not say ε = %s of the selection:\n%.3000s", name, epsilon, text)
		}
	}
}
