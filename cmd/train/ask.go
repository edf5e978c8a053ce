package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"

	"github.com/spf13/cobra"
)

// runArgs allows one argument, a run, for the commands that ask accountants.
var runArgs = shell.Args(0, 1, "at most one: the folder of a run, such as runs/digits-1")

// questionCommand makes c a command that asks one accountant for the unknown of q, and returns c.
func questionCommand(a *shell.App, q *question, c *cobra.Command) *cobra.Command {
	c.Args = runArgs
	c.RunE = func(c *cobra.Command, args []string) error { return ask(a, c, q, args) }
	q.addFlags(c)
	q.accountantFlag(c)
	c.Flags().BoolVar(&q.batch, "batch", false, "answer JSON lines from standard input")
	return c
}

// ask prints one accountant's answer to q, or with --batch those to questions on standard input.
func ask(a *shell.App, c *cobra.Command, q *question, args []string) error {
	if q.batch {
		return answerLines(a, c, args, q.unknown)
	}
	asked, err := q.read(a, c, args)
	if err != nil {
		return err
	}
	cost, err := new(account.Answerer).Answer(asked)
	if q.unknown == account.Epsilon && asked.Run != "" && shell.GivenFlag(c, func(name string) bool { return name != "json" }) == "" { // the budget is about no other δ
		cost.TargetEpsilon = asked.Epsilon
	}
	return shell.Show(a, printCost(q.unknown))(cost, unanswered(err))
}

// unanswered marks err as one of the command line if it says that a question has no answer.
func unanswered(err error) error {
	for _, known := range []error{accountant.ErrUnsupported, accountant.ErrInvalid, account.ErrFixed} {
		if errors.Is(err, known) {
			return shell.AsUsage(err)
		}
	}
	return err
}

// printCost returns a function that writes an answer for people: what was solved for, what it
// costs, and what that rests on.
func printCost(unknown account.Unknown) func(io.Writer, account.Cost) {
	return func(w io.Writer, c account.Cost) {
		budget := fmt.Sprintf("within ε ≤ %g at δ = %g", c.TargetEpsilon, c.Delta)
		switch {
		case unknown == account.NoiseMultiplier:
			shell.Prosef(w, "noise multiplier %s is the least %s", shell.SignificantUp(c.NoiseMultiplier, 7), budget)
		case unknown == account.SamplingProbability:
			shell.Prosef(w, "sampling probability %s is the largest %s", shell.SignificantDown(c.SamplingProbability, 7), budget)
		case unknown == account.Steps && c.Capped:
			shell.Prosef(w, "more than %s steps fit %s; no further ones are asked about", shell.Count(*c.Steps), budget)
		case unknown == account.Steps:
			shell.Prosef(w, "%s steps are the most %s", shell.Count(*c.Steps), budget)
		}
		of, answer := "ε", fmt.Sprintf("ε = %s at δ = %g", shell.Epsilon(c.Epsilon), c.Delta)
		if unknown == account.Delta {
			of, answer = "δ", fmt.Sprintf("δ = %s at ε = %g", shell.SignificantUp(c.Delta, 4), c.Epsilon)
		}
		shell.Prosef(w, "%s%s", answer, releasesText(c, unknown))
		if c.Bracketed {
			shell.Prosef(w, "%s lies in [%s, %s]", of, shell.SignificantDown(c.Lower, 8), shell.SignificantUp(c.Upper, 8))
		}
		if c.Made != nil && unknown == account.Epsilon {
			shell.Prosef(w, "by now there are %s releases; their own ε = %s holds only if no decision to stop looked at a result",
				shell.Count(*c.Made.Releases), accountant.RoundUp(c.Made.Epsilon, 3))
		}
		group := ""
		if c.GroupSize > 1 {
			group = fmt.Sprintf(" in groups of %s records", shell.Count(c.GroupSize))
		}
		shell.Prosef(w, "%s; datasets that differ by %s%s", c.Method, neighbours(c.Unit, c.Relation), group)
	}
}

// neighbours returns words for how data sets differ: relation, or "unit (relation)" with a unit.
func neighbours(unit, relation string) string {
	if unit == "" {
		return relation
	}
	return fmt.Sprintf("%s (%s)", unit, relation)
}

// releasesText returns the end of an answer: the run, the steps or the theorem that it is about.
func releasesText(c account.Cost, unknown account.Unknown) string {
	if c.Of != "" {
		return ": " + c.Of
	}
	if c.Run != "" {
		text := fmt.Sprintf(", %s releases", shell.Count(*c.Releases))
		if unknown == account.Epsilon && c.TargetEpsilon > 0 {
			text += fmt.Sprintf(", budget ε ≤ %g, left %s", c.TargetEpsilon, accountant.RoundDown(c.TargetEpsilon-c.Epsilon, 3))
		}
		if unknown == account.Steps {
			text += fmt.Sprintf(" and %s more", shell.Count(*c.Steps))
		}
		return text
	}
	return fmt.Sprintf(", %s steps with noise multiplier %v, sampling probability %v", shell.Count(*c.Steps), c.NoiseMultiplier, c.SamplingProbability)
}

// batchHelp is for the help of the commands that read questions from standard input.
const batchHelp = `With --batch: one JSON object a line from standard input, as in the last example, answered in order by
the same object with the answer, lower, upper and seconds added, or error. Its keys: id, accountant, relation (with - or _),
group_size, phases or ledger ([{"event":…,"count":n}]), delta. lower is 0 where an accountant bounds from above only.`

// longestLine is the most bytes of a line that are kept in memory.
const longestLine = 16 << 20

// answerLines answers the questions on standard input, a wrong one by its error, until it ends.
func answerLines(a *shell.App, c *cobra.Command, args []string, unknown account.Unknown) error {
	extra := shell.GivenFlag(c, func(name string) bool { return name != "batch" && name != "json" })
	if len(args) > 0 {
		extra = args[0]
	}
	if extra != "" {
		return shell.Usagef("found %s beside --batch, expected nothing: the lines say everything", extra)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	batch := account.Lines{Unknown: unknown}
	lines := inputLines(ctx, c.InOrStdin())
	for {
		select {
		case <-ctx.Done():
			return shell.Stopped(c.Context())
		case l, ok := <-lines:
			switch {
			case !ok && batch.Failed > 0:
				return fmt.Errorf("found %d lines without an answer, expected none: their error says why", batch.Failed)
			case !ok:
				return nil
			case l.err != nil:
				return fmt.Errorf("cannot read standard input: %w", l.err)
			}
			a.Printed()
			if _, err := a.Out.Write(append(batch.Answer(l.text), '\n')); err != nil {
				return fmt.Errorf("cannot write the answer: %w", err)
			}
		}
	}
}

// line is one line of the input, or the error that ended it.
type line struct {
	text []byte
	err  error
}

// inputLines returns a channel of the lines of in. It reads ahead by one line until in or ctx ends,
// so that a signal stops a program that waits for input.
func inputLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			text, err := readLine(r)
			if errors.Is(err, io.EOF) {
				return
			}
			select {
			case lines <- line{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine returns the next line without its end, in new memory, or io.EOF behind the last one. It
// cuts a line after longestLine bytes: what is left is no JSON then. The last line needs no end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := longestLine - len(text); room > 0 {
			text = append(text, part[:min(len(part), room)]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0, err == nil:
			return bytes.TrimSuffix(text, []byte("\n")), nil
		}
		return nil, err
	}
}
