package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"

	"github.com/spf13/cobra"
)

// draftFile is the file that `train init` writes where none is named.
const draftFile = "my.yaml"

func initCommand(a *shell.App) *cobra.Command {
	var set string
	var epsilon float64
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented configuration for your data and your budget",
		Long: `Write a commented configuration to start from: for a data set with a name, or for a folder with pictures or
texts in train/CLASS/ and test/CLASS/, with a table or texts in train.csv and test.csv, with texts in train.jsonl, with
vectors in train.npy, or with either in train.parquet. Of a table it reads names: text=FOLDER says that it holds texts. On a terminal it asks for
what the flags do not say. A file that is there is never overwritten.`,
		Example: `  train init
  train init my.yaml --data digits --epsilon 2
  train init --data pictures --epsilon 3`,
		Args: shell.Args(0, 1, "at most one: the file to be written"),
		RunE: func(c *cobra.Command, args []string) error {
			file := shell.First(args, draftFile)
			if _, err := os.Lstat(file); err == nil {
				return presetTaken(file)
			}
			if err := answer(a, c, &set, &epsilon); err != nil {
				return err
			}
			d, err := configs.MakeDraft(set, epsilon)
			if err != nil {
				return shell.AsUsage(err)
			}
			return a.Print(map[string]any{"file": file, "preset": d.Preset, "open": d.Open}, writeNew(file, d.Text), func(w io.Writer) {
				fmt.Fprintf(w, "%s is written, from the preset %s\n", file, d.Preset)
				if d.Open > 0 {
					fmt.Fprintf(w, "change the lines that are marked with %s (%d)\n", configs.DraftMark, d.Open)
				}
				fmt.Fprintf(w, "see what it would do: train describe %s\ntrain:                train run %s\n", folder.Argument(file), folder.Argument(file))
			})
		},
	}
	c.Flags().StringVar(&set, "data", "", "a data set ("+strings.Join(data.Names(), ", ")+") or a folder of your own")
	c.Flags().Float64Var(&epsilon, "epsilon", 0, "the privacy budget; 1 to 8 is common, smaller protects more")
	return c
}

// answer asks on a terminal for the data set and the ε, each unless its flag has given it, and
// stores them in set and epsilon. Where there is no terminal it returns an error.
func answer(a *shell.App, c *cobra.Command, set *string, epsilon *float64) error {
	in := bufio.NewReader(c.InOrStdin())
	ask := func(flag, question, otherwise string) (string, error) {
		if !shell.Terminal(c.InOrStdin()) {
			return "", shell.Usagef("found no --%s, expected one where there is no terminal to ask", flag)
		}
		fmt.Fprintf(a.Err, "%s [%s]: ", question, otherwise)
		line, err := in.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("cannot read the answer: %w", err)
		}
		return cmp.Or(strings.TrimSpace(line), otherwise), nil
	}
	var err error
	if !c.Flags().Changed("data") {
		*set, err = ask("data", "Data: "+strings.Join(data.Names(), ", ")+", or a folder of your own", "digits")
	}
	if err != nil || c.Flags().Changed("epsilon") {
		return err
	}
	text, err := ask("epsilon", "Privacy budget ε; 1 to 8 is common, smaller protects more", "3")
	if err != nil {
		return err
	}
	if *epsilon, err = strconv.ParseFloat(text, 64); err != nil {
		return shell.Usagef("found epsilon %q, expected a number such as 0.5 or 3", text)
	}
	return nil
}

// writeNew writes content to a new file, whole or not at all. It refuses a name that is taken.
func writeNew(file string, content []byte) error {
	if _, err := os.Lstat(file); err == nil {
		return presetTaken(file)
	}
	if err := checkpoints.WriteFileAtomic(file, content, 0o644); err != nil {
		return fmt.Errorf("cannot write the configuration: %w", err)
	}
	return nil
}

func presetTaken(file string) error {
	return shell.Usagef("found %s, expected a name that is free: nothing is overwritten", file)
}
