package main

import (
	"fmt"
	"io"

	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

func helloCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use: "hello", Short: "Greet", Example: "  train hello", Args: shell.Args(0, 0, "none"),
		RunE: func(*cobra.Command, []string) error {
			return a.Print("hello", nil, func(w io.Writer) { fmt.Fprintln(w, "hello") })
		},
	}
}
