package main

import (
	"fmt"
	"io"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/exchange"

	"github.com/spf13/cobra"
)

func importCommand(a *shell.App) *cobra.Command {
	var path string
	var set []string
	c := &cobra.Command{
		Use:   "import WEIGHTS.safetensors CONFIG|PRESET",
		Short: "Fit weights of another program to a network, to begin with",
		Long: `Find which tensors of a file fit which parameters of the network of a configuration, by name or by order and
shape, and print the lines of YAML that begin training with them. No data is read.

The privacy statement of such a run names the file's weights by their hash, and what you declare them to be trained on:
what they tell of that is not covered by the run's guarantee.`,
		Example: `  train import weights.safetensors own-pictures
  train import resnet.safetensors my.yaml -o start.safetensors`,
		Args: shell.Args(2, 2, "two: a file of weights, and a configuration file or the name of a preset"),
		RunE: func(_ *cobra.Command, args []string) error {
			config, err := configs.Load(args[1], set)
			if err != nil {
				return shell.AsUsage(err)
			}
			return shell.Show(a, printImport)(exchange.Import(args[0], config, path))
		},
	}
	c.Flags().StringVarP(&path, "output", "o", "", "file to write the fitting tensors to, under the names of the network")
	c.Flags().StringArrayVar(&set, "set", nil, "override a key of the configuration, as in --set model.name=mlp128 (repeatable)")
	return c
}

func printImport(w io.Writer, i exchange.Imported) {
	table := [][]string{{"parameter", "shape", "tensor of the file"}}
	for _, f := range i.Fits.Fits {
		tensor := shell.Plain(f.Tensor)
		if tensor == "" {
			tensor = "none, begins at random"
		}
		table = append(table, []string{f.Parameter, strings.Trim(fmt.Sprint(f.Shape), "[]"), tensor})
	}
	shell.PrintTable(w, table)
	if len(i.Unused) > 0 {
		for at, name := range i.Unused {
			i.Unused[at] = shell.Plain(name)
		}
		fmt.Fprintf(w, "\nnot used: %s\n", strings.Join(i.Unused, ", "))
	}
	switch {
	case i.Named:
		fmt.Fprintln(w, "\nThe names are those of the network.")
	case i.File == "":
		fmt.Fprintln(w, "\nMatched by order and shape: look whether it is right, then write the tensors under the names of the network with -o FILE.")
	default:
		fmt.Fprintf(w, "\nMatched by order and shape: look whether it is right. Written to %s.\n", i.File)
	}
	for _, fact := range i.About {
		fmt.Fprintf(w, "%s: %s\n", shell.Plain(fact.Key), shell.Plain(fact.Value))
	}
	fmt.Fprintf(w, "\nIn the configuration:\n\n%s", i.YAML)
}
