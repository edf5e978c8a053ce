package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func evalCommand(a *shell.App) *cobra.Command {
	var o train.Options
	c := &cobra.Command{
		Use:     "eval RUN",
		Short:   "Measure the model of a run on its test examples",
		Example: "  train eval runs/digits-1",
		Args:    shell.Args(1, 1, oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := train.Evaluate(args[0], o)
			if err != nil {
				return err
			}
			a.Warn(cmp.Or(found.Warning, ofTrial(args[0])))
			return a.Print(found, nil, func(w io.Writer) {
				fmt.Fprintf(w, "%-15s %s of %s %s\n", found.Test.Name(), found.Test, shell.Count(found.TestExamples), found.Noun)
				fmt.Fprintf(w, "test loss       %.4f\n", found.TestLoss)
				shell.Prosef(w, "privacy         %s", shell.Guarantee(found.Epsilon, found.Delta, found.Accountant, found.EpsilonRDP))
				if found.Unit != "" {
					shell.Prosef(w, "protected       %s", found.Unit)
				}
				printLeft(w, found.TargetEpsilon, found.Epsilon)
				fmt.Fprintln(w)
				printMeasures(w, found.Measures)
				printClasses(w, found)
				printConfusion(w, found)
			})
		},
	}
	dataFlags(a, c, &o.Request)
	return c
}

// ofTrial warns of the ε of a trial among a drawn number; it is "" for any other run.
func ofTrial(run string) string {
	if !folder.OfHiddenNumber(run) {
		return ""
	}
	return "ε is of one trial among a drawn number, for you alone: " + folder.Selected + " of the sweep has that of the best, to be published"
}

func printMeasures(w io.Writer, measures []score.Measure) {
	if len(measures) > 0 {
		shell.PrintRows(w, []string{"measure", "value", "95 % interval"}, measures, func(m score.Measure) []string {
			return []string{strings.ReplaceAll(m.Name, "_", " "), fmt.Sprintf("%.4g", m.Value), m.Interval()}
		})
		fmt.Fprintln(w)
	}
}

// longestClass is how many characters of the name of a class a table shows.
const longestClass = 24

// printClasses writes a line for each class: its examples, the share predicted right with its
// interval, and which other class most of the rest were taken for.
func printClasses(w io.Writer, found score.Score) {
	if len(found.Classes) == 0 {
		return
	}
	table := [][]string{{"class", found.Noun, "correct %", "95 % interval", "most often taken for"}}
	for label, c := range found.Classes {
		other, most := "–", 0
		if found.Confusion != nil {
			for predicted, n := range found.Confusion[label] {
				if predicted != label && n > most {
					other, most = fmt.Sprintf("%s (%d)", shell.Cut(found.Classes[predicted].Name, longestClass), n), n
				}
			}
		}
		table = append(table, []string{shell.Cut(c.Name, longestClass), shell.Count(c.Examples), shell.Decimals(100*c.Accuracy, 2), fmt.Sprintf("%.2f to %.2f", 100*c.Low, 100*c.High), other})
	}
	shell.PrintTable(w, table)
}

func printExtremes(w io.Writer, classes []score.Class) {
	classes = slices.DeleteFunc(slices.Clone(classes), func(c score.Class) bool { return c.Examples == 0 })
	if len(classes) < 2 {
		return
	}
	by := func(a, b score.Class) int { return cmp.Compare(a.Accuracy, b.Accuracy) }
	worst, best := slices.MinFunc(classes, by), slices.MaxFunc(classes, by)
	if worst.Accuracy == best.Accuracy {
		fmt.Fprintf(w, "by class        %.2f %% of each\n", 100*worst.Accuracy)
		return
	}
	shell.Prosef(w, "by class        from %.2f %% (%s) to %.2f %% (%s)", 100*worst.Accuracy, shell.Cut(worst.Name, longestClass), 100*best.Accuracy, shell.Cut(best.Name, longestClass))
}

// printConfusion writes the confusion matrix, or nothing if its lines are longer than 80 columns.
func printConfusion(w io.Writer, found score.Score) {
	table := [][]string{{"class, taken for →"}}
	for label, counts := range found.Confusion {
		table[0] = append(table[0], found.Classes[label].Name)
		line := []string{found.Classes[label].Name}
		for _, n := range counts {
			line = append(line, shell.Count(n))
		}
		table = append(table, line)
	}
	if len(found.Confusion) == 0 || shell.TableWidth(table) > shell.Width {
		return
	}
	fmt.Fprintln(w)
	shell.PrintTable(w, table)
}
