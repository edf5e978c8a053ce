package main

import (
	"fmt"
	"io"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/trained"

	"github.com/spf13/cobra"
)

func cardCommand(a *shell.App) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "card RUN",
		Short: "Write a model card: what the model is and what its guarantee says",
		Long: `Write a model card in the format of Hugging Face: what the model is, how well it does, what its privacy
guarantee says and what it does not cover. The licence is left for you to choose.`,
		Example: `  train card runs/digits-1
  train card runs/digits-1 -o README.md`,
		Args: shell.Args(1, 1, oneRun),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := trained.Open(args[0])
			if err != nil {
				return err
			}
			content, err := exchange.Card(m)
			switch {
			case err != nil:
				return err
			case path == "":
				return a.Print(map[string]string{"card": string(content)}, func(w io.Writer) { w.Write(content) })
			}
			if err := checkpoints.WriteFileAtomic(path, content, folder.FilePerm); err != nil {
				return err
			}
			return a.Print(map[string]string{"file": path}, func(w io.Writer) { fmt.Fprintf(w, "the card of %s is in %s\n", args[0], path) })
		},
	}
	c.Flags().StringVarP(&path, "output", "o", "", "file to write, such as README.md (default: standard output)")
	return c
}
