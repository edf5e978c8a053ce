package books

import (
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// people is a configuration of rows that name persons.
func people(t *testing.T, overrides ...string) *configs.Config {
	t.Helper()
	c, err := configs.Parse("people.yaml", []byte(`
data: {table: people, columns: [age], label: sick, classes: ["no", "yes"], mean: [48], std: [10]}
model: {name: logistic}
privacy: {epsilon: 5, delta: 1e-4}
training: {batch_size: 40, steps: 5}
`), overrides)
	tiny.Check(t, err)
	return c
}

// registered describes a run of the tests for the ledger of its data.
func registered(path string) checkpoints.Registration {
	return checkpoints.Registration{Path: path, Data: stripes, Delta: 1e-5, Accountant: "rdp"}
}

// begun begins the ledger of a run.
func begun(t *testing.T, registry string, r checkpoints.Registration) *Books {
	t.Helper()
	b := must(create(filepath.Join(registry, filepath.FromSlash(r.Path)), registry, r, false))
	t.Cleanup(func() { b.Close() })
	return b
}

// An answer for releases is believed at their δ alone, and where its ε is not below theirs; that of a
// row, too, if it says how many releases it is about or not. Steps of which a folder tells the
// number alone count as the costliest of the schedule.
func TestRefute(t *testing.T) {
	l := times(t, gradient, 4)
	least := must(account.SpentBy(account.Exact, l, 1e-5))
	trials := []Listed{{Member: checkpoints.Member{Registration: checkpoints.Registration{Path: "s/a", Delta: 1e-5}, Ledger: l, Entries: 4}}}
	for _, test := range []struct {
		factor, delta float64
		entries       int
		refuted       bool
	}{{1, 1e-5, 4, false}, {1.5, 1e-5, 0, false}, {0.99, 1e-5, 0, true}, {1, 1e-4, 4, true}, {9, 1e-6, 0, true}, {0.1, 1e-5, 3, false}} {
		row := Row{Trial: "a", LedgerEntries: test.entries, Answer: account.Answer{Epsilon: test.factor * least.Epsilon, Delta: test.delta}}
		if err := RefuteRow("rows", trials, row); errors.Is(err, checkpoints.ErrCorrupt) != test.refuted {
			t.Errorf("%+v: found error %v", test, err)
		}
	}
	c := people(t, "privacy.noise_schedule=linear", "privacy.noise_final_factor=0.5")
	if e := costliest(c, accountant.Gaussian{NoiseMultiplier: 8}, 20); e != (accountant.Gaussian{NoiseMultiplier: 4}) {
		t.Errorf("the costliest step is %v, expected the last one of half the noise", e)
	}
}

// What a run of an earlier version planned is told by its folder: the steps of its plan or of its
// statement, whichever says more, and its budget.
func TestPlanOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{folder.Config: string(people(t).YAML()), folder.Plan: "steps 5\n", folder.StatementData: `{"planned_steps": 9}`} {
		must(0, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	if p := plannedIn(dir, times(t, sampled, 2)); p == nil || p.Epsilon != 5 || p.Releases.Count() != 9 {
		t.Errorf("found %+v, expected 9 steps and a budget of ε = 5", p)
	}
}

// A release is durable in both ledgers or in the books of nobody: where either failed, the append
// fails, and so does every later one.
func TestAppendNeedsBothLedgers(t *testing.T) {
	for name, fail := range map[string]func(*Books) error{
		"the run's":  func(b *Books) error { return b.Journal.Close() },
		"the data's": func(b *Books) error { return b.datasets.Close() },
	} {
		dir := t.TempDir()
		b := begun(t, dir, registered("run"))
		must(0, b.Begin(1, sampled)())
		must(0, fail(b))
		for step := 2; step <= 3; step++ {
			if err := b.Begin(step, sampled)(); !errors.Is(err, checkpoints.ErrJournalFailed) {
				t.Errorf("%s ledger is closed: release %d is recorded with error %v, expected one that matches %v", name, step, err, checkpoints.ErrJournalFailed)
			}
		}
	}
}

// What all runs cost together is asked at the end of a run, and includes what others released after
// its own last release.
func TestTogetherIncludesWhatOthersReleasedLast(t *testing.T) {
	dir := t.TempDir()
	release := func(b *Books, step int) {
		must(0, b.Append(step, sampled))
	}
	first, second := begun(t, dir, registered("first")), begun(t, dir, registered("second"))
	release(first, 1)
	for step := 1; step <= 2; step++ {
		release(second, step)
	}
	of := new(accountant.Ledger)
	must(0, of.Add(sampled, 3))
	three := must(account.SpentBy("rdp", of, 1e-5)).Epsilon
	if all, err := first.Together(); err != nil || all.DatasetRuns != 2 || all.DatasetReleases != 3 || all.DatasetFixed != three {
		t.Errorf("found %+v (%v), expected 3 releases of 2 runs, which cost ε = %v", all, err, three)
	}
}

// A run of the first version that was stopped before its statement is adopted with the number of
// examples that its releases tell; one whose records are no examples, or are in every release, with
// the number in its plan, and statistics with that of the data where it lies. Whatever has another
// number of examples is other data, and would be in no total.
func TestExamplesOfAnAdoptedRun(t *testing.T) {
	table := filepath.Join(t.TempDir(), "people")
	must(0, os.Mkdir(table, 0o700))
	for _, part := range []string{"train.csv", "test.csv"} {
		must(0, os.WriteFile(filepath.Join(table, part), []byte("age,who,sick\n1,a,no\n2,a,yes\n3,b,no\n"), 0o600))
	}
	drawn := func(n float64) accountant.Event {
		return accountant.PoissonSampled{SamplingProbability: 40 / n, Event: gradient}
	}
	for _, test := range []struct {
		overrides []string
		plan      string
		event     accountant.Event
		examples  int
	}{
		{nil, "", drawn(41), 41},
		{nil, "", drawn(997), 997},
		{nil, "", drawn(60000), 60000},
		{[]string{"privacy.unit=person", "data.group=who"}, "steps 5\nexamples 997 1 column [no yes]\npeople 80\n", drawn(80), 997},
		{nil, "examples 997 1 column [no yes]\n", gradient, 997},
		{nil, "", gradient, 3},
		{[]string{"privacy.unit=person", "data.group=who"}, "", drawn(80), 3},
		{[]string{"federated.clients=80"}, "", drawn(80), 3},
	} {
		c := people(t, append(test.overrides, "data.table="+table)...)
		dir := t.TempDir()
		if test.plan != "" {
			must(0, os.WriteFile(filepath.Join(dir, folder.Plan), []byte(test.plan), 0o600))
		}
		found := configuredData(c, dir, times(t, test.event, 3))
		want := checkpoints.Data{Name: unitOf(c).Of("people"), Examples: test.examples, Shape: "1 column", Classes: 2}
		if found != want {
			t.Errorf("%+v: found %+v, expected %+v", test, found, want)
		}
	}
	dir := t.TempDir()
	tiny.Write(t, filepath.Join(dir, folder.StatementData), `{"data": "folk", "examples": 7, "shape": "9 columns", "classes": 4}`)
	if found := configuredData(people(t), dir, times(t, gradient, 3)); found != (checkpoints.Data{Name: "folk", Examples: 7, Shape: "9 columns", Classes: 4}) {
		t.Errorf("found %+v, expected what the statement says", found)
	}
}

// A run that no ledger of data knows is adopted when it has ended, and has released something. One
// that is under way registers itself, and one without a release knows its data only when it goes on.
func TestRunUnderWayIsNotAdopted(t *testing.T) {
	registry := t.TempDir()
	one := filepath.Join(registry, "one")
	j := must(checkpoints.CreateJournal(filepath.Join(one, folder.Ledger)))
	must(0, os.WriteFile(filepath.Join(one, folder.Config), people(t).YAML(), 0o600))
	adopted := func() int {
		d := must(OpenDatasets(registry))
		defer d.Close()
		for _, m := range d.Info().Members {
			if m.Planned == nil || m.Planned.Epsilon != 5 {
				t.Errorf("found the plan %+v, expected the budget of the folder", m.Planned)
			}
		}
		return len(d.Info().Members)
	}
	must(0, j.Close())
	if n := adopted(); n != 0 {
		t.Errorf("found %d runs, expected none that has released nothing", n)
	}
	j = must(checkpoints.OpenJournal(filepath.Join(one, folder.Ledger)))
	must(0, j.Append(1, gradient))
	if n := adopted(); n != 0 {
		t.Errorf("found %d runs, expected none that is under way", n)
	}
	must(0, j.Close())
	c := filepath.Join(one, folder.Config)
	must(0, os.Rename(c, c+"~"))
	if _, err := OpenDatasets(registry); err == nil || !strings.Contains(err.Error(), "cannot be registered") {
		t.Errorf("found %v, expected that releases on data that nothing tells are not passed over", err)
	}
	must(0, os.Rename(c+"~", c))
	spy := &syncSpy{}
	disk.System = spy
	defer func() { disk.System = disk.Real{} }()
	if n := adopted(); n != 1 {
		t.Errorf("found %d runs, expected the one that has ended", n)
	}
	if len(spy.synced) == 0 || spy.synced[0] != folder.Ledger {
		t.Errorf("found syncs of %v, expected the run's own ledger first: a power loss would take what only the other one knows then", spy.synced)
	}
	header, _, _ := strings.Cut(tiny.Read(t, filepath.Join(one, folder.Ledger)), "\n")
	tiny.Write(t, filepath.Join(one, folder.Ledger), header+"\n")
	if _, err := Inspect(one); !errors.Is(err, checkpoints.ErrRollback) { // though its header names no ledger of data
		t.Errorf("found %v, expected that the ledger of the data has more of the run", err)
	}
	two := filepath.Join(registry, "two") // of the first version, and goes on
	j = must(checkpoints.CreateJournal(filepath.Join(two, folder.Ledger)))
	must(0, errors.Join(os.WriteFile(filepath.Join(two, folder.Config), people(t).YAML(), 0o600), j.Append(1, gradient), j.Close()))
	b := must(Open(two))
	b.Registry = registry
	must(0, errors.Join(b.Settle(registered("two"), times(t, gradient, 5)), b.Close()))
	if m, _ := must(checkpoints.ReadDatasets(filepath.Join(registry, folder.Datasets))).Member(b.Info().Run); m.Planned == nil || m.Planned.Epsilon != 5 {
		t.Errorf("found the plan %+v, expected that of its folder", m.Planned)
	}
}

// syncSpy is the real disk, and notes which files were synced.
type syncSpy struct {
	disk.Real
	synced []string
}

type spiedFile struct {
	disk.File
	spy  *syncSpy
	name string
}

func (s *syncSpy) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := s.Real.OpenFile(name, flag, perm)
	return spiedFile{f, s, filepath.Base(name)}, err
}

func (f spiedFile) Sync() error {
	f.spy.synced = append(f.spy.synced, f.name)
	return f.File.Sync()
}

// member is a run with these releases of that data.
func member(t *testing.T, d checkpoints.Data, delta float64, events ...accountant.Event) checkpoints.Member {
	t.Helper()
	l := new(accountant.Ledger)
	for _, e := range events {
		must(0, l.Add(e, 1))
	}
	return checkpoints.Member{Registration: checkpoints.Registration{Path: d.Name, Data: d, Delta: delta, Accountant: "exact"}, Entries: l.Count(), Ledger: l}
}

var (
	stripes  = checkpoints.Data{Name: "stripes", Examples: 300, Shape: "6x6x1", Classes: 3}
	vector   = accountant.DiscreteGaussian{NoiseMultiplier: 5} // of several sums: no dominating pair is known
	mixed    = accountant.ApproxDP{Epsilon: 1, Delta: 1e-9}    // of which RDP knows nothing
	gradient = accountant.Gaussian{NoiseMultiplier: 5}
	sampled  = accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}
)

