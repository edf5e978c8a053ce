package main

import (
	"fmt"
	"io"

	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

func manCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write man pages, one for each command",
		Example: "  train man ~/.local/share/man/man1",
		Args:    shell.Args(1, 1, "one: the folder that gets the pages, such as ~/.local/share/man/man1"),
		RunE: func(c *cobra.Command, args []string) error {
			files, err := writeManual(c.Root(), args[0])
			if err != nil {
				return err
			}
			return a.Print(map[string][]string{"pages": files}, func(w io.Writer) {
				fmt.Fprintf(w, "%s pages in %s; read one by `man -l %s`\n", shell.Count(len(files)), args[0], files[0])
			})
		},
	}
}

// examplesCommand prints the examples that are in the helps of the commands.
func examplesCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:     "examples",
		Short:   "Show examples of all commands",
		Example: "  train examples",
		Args:    shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			type item struct {
				Command  string `json:"command"`
				Short    string `json:"short"`
				Examples string `json:"examples"`
			}
			var list []item
			for _, g := range c.Root().Groups() {
				for _, sub := range c.Root().Commands() {
					if sub.GroupID == g.ID && sub.HasExample() && sub != c {
						list = append(list, item{sub.CommandPath(), sub.Short, shell.Examples(sub)})
					}
				}
			}
			return a.Print(map[string][]item{"examples": list}, func(w io.Writer) {
				for i, e := range list {
					if i > 0 {
						fmt.Fprintln(w)
					}
					fmt.Fprintf(w, "%s\n%s\n", e.Short, e.Examples)
				}
			})
		},
	}
}
