package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/statement"
)

// Table returns the result of a sweep as lines of cells, the heading first. It has a line for each
// point if points were trained with several seeds, else for each trial.
func (r Result) Table() [][]string {
	if r.repeated() {
		return r.pointTable()
	}
	return r.trialTable()
}

// repeated reports whether points were trained with several seeds.
func (r Result) repeated() bool {
	return slices.ContainsFunc(r.Points, func(p Point) bool { return p.Trials > 1 })
}

// column says what stands in a column of a table whose lines describe values of type R.
type column[R any] struct {
	shown   bool
	heading string
	cell    func(R) string
}

// tableOf returns the headings of the columns that are shown, then a line of cells for each row.
func tableOf[R any](columns []column[R], rows []R) [][]string {
	table := make([][]string, 1+len(rows))
	for _, c := range columns {
		if !c.shown {
			continue
		}
		table[0] = append(table[0], c.heading)
		for i, row := range rows {
			table[i+1] = append(table[i+1], c.cell(row))
		}
	}
	return table
}

// trialTable returns a line for each trial, without keys that have the same value in all of them.
func (r Result) trialTable() [][]string {
	var columns []column[books.Row]
	for _, s := range books.Swept(r.Rows) {
		columns = append(columns, column[books.Row]{true, s.Label, func(row books.Row) string { return row.Value(s.Key) }})
	}
	return tableOf(append(columns, []column[books.Row]{
		{true, headingOf(r.Rows), func(row books.Row) string { return row.Bare() }},
		{true, "ε", func(row books.Row) string { return account.OrDash(&row.Epsilon) }},
		{besideRDP(r.Rows), "ε (rdp)", func(row books.Row) string { return account.OrDash(row.EpsilonRDP) }},
		{r.Scale > 1, "target ε", func(row books.Row) string { return account.OrDash(row.TargetEpsilon) }},
		{true, "steps", func(row books.Row) string { return strconv.Itoa(row.Steps) }},
		{true, "status", func(row books.Row) string { return row.Status }},
	}...), r.Rows)
}

// pointTable returns a line for each point with a result. It marks the best point, and points that
// cannot be told from it.
func (r Result) pointTable() [][]string {
	var columns []column[Point]
	for _, s := range books.Swept(r.Rows) {
		columns = append(columns, column[Point]{s.Key != configs.SeedKey, s.Label, func(p Point) string { return p.Settings[s.Key] }})
	}
	return tableOf(append(columns, []column[Point]{
		{true, headingOf(r.Rows), func(p Point) string { return p.Bare() }},
		{true, "±", func(p Point) string { return p.width() }},
		{true, "", r.mark},
		{true, "ε of one", func(p Point) string { return account.OrDash(&p.Epsilon) }},
		{r.Scale > 1, "target ε", func(p Point) string { return account.OrDash(p.TargetEpsilon) }},
		{true, "seeds", func(p Point) string { return fmt.Sprintf("%d/%d", p.Finished, p.Trials) }},
	}...), slices.DeleteFunc(slices.Clone(r.Points), func(p Point) bool { return p.Finished == 0 }))
}

// mark says how a point compares with the best one; "" if it is worse.
func (r Result) mark(p Point) string {
	switch {
	case p.Point == r.Best:
		return "best"
	case p.Indistinguishable:
		return "≈ best"
	}
	return ""
}

// headingOf returns the heading for the number by which trials are compared.
func headingOf(rows []books.Row) string {
	if ofNumbers(rows) {
		return "test error"
	}
	return "test %"
}

// width returns half the width of the interval of a mean, in the unit of the mean.
func (p Point) width() string {
	if p.HalfWidth == nil {
		return "–"
	}
	if p.Numbers() {
		return score.OfError(*p.HalfWidth).Bare()
	}
	return score.Test{TestAccuracy: score.Value(*p.HalfWidth)}.Bare()
}

// Note says what the numbers of the table mean, as lines of sentences.
func (r Result) Note() []string {
	return slices.Concat(r.noteOnMissing(), r.noteOnBest(), r.noteOnCost(), r.noteOnSelection(), r.noteOnScale())
}

// noteOnMissing says which trials a sweep of tasks lacks.
func (r Result) noteOnMissing() []string {
	if r.Status != Incomplete {
		return nil
	}
	var numbers []int
	releases := 0
	for _, m := range r.Missing {
		numbers = append(numbers, m.Number)
		releases += m.Releases
	}
	return []string{
		fmt.Sprintf("Without a result: %d of %d trials, %s.", len(numbers), r.Trials, Numbers(numbers)),
		fmt.Sprintf("What they have released by now, %d times, counts below. Train them and", releases),
		"collect again.",
		"",
	}
}