// Runs whose releases no accountant takes together are what they cost one by one, at equal shares
// of δ, added up and never rounded down.
func TestRunsThatNoAccountantTakesTogether(t *testing.T) {
	for tenths := range 10 {
		mixed := accountant.ApproxDP{Epsilon: 1 + float64(tenths)/10, Delta: 1e-9}
		members := []checkpoints.Member{member(t, stripes, 1e-5, vector), member(t, stripes, 1e-6, mixed), member(t, stripes, 1e-5, gradient)}
		sum := new(big.Float).SetPrec(200)
		for _, m := range members {
			alone := must(account.SpentBy("exact", m.Ledger, 1e-6/3))
			sum.Add(sum, big.NewFloat(alone.Epsilon))
		}
		want, _ := sum.Float64()
		got, releases, err := Compose(members)
		if err != nil || releases != 3 || got.Delta != 1e-6 || big.NewFloat(got.Epsilon).Cmp(sum) < 0 || got.Epsilon > want*(1+1e-9) {
			t.Errorf("found %+v after %d releases (%v), expected ε %g at δ 1e-6 after 3", got, releases, err, want)
		}
	}
}

// What no total of a run covers is said: that none is known, and runs on the same examples that
// protect something else.
func TestTogetherSaysWhatNoTotalCovers(t *testing.T) {
	hidden := accountant.ApproxDP{Epsilon: 1, Delta: 1e-3} // more than all runs may have
	of := func(name string) checkpoints.Data { d := stripes; d.Name = name; return d }
	self := member(t, stripes, 1e-5, gradient)
	for _, test := range []struct {
		others []checkpoints.Member
		runs   int
		want   string
	}{
		{nil, 0, ""},
		{[]checkpoints.Member{member(t, of("other"), 1e-5, gradient), member(t, of("persons of other"), 1e-5, gradient)}, 0, ""},
		{[]checkpoints.Member{member(t, stripes, 1e-5, gradient)}, 2, ""},
		{[]checkpoints.Member{member(t, stripes, 1e-2, hidden)}, 0, "No ε is known at δ = 1e-05 for what all 2 runs on this data cost together"},
		{[]checkpoints.Member{member(t, of("labels of stripes"), 1e-5, mixed), member(t, of("20 clients (iid, seed 1) of stripes"), 1e-5, gradient)}, 0,
			"Beside it, runs on the same examples protect something else (labels of stripes; 20 clients (iid, seed 1) of stripes): what they cost is in no total of this one"},
	} {
		got, err := together(append(test.others, self), self.Data)
		if err != nil || got.DatasetRuns != test.runs || got.DatasetOthers != test.want {
			t.Errorf("found %+v (%v), expected %d runs and %q", got, err, test.runs, test.want)
		}
	}
}

