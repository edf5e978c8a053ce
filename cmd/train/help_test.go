package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

// everyCommand calls f with each command that a person can reach.
func everyCommand(f func(*cobra.Command)) {
	r := root(&shell.App{})
	r.InitDefaultCompletionCmd()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		f(c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				walk(sub)
			}
		}
	}
	walk(r)
}

// The help documents the exit codes and every command. Every line of it can be read whole on a terminal of 80
// columns.
func TestHelpFitsATerminal(t *testing.T) {
	n, all := 0, succeed(t, "help")
	says(t, all, shell.Flow(shell.ExitHelp))
	everyCommand(func(c *cobra.Command) {
		n++
		if c.Parent() != nil && c.Parent().Parent() == nil && c.Name() != "completion" && c.Name() != "help" {
			says(t, all, c.Short)
			if c.Example == "" && c.Runnable() && c.Name() != "version" && c.Name() != "data" {
				t.Errorf("%s has no example", c.Name())
			}
		}
		for _, line := range strings.Split(shell.Help(c), "\n") {
			if found := utf8.RuneCountInString(line); found > shell.Width || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: a line of %d columns, expected at most %d and no space at its end:\n%s", c.CommandPath(), found, shell.Width, line)
			}
		}
	})
	if n < 25 {
		t.Errorf("found %d commands", n)
	}
}