func (r Result) noteOnBest() []string {
	if !r.repeated() || r.Best == "" {
		return nil
	}
	alike := 0
	for _, p := range r.Points {
		if p.Indistinguishable {
			alike++
		}
	}
	return []string{
		"Best is by the mean over the seeds; ± is the 95 % interval of a mean (Student's",
		fmt.Sprintf("t). ≈ marks what a paired t-test on the same seeds does not tell from it: %d.", alike),
		"The best of many means looks better than it is: measure it again to quote it.",
		"",
	}
}

// noteOnCost says which trials each ε in the table covers, and what all of them cost together.
func (r Result) noteOnCost() []string {
	switch {
	case r.drawn && r.Trials == 0:
		return []string{
			"The number of points that was drawn is 0: there is no result, and nothing was",
			"released. That is part of the bargain: to draw again is another sweep, whose cost",
			"comes on top of this one's.",
		}
	case r.Composed == nil:
		return nil
	}
	note := []string{
		"Each row's ε covers that trial alone, for somebody who sees nothing of the rest.",
		"Choosing among trials on the same private data costs more. All of them together",
		fmt.Sprintf("are (ε = %s, δ = %g)-private (%s over %d releases): quote that for",
			accountant.RoundUp(r.Composed.Epsilon, 3), r.Composed.Delta, r.Composed.Accountant, r.Composed.Releases),
		"a model that was picked by this table.",
	}
	if r.Composed.EpsilonRDP != nil {
		note[len(note)-1] += fmt.Sprintf(" By rdp it is ε = %s.", account.OrDash(r.Composed.EpsilonRDP))
	}
	if r.Composed.Released != nil {
		note[2] = fmt.Sprintf("are (ε = %s, δ = %g)-private (%s over all %d planned releases): quote that for",
			accountant.RoundUp(r.Composed.Epsilon, 3), r.Composed.Delta, r.Composed.Accountant, r.Composed.Planned)
		note = append(note, fmt.Sprintf("The %d releases by now cost ε = %s, only if no decision to stop, or to go on", r.Composed.Releases, accountant.RoundUp(r.Composed.Released.Epsilon, 3)), "after a kill, looked at a result.")
	}
	if r.Public {
		note = append(note,
			"These data are public, drawn by the program: nobody's privacy was spent, and the",
			"figures are what the same sweep would cost on private data.")
	}
	return note
}

// noteOnSelection says what the best point costs alone, where the number of points was drawn.
func (r Result) noteOnSelection() []string {
	switch {
	case r.Selected != nil && r.Trials > 0:
		return []string{
			"",
			"If nothing but the best point leaves this folder (its models and its accuracy, no",
			"other row, not how many there were), that is",
			fmt.Sprintf("(ε = %s, δ = %g)-private (%s, repeat-and-select): the number of points was",
				accountant.RoundUp(r.Selected.Epsilon, 3), r.Selected.Delta, r.Selected.Accountant),
			fmt.Sprintf("drawn (%s), and each point too.", r.Selected.Number),
			"It covers training examples; test examples, which chose, must be public or others.",
			"selected.md is the statement to publish with its models. This table, and whatever",
			"names a point by its number, is not to be published then.",
		}
	case r.drawn && r.Selected == nil:
		return []string{"", "The cost of the best point alone is known when all drawn points are trained."}
	}
	return nil
}

// noteOnScale says, with tan, what the small trials stand for.
func (r Result) noteOnScale() []string {
	if r.Scale <= 1 || len(r.Rows) == 0 {
		return nil
	}
	return []string{
		"",
		fmt.Sprintf("The trials are simulations (tan): batches and noise are smaller by %d. Their", r.Scale),
		"accuracies predict which full configuration is best, at its target ε. Their own ε",
		"is of what they released, and counts where the data are private.",
	}
}

// writeSummary writes results.json: the result with the name of the folder, not its path, and the
// checksum of results.md.
func (s *sweep) writeSummary(r Result, report []byte) error {
	r.Sweep, r.Report = filepath.Base(r.Sweep), fmt.Sprintf("%x", sha256.Sum256(report))
	summary, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Summary), append(summary, '\n'), folder.FilePerm)
}

func (r Result) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Sweep %s\n\n%d of %d trials have a result.\n\n", filepath.Base(r.Sweep), r.Finished, r.Trials)
	writeTable(&b, r.Table())
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.Note(), "\n"))
	if r.repeated() {
		b.WriteString("\n## Trials\n\n")
		writeTable(&b, r.trialTable())
	}
	return b.Bytes()
}

func writeTable(b *bytes.Buffer, table [][]string) {
	for i, line := range table {
		for _, cell := range line {
			fmt.Fprintf(b, "| %s ", statement.Cell(cell))
		}
		b.WriteString("|\n")
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(line)))
		}
	}
}