// Clients of two splits are different records, and so are persons by two columns: nothing adds up.
func TestUnitsAreDataOfTheirOwn(t *testing.T) {
	for want, overrides := range map[string][]string{
		"people":                                       nil,
		"labels of people":                             {"privacy.unit=label"},
		"persons by who of people":                     {"privacy.unit=person", "data.group=who"},
		"persons by house of people":                   {"privacy.unit=person", "data.group=house"},
		"50 clients (iid, seed 1) of people":           {"federated.clients=50"},
		"50 clients (iid, seed 2) of people":           {"federated.clients=50", "federated.seed=2", "federated.local_steps=9"},
		"50 clients (dirichlet 0.3, seed 1) of people": {"federated.clients=50", "federated.split=dirichlet", "federated.alpha=0.3"},
	} {
		if got := SubjectOf(people(t, overrides...), setup.Outline{Name: "people"}).Data; got != want {
			t.Errorf("%q is registered as %q, expected %q", overrides, got, want)
		}
	}
	c := people(t, "privacy.unit=person", "data.group=who")
	c.Data.Table = "" // what a class of pictures is of
	if got := SubjectOf(c, setup.Outline{Name: "faces"}).Data; got != "persons of faces" {
		t.Errorf("pictures of persons are registered as %q", got)
	}
}

