package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
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
  safetensors     the weights under PyTorch's names
  timm            the weights of a ResNet or a vision transformer under the names of timm and torchvision
  huggingface     those of a vision transformer, BERT, DistilBERT or GPT-2 under the names of Hugging Face
  peft            a folder with the network in Python and its adapters (model.lora) as PEFT reads them; the other
                  formats hold weights with their adapters merged`,
		Example: `  train export runs/digits-1 --format onnx -o digits.onnx
  train export runs/digits-1 --format pytorch-script -o digits.py`,
		Args: shell.Args(1, 1, oneRun),
		RunE: func(_ *cobra.Command, args []string) error {
			if exchange.Extension(format) == "" {
				return shell.Usagef("found --format %s, expected one of %s", format, strings.Join(exchange.Formats(), ", "))
			}
			m, err := trained.ToPublish(args[0])
			if err != nil {
				return err
			}
			path = cmp.Or(path, folder.Name(args[0])+exchange.Extension(format))
			announce(a, m)
			files, err := exchange.Export(m, format, path)
			return a.Print(map[string]any{"format": format, "files": files}, err, func(w io.Writer) {
				fmt.Fprintf(w, "%s is in %s\n", args[0], strings.Join(files, " and "))
			})
		},
	}
	c.Flags().StringVar(&format, "format", "onnx", strings.Join(exchange.Formats(), ", "))
	shell.OutputFlag(c, &path, "file to write (default: the name of the run, in this folder)")
	return c
}

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
			m, err := trained.ToPublish(args[0])
			if err != nil {
				return err
			}
			content, err := exchange.Card(m)
			if err != nil || path == "" {
				return a.Print(map[string]string{"card": string(content)}, err, func(w io.Writer) { w.Write(content) })
			}
			return a.Print(map[string]string{"file": path}, checkpoints.WriteFileAtomic(path, content, folder.FilePerm), func(w io.Writer) { fmt.Fprintf(w, "the card of %s is in %s\n", args[0], path) })
		},
	}
	shell.OutputFlag(c, &path, "file to write, such as README.md (default: standard output)")
	return c
}

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
	shell.OutputFlag(c, &path, "file to write the fitting tensors to, under the names of the network")
	c.Flags().StringArrayVar(&set, "set", nil, "override a key of the configuration, as in --set model.name=mlp128 (repeatable)")
	return c
}

func printImport(w io.Writer, i exchange.Imported) {
	shell.PrintRows(w, []string{"parameter", "shape", "tensor of the file"}, i.Fits.Fits, func(f exchange.Fit) []string {
		return []string{f.Parameter, strings.Trim(fmt.Sprint(f.Shape), "[]"), cmp.Or(shell.Plain(f.Tensor), "none, begins at random")}
	})
	if len(i.Unused) > 0 {
		fmt.Fprintf(w, "\nnot used: %s\n", shell.Plain(strings.Join(i.Unused, ", ")))
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
