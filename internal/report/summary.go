package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/stats"
)

type pair struct{ Name, Value string }

func percent(share float64) string { return hundredthsOf(share) + " %" }

func lead(r *Run) string {
	name, accuracy := "Test accuracy", "not measured yet"
	if n := len(r.Metrics); n > 0 {
		if r.Metrics[n-1].Numbers() {
			name = "Mean test error"
		}
		accuracy = r.Metrics[n-1].Test.String()
	}
	if r.NotPrivate {
		return fmt.Sprintf("NOT PRIVATE: a baseline without any guarantee. %s %s.", name, accuracy)
	}
	if r.Releases == 0 {
		return "Nothing has been released yet."
	}
	if r.Asks {
		return fmt.Sprintf("%s statistics at ε = %s, δ = %g, after %s releases.", count(len(r.Statistics)), epsilon(r.Spent.Epsilon), r.Spent.Delta, count(r.Releases))
	}
	about := ""
	if unit := setup.UnitOf(r.Config); unit != "" {
		about = " for " + unit
	}
	if folder.OfHiddenNumber(r.Dir) {
		name = "Not to be published: ε is of one trial among a drawn number, and " + folder.Selected + " has that of the best. " + name
	}
	return fmt.Sprintf("%s %s at ε = %s, δ = %g%s, after %s releases.", name, accuracy, epsilon(r.Spent.Epsilon), r.Spent.Delta, about, count(r.Releases))
}

// summaryOf lists what most people want to know about a run. Runs with a network have the same
// lines, and so have runs of statistics.
func summaryOf(r *Run) []pair {
	const none = "–"
	name, accuracy, loss, steps := "Test accuracy", none, none, none
	if r.Config.Data.Task() == data.Number {
		name = "Mean test error"
	}
	if n := len(r.Metrics); n > 0 {
		last := r.Metrics[n-1]
		accuracy, loss, steps = last.Test.String(), strconv.FormatFloat(last.TestLoss, 'f', 4, 64), count(last.Step)
	}
	if e := r.Examination; e != nil {
		accuracy = withInterval(e)
	}
	cost, delta, by, unit := none, none, r.Config.Privacy.Accountant, none
	if r.NotPrivate {
		cost, by = "infinite: NOT PRIVATE", none
	}
	if r.Releases > 0 {
		cost, delta, by = epsilon(r.Spent.Epsilon), fmt.Sprint(r.Spent.Delta), r.Spent.Accountant
		unit = cmp.Or(setup.UnitOf(r.Config), "one training example")
	}
	budget, left := "none", none
	if r.Config.Privacy.Epsilon > 0 && !r.NotPrivate {
		budget = fmt.Sprint(r.Config.Privacy.Epsilon)
		left = accountant.RoundDown(r.Config.Privacy.Epsilon-r.Spent.Epsilon, 3)
	}
	batch := count(r.Config.Training.BatchSize)
	status, noise, clip, together := "has not ended", none, strconv.FormatFloat(r.Config.Privacy.ClipNorm, 'g', -1, 64), none
	if r.NoiseMultiplier > 0 {
		noise = strconv.FormatFloat(r.NoiseMultiplier, 'g', 5, 64)
	}
	trusted := none
	if s := r.Statement; s != nil {
		batch = strconv.FormatFloat(s.ExpectedBatchSize, 'g', -1, 64)
		trusted = cmp.Or(s.Trusted, "the machine of the run")
		if status = s.Status; s.System == "" {
			noise = strconv.FormatFloat(s.NoiseMultiplier, 'g', 5, 64)
		} else {
			clip = none
		}
		if total := s.DatasetTotal(); total != "" {
			together = total
		}
	}
	if r.Asks {
		return []pair{
			{"Status", status}, {"Data", dataOf(r)}, {"ε (rounded up)", cost}, {"δ", delta}, {"Accountant", by}, {"Budget of ε", budget}, {"ε left", left},
			{"All runs on this data, at its end", together}, {"Releases", count(r.Releases)},
		}
	}
	return []pair{
		{"Status", status}, {"Data", dataOf(r)}, {"Network", cmp.Or(r.Config.Model.Name, "layers of the configuration")},
		{name + " (95 % interval)", accuracy}, {"Test loss", loss},
		{"ε (rounded up)", cost}, {"δ", delta}, {"ε is about", unit}, {"Accountant", by}, {"Budget of ε", budget}, {"ε left", left},
		{"All runs on this data, at its end", together}, {"Who has to be trusted", trusted},
		{"Noise multiplier", noise}, {"Clip norm", clip}, {"Expected batch size", batch},
		{"Step of the last accuracy", steps}, {"Releases", count(r.Releases)},
	}
}

// withInterval returns the number by which a model is measured, with its interval.
func withInterval(e *score.Examination) string {
	if e.Task == data.Number {
		return fmt.Sprintf("%s (%s)", e.Test, e.Measures[0].Interval())
	}
	all := e.Total()
	return fmt.Sprintf("%s (%s to %s)", percent(all.Accuracy), percent(all.Low), percent(all.High))
}

func dataOf(r *Run) string {
	if s := r.Statement; s != nil {
		return fmt.Sprintf("%s, %s examples%s", s.Data, count(s.Examples), s.Learnt())
	}
	return cmp.Or(r.Config.Data.Name, "one's own")
}

func count(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", count(n/1000), n%1000)
}

func statistics(r *Run) Table {
	t := Table{Heading: []string{"statistic", "of", "value", "from", "to (95 %)", "mechanism", "ε", "δ"}}
	for _, s := range r.Statistics {
		t.Rows = append(t.Rows, []string{s.Statistic, s.Column, shortened(s.Value), shortened(s.Low), shortened(s.High), s.Mechanism, epsilon(s.Epsilon), fmt.Sprint(s.Delta)})
	}
	return t
}

// shortened writes a number or a list as JSON, and cuts it if it is long.
func shortened(n stats.Numbers) string {
	const most = 240
	text, _ := json.Marshal(n) // numbers that were read from JSON
	words := strings.ReplaceAll(string(text), ",", ", ")
	if len(words) > most {
		words = words[:most] + "…"
	}
	return words
}

// results lists the trials of a sweep, of which at least one has a result.
func results(s *Sweep) Table {
	t := Table{Heading: []string{"trial"}}
	for _, key := range s.Keys {
		t.Heading = append(t.Heading, lastWord(key))
	}
	of := max(0, slices.IndexFunc(s.Rows, func(r books.Row) bool { return r.Test.Numbers() })) // others diverged
	t.Heading = append(t.Heading, s.Rows[of].Test.Name(), "ε", "ε (rdp)")
	target := slices.ContainsFunc(s.Rows, func(r books.Row) bool { return r.TargetEpsilon != nil })
	if target {
		t.Heading = append(t.Heading, "target ε")
	}
	t.Heading = append(t.Heading, "δ", "steps", "status")
	for i, r := range s.Rows {
		line := []string{strconv.Itoa(i + 1)}
		for _, key := range s.Keys {
			line = append(line, r.Value(key))
		}
		line = append(line, r.Test.String(), epsilon(r.Epsilon), account.OrDash(r.EpsilonRDP))
		if target {
			line = append(line, account.OrDash(r.TargetEpsilon))
		}
		t.Rows = append(t.Rows, append(line, fmt.Sprint(r.Delta), count(r.Steps), r.Status))
	}
	return t
}
