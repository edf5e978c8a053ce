package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// federatedOverrides are rounds of 30 of 60 clients.
var federatedOverrides = []string{
	"federated.clients=60", "federated.local_learning_rate=0.3", "training.batch_size=30", "training.steps=20", "privacy.delta=1e-3",
	"privacy.epsilon=8", "privacy.noise_multiplier=calibrated", "optimizer.name=sgd", "optimizer.learning_rate=1",
}

func federatedConfig(t *testing.T, more ...string) *configs.Config {
	t.Helper()
	return tiny.Parse(t, append(federatedOverrides, more...)...)
}

// A round is a release: the ledger has one for each, of clients sampled at their chance, and the
// statement is about a client, whoever makes the noise and whatever the network sees.
func TestFederatedRun(t *testing.T) {
	for name, more := range map[string][]string{
		"server":   nil,
		"clients":  {"federated.noise=clients", "federated.min_clients=50"},
		"skewed":   {"federated.split=dirichlet", "federated.alpha=0.1", "optimizer.name=adam", "optimizer.learning_rate=0.1"},
		"adaptive": {"privacy.clipping=adaptive"},
	} {
		t.Run(name, func(t *testing.T) {
			c := federatedConfig(t, more...)
			o := tinyrun.Options(t)
			r := tinyrun.Fit(t, tinyrun.Create(t, c, o))
			if r.Steps != 20 || r.Epsilon > 8 || r.TestAccuracy < 0.6 || tiny.Releases(t, r.Run) != 20 {
				t.Errorf("found %+v with %d releases, expected 20 of each, ε at most 8, and an accuracy of 0.6 where chance is 0.33", r, tiny.Releases(t, r.Run))
			}
			i := tiny.Must(books.Inspect(r.Run))(t)
			for _, e := range i.Ledger.Entries() {
				if sampled, ok := e.Event.(accountant.PoissonSampled); !ok || sampled.SamplingProbability != 0.5 {
					t.Errorf("the ledger holds %v, expected rounds of half of the clients", e.Event)
				}
			}
			s, err := statement.Read(r.Run)
			if err != nil || s.Unit != "one client with all its examples" || !strings.Contains(s.Public, "the number of places, 60,") || !strings.Contains(s.Sampling, "every client") || s.Examples != tiny.Examples || s.Data != "stripes" {
				t.Errorf("the statement is about %q, %q, %q, %d examples of %q (%v)", s.Unit, s.Public, s.Sampling, s.Examples, s.Data, err)
			}
			trusted := "the server, which sees the clients' changes or their sum before it adds noise"
			if name == "clients" {
				trusted = "that 50 clients who do not tell the server their noise take part"
			}
			tiny.Says(t, r.Run, "which example belongs to which client: here that is simulated", trusted, "5 steps of SGD at learning rate 0.3, each on 20 of its examples", map[string]string{"skewed": "distribution of α = 0.1, by the labels"}[name])
			if strings.Contains(s.Neighbours, "its client takes part in both") != (name == "clients") || s.NoiseValues != 20*111+map[string]int{"adaptive": 20}[name] {
				t.Errorf("neighbours are %q, and %d values have noise, expected those of 111 parameters in 20 rounds and, where norms are counted, one more", s.Neighbours, s.NoiseValues)
			}
			if strings.Contains(tiny.Read(t, filepath.Join(r.Run, folder.Statement)), "If one person contributed several") {
				t.Error("the statement is about clients and speaks of one's several examples")
			}
			if (s.Mechanism == "Gaussian") == (name == "clients") || !(s.AddedDelta < 1e-15) || (s.AddedDelta > 1e-28) != (name == "clients") { // by shares of noise
				t.Errorf("noise is %q, and %g is added to δ", s.Mechanism, s.AddedDelta)
			}
			if e, err := train.Evaluate(r.Run, o); err != nil || e.TestAccuracy != r.TestAccuracy {
				t.Errorf("measured as %+v (%v), expected %v", e, err, r.TestAccuracy)
			}
		})
	}
}

// What would make ε too small is refused: a δ that lets one client in so many be published, more
// clients in a round than there are.
func TestFederatedRefuses(t *testing.T) {
	for says, more := range map[string]string{
		"privacy.delta is 0.02, expected less than 1/n = 0.0167 for n = 60 clients": "privacy.delta=0.02",
		"training.batch_size is 61, expected at most the 60 clients":                "training.batch_size=61",
		"federated.clients is 400, expected 1 to the 300 training examples":         "federated.clients=400",
	} {
		_, err := train.Create(federatedConfig(t, more), tinyrun.Options(t))
		if !errors.Is(err, setup.ErrPlan) || !strings.Contains(fmt.Sprint(err), says) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%s: found %v, expected %s", more, err, says)
		}
	}
}

