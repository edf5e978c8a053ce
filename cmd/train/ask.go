package main

import (
	"errors"
	"fmt"
	"strings"

	"dpsgd/accountant"
	"dpsgd/internal/questions"

	"github.com/spf13/cobra"
)

// runArgs are the arguments of the commands that ask accountants.
var runArgs = args(0, 1, "at most one: the folder of a run, such as runs/digits-1")

// ask carries out a command that asks one accountant.
func (a *app) ask(c *cobra.Command, q *question, args []string) error {
	if q.batch {
		return a.answerLines(c, args, q.unknown)
	}
	asked, err := q.read(c, args)
	if err != nil {
		return err
	}
	a.warn(q.warning)
	cost, err := new(questions.Answerer).Answer(asked)
	if err != nil {
		return unanswered(err)
	}
	if q.unknown == questions.Epsilon && asked.Run != "" {
		cost.TargetEpsilon = asked.Epsilon
	}
	if a.json {
		return a.printJSON(cost)
	}
	return a.printCost(cost, q.unknown)
}

// unanswered makes the refusal of a question an error of the command line.
func unanswered(err error) error {
	for _, known := range []error{accountant.ErrUnsupported, accountant.ErrInvalid, questions.ErrFixed} {
		if errors.Is(err, known) {
			return asUsage(err)
		}
	}
	return err
}

// printCost writes an answer for people: what was solved for, what it costs, and what that rests
// on.
func (a *app) printCost(c questions.Cost, unknown questions.Unknown) error {
	budget := fmt.Sprintf("within ε ≤ %g at δ = %g", c.TargetEpsilon, c.Delta)
	switch unknown {
	case questions.NoiseMultiplier:
		fmt.Fprintf(a.out, "noise multiplier %s is the least %s\n", significantUp(c.NoiseMultiplier, 7), budget)
	case questions.SamplingProbability:
		fmt.Fprintf(a.out, "sampling probability %s is the largest %s\n", significantDown(c.SamplingProbability, 7), budget)
	case questions.Steps:
		fmt.Fprintf(a.out, "%s steps are the most %s\n", count(*c.Steps), budget)
	}
	bounds := fmt.Sprintf("ε lies in [%s, %s]\n", significantDown(c.Lower, 8), significantUp(c.Upper, 8))
	if unknown == questions.Delta {
		fmt.Fprintf(a.out, "δ = %s at ε = %g", significantUp(c.Delta, 4), c.Epsilon)
		bounds = "δ" + strings.TrimPrefix(bounds, "ε")
	} else {
		fmt.Fprintf(a.out, "ε = %s at δ = %g", epsilonText(c.Epsilon), c.Delta)
	}
	fmt.Fprintf(a.out, "%s\n", releasesText(c, unknown))
	if c.Bracketed {
		fmt.Fprint(a.out, bounds)
	}
	group := ""
	if c.GroupSize > 1 {
		group = fmt.Sprintf(" in groups of %s records", count(c.GroupSize))
	}
	_, err := fmt.Fprintf(a.out, "%s; datasets that differ by %s%s\n", c.Method, c.Relation, group)
	return err
}

// releasesText says what an answer is about.
func releasesText(c questions.Cost, unknown questions.Unknown) string {
	text := ""
	if c.Run != "" {
		text = fmt.Sprintf(", %s releases", count(*c.Releases))
		if unknown == questions.Epsilon && c.TargetEpsilon > 0 {
			text += fmt.Sprintf(", budget ε ≤ %g", c.TargetEpsilon)
		}
		if unknown == questions.Steps {
			text += fmt.Sprintf(" and %s more", count(*c.Steps))
		}
		return text
	}
	return fmt.Sprintf(", %s steps with noise multiplier %v, sampling probability %v", count(*c.Steps), c.NoiseMultiplier, c.SamplingProbability)
}