// A run that is registered for the labels, the persons or the clients of a data set is none of its
// examples, whatever its configuration says now; nor the other way round. Data of one's own may
// have such a name.
func TestOtherUnits(t *testing.T) {
	of := func(unit, folder string) *configs.Config {
		c := configs.DefaultConfig()
		c.Privacy.Unit = unit
		if c.Data.Name = "digits"; folder != "" {
			c.Data.Name, c.Data.Folder = "", folder
		}
		return &c
	}
	for _, test := range []struct {
		c          *configs.Config
		registered string
		other      bool
	}{
		{of(configs.UnitExample, ""), "digits", false},
		{of(configs.UnitExample, ""), "labels of digits", true},
		{of(configs.UnitExample, ""), "persons of digits", true},
		{of(configs.UnitExample, ""), "100 clients of digits", true},
		{of(configs.UnitLabel, ""), "labels of digits", false},
		{of(configs.UnitLabel, ""), "digits", true},
		{of(configs.UnitPerson, ""), "labels of digits", true},
		{of(configs.UnitExample, "/data/labels of trees"), "labels of trees", false},
		{of(configs.UnitExample, "/data/moved"), "labels of trees", false},
	} {
		d := checkpoints.Data{Name: test.registered}
		if ofOtherUnit(test.c, d) != test.other {
			t.Errorf("%s of %s%s, registered for %q: expected another unit: %t", test.c.Privacy.Unit, test.c.Data.Name, test.c.Data.Folder, test.registered, test.other)
		}
		if d.Unit = unitOf(test.c); ofOtherUnit(test.c, d) {
			t.Errorf("%+v is another unit than that of its configuration", d)
		}
		if d.Unit.By = "another column"; !ofOtherUnit(test.c, d) {
			t.Errorf("%+v is the unit of a configuration without that column", d)
		}
		if d.Unit.Kind += "s"; !ofOtherUnit(test.c, d) {
			t.Errorf("%+v is the unit of %s", d, test.c.Privacy.Unit)
		}
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// What a witness has signed counts as a head only as the four lines that were written, of one format.
func TestHeadIsFourLines(t *testing.T) {
	h := Head{"id", 7, "hash"}
	for _, text := range []string{"", strings.Replace(h.String(), "head 1", "head 2", 1), strings.Replace(h.String(), "7", "07", 1), h.String() + "\n", Head{"id", 7, ""}.String()} {
		if _, err := parseHead(text); err == nil {
			t.Errorf("%q is read as a head", text)
		}
	}
}