// The mean of features that is released ahead of rounds is that of clients: one of them moves it by
// 1/clients, whatever number of examples it has.
func TestFederatedFeatures(t *testing.T) {
	o := tinyrun.Options(t)
	o.Given = tiny.Large(t)
	c := tiny.Parse(t, append(tiny.Features, "federated.clients=60", "training.steps=10", "features.mean_noise=20", "privacy.delta=1e-3")...)
	r := tinyrun.Fit(t, tinyrun.Create(t, c, o))
	s, err := statement.Read(r.Run)
	if err != nil || tiny.Releases(t, r.Run) != 11 || !strings.Contains(s.FeatureMean, "one client adds at most C = 1") {
		t.Errorf("found %d releases, and of the mean %q (%v)", tiny.Releases(t, r.Run), s.FeatureMean, err)
	}
}

// personsConfig is the table of [people], in which five records in a row are one person's.
func personsConfig(t *testing.T, table string, more ...string) *configs.Config {
	t.Helper()
	return tableConfig(t, table, append([]string{"privacy.unit=person", "data.group=who"}, more...)...)
}

// crowd writes the table of [people] with a column that says whose a record is.
func crowd(t *testing.T) string {
	t.Helper()
	table := people(t)
	for _, part := range []string{"train", "test"} {
		path := filepath.Join(table, part+".csv")
		var b strings.Builder
		header, records, _ := strings.Cut(strings.TrimSpace(tiny.Read(t, path)), "\n")
		b.WriteString(header + ",who\n")
		for i, line := range strings.Split(records, "\n") {
			fmt.Fprintf(&b, "%s,person %d\n", line, i/5)
		}
		tiny.Write(t, path, b.String())
	}
	return table
}

// The records of a run that protects persons are persons: their number is n everywhere, one example
// of each takes part, and what it costs is that of a run with as many examples.
func TestPersons(t *testing.T) {
	table := crowd(t)
	o := reading(t)
	c := personsConfig(t, table, "training.batch_size=40", "privacy.examples_per_person=3")
	d, err := train.Describe(c, 0)
	if err != nil || d.Data.People != 80 || d.Data.Examples != 400 || d.Privacy.SamplingProbability != 0.5 || !strings.Contains(d.Privacy.Clipping, "what one person with all their examples adds") {
		t.Fatalf("described as %+v, %+v, %v; expected 80 persons with 400 examples, each in half of the steps", d.Data, d.Privacy, err)
	}
	created := tinyrun.Create(t, c, o)
	if own := created.Source.Own; len(own) != 80 || slices.ContainsFunc(own, func(e []int) bool { return len(e) != 3 }) {
		t.Errorf("the examples of persons are %v, expected 3 of each", own)
	}
	r := tinyrun.Fit(t, created)
	if r.TestAccuracy < 0.7 || r.Epsilon > 5 || r.Epsilon != d.Privacy.Epsilon || tiny.Releases(t, r.Run) != 40 {
		t.Errorf("found %+v, expected an accuracy of 0.7 where chance is 0.5, and the ε of the plan, %v", r, d.Privacy.Epsilon)
	}
	alike, err := train.NewPlan(tableConfig(t, table, "training.batch_size=40"), 80)
	if err != nil || math.Abs(alike.NoiseMultiplier()-r.NoiseMultiplier) > 0 {
		t.Errorf("noise is %v, expected the %v of 80 examples (%v)", r.NoiseMultiplier, alike.NoiseMultiplier(), err)
	}
	s, err := statement.Read(r.Run)
	if err != nil || s.Unit != "one person with all their examples" || !strings.Contains(s.Public, "the number of places, 80,") ||
		!strings.Contains(s.NotPrivate[0], "the number of persons, 80, and of all their training examples, 400") {
		t.Errorf("the statement is about %q, %q, %q, %v", s.Unit, s.Public, s.NotPrivate, err)
	}
	tiny.Says(t, r.Run, "whose an example is, which counts as given", "test examples, also those of persons who have training examples")
	shown, err := books.Show(o.RunsDir)
	if err != nil || len(shown.Datasets) != 1 || shown.Datasets[0].Data.Name != "persons by who of people" {
		t.Errorf("recorded as %+v, %v", shown.Datasets, err)
	}
	if verified, err := books.Verify(o.RunsDir, ""); err != nil || len(verified.Problems) > 0 {
		t.Errorf("verified as %+v, %v", verified, err)
	}
}

