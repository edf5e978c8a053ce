package main

import (
	"fmt"
	"io"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/trained"

	"github.com/spf13/cobra"
)

func exportCommand(a *shell.App) *cobra.Command {
	var format, path string
	c := &cobra.Command{
		Use:   "export RUN",
		Short: "Write the model of a run as ONNX, PyTorch or safetensors",
		Long: `Write the model of a run for other programs, with its privacy guarantee in the file:

  onnx            a graph that takes pictures from 0 to 1 and gives logits; normalisation and features are in it
  pytorch-script  a Python file that builds the network and loads its weights from a .safetensors file beside it
  safetensors     the weights under PyTorch's names`,
		Example: `  train export runs/digits-1 --format onnx -o digits.onnx
  train export runs/digits-1 --format pytorch-script -o digits.py`,
		Args: shell.Args(1, 1, oneRun),
		RunE: func(_ *cobra.Command, args []string) error {
			if exchange.Extension(format) == "" {
				return shell.Usagef("found --format %s, expected one of %s", format, strings.Join(exchange.Formats(), ", "))
			}
			m, err := trained.Open(args[0])
			if err != nil {
				return err
			}
			if path == "" {
				path = folder.Name(args[0]) + exchange.Extension(format)
			}
			announce(a, m)
			files, err := exchange.Export(m, format, path)
			if err != nil {
				return err
			}
			return a.Print(map[string]any{"format": format, "files": files}, func(w io.Writer) {
				fmt.Fprintf(w, "%s is in %s\n", args[0], strings.Join(files, " and "))
			})
		},
	}
	c.Flags().StringVar(&format, "format", "onnx", strings.Join(exchange.Formats(), ", "))
	c.Flags().StringVarP(&path, "output", "o", "", "file to write (default: the name of the run, in this folder)")
	return c
}