// One more record of one person changes neither the plan nor the noise.
func TestPersonsMayHaveManyExamples(t *testing.T) {
	table := crowd(t)
	path := filepath.Join(table, "train.csv")
	before := tiny.Must(train.NewPlan(personsConfig(t, table, "training.batch_size=40"), count(t, table)))(t)
	tiny.Write(t, path, tiny.Read(t, path)+strings.Repeat("7,33,50000,\"A, B\",no,person 3\n", 95))
	after, err := train.NewPlan(personsConfig(t, table, "training.batch_size=40"), count(t, table))
	if err != nil || before.NoiseMultiplier() != after.NoiseMultiplier() || before.Records != 80 || after.Records != 80 || before.Steps != after.Steps {
		t.Errorf("a person with 100 records makes %+v of %+v (%v)", after, before, err)
	}
}

// A run does not go on with persons who own other examples, though all examples are where they were:
// who was in one block of turns would be in another, and one person's examples be two persons'.
func TestPersonsKeepTheirExamples(t *testing.T) {
	for name, more := range map[string][]string{"cyclic": {"training.sampling=cyclic", "training.blocks=2"}, "poisson": nil} {
		table, o := crowd(t), reading(t)
		more = append(more, "training.batch_size=20", "training.steps=8", "privacy.noise_multiplier=3", "privacy.epsilon=none")
		ctx, cancel := context.WithCancel(context.Background())
		o.Stepped = func(p train.Progress) { cancel() }
		stopped := tiny.Fit(t, ctx, tinyrun.Create(t, personsConfig(t, table, more...), o))
		path := filepath.Join(table, "train.csv")
		tiny.Write(t, path, strings.Replace(tiny.Read(t, path), "person 0\n", "person 79\n", 1)) // who is the first now
		r, err := train.Open(stopped.Run, o)
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, books.ErrOtherPlan) {
			t.Errorf("%s: found %v", name, err)
		}
	}
}

func count(t *testing.T, table string) int {
	t.Helper()
	c := personsConfig(t, table)
	return setup.Records(c, tiny.Must(setup.OutlineOf(c, 0))(t))
}

// Clients and persons take turns as examples do, in rounds and in steps: the event is about as many
// records, and ε that of a run of as many examples. Shares of noise by clients are refused where
// noise is correlated.
func TestClientsAndPersonsTakeTurns(t *testing.T) {
	table := crowd(t)
	noise := accountant.Gaussian{NoiseMultiplier: 3}
	cyclic := accountant.CyclicSampled{Blocks: 2, Event: accountant.PoissonSampled{SamplingProbability: 0.5, Event: noise}}
	for name, more := range map[string][]string{
		"cyclic":     {"training.sampling=cyclic", "training.blocks=2"},
		"correlated": {"training.sampling=cyclic", "training.blocks=2", "privacy.correlation=banded", "privacy.bands=2"},
		"bins":       {"training.sampling=balls_in_bins"},
	} {
		more = append(more, "training.steps=8", "privacy.noise_multiplier=3", "privacy.epsilon=none")
		for unit, c := range map[string]*configs.Config{
			"clients": federatedConfig(t, append(more, "training.batch_size=15")...),
			"persons": personsConfig(t, table, append(more, "training.batch_size=20")...),
		} {
			o := tinyrun.Options(t)
			if unit == "persons" {
				o = reading(t)
			}
			want := accountant.Event(cyclic)
			if name == "bins" {
				want = accountant.BallsInBins{Bins: 4, Event: noise}
			}
			r := tinyrun.Fit(t, tinyrun.Create(t, c, o))
			found := tiny.Must(books.Inspect(r.Run))(t).Ledger.Entries()
			if len(found) != 1 || found[0] != (accountant.Entry{Event: want, Count: 8}) {
				t.Errorf("%s, %s: found the ledger %v, expected 8 of %v", name, unit, found, want)
			}
		}
	}
	c := federatedConfig(t, "federated.noise=clients", "federated.min_clients=50", "training.sampling=cyclic", "training.blocks=2", "training.batch_size=15", "privacy.correlation=banded", "privacy.bands=2")
	if _, err := train.Create(c, tinyrun.Options(t)); err == nil || !strings.Contains(err.Error(), "privacy.mechanism is noise by clients") {
		t.Errorf("noise by clients: found %v", err)
	}
}
