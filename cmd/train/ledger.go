package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/books"

	"github.com/spf13/cobra"
)

func ledgerCommand(a *shell.App) *cobra.Command {
	return group(&cobra.Command{
		Use:   "ledger",
		Short: "Say what all runs on a data set cost, and check their ledgers",
		Long: `Say what all runs on one data set cost together, and check their ledgers.

Every run and every trial of a sweep records its releases twice: in its own ledger.jsonl, and in datasets.jsonl,
which lies beside the folders of the runs and sums over all of them. A run whose folder is gone still counts.`,
		Example: `  train ledger show
  train ledger limit digits --epsilon 8 --delta 1e-5
  train ledger verify`,
	}, ledgerShowCommand(a), ledgerLimitCommand(a), ledgerVerifyCommand(a), ledgerHeadCommand(a), ledgerKeyCommand(a))
}

func ledgerHeadCommand(a *shell.App) *cobra.Command {
	var runsDir, key string
	c := &cobra.Command{
		Use:   "head",
		Short: "Print the state of the ledger, to keep elsewhere",
		Long: `Print the head of datasets.jsonl: four lines with its identifier, its number of lines, and the hash that stands for all
of them. With --key they are signed, as a note of golang.org/x/mod/sumdb/note. Keep them where whoever may write the
folder of runs may not: "train ledger verify --witness" then finds a ledger that was put back, cut off or replaced.`,
		Example: `  train ledger head --key witness.key > head.note`,
		Args:    shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			head, err := books.ReadHead(runsDir)
			if err != nil {
				return err
			}
			text := head.String()
			if c.Flags().Changed("key") {
				if text, err = head.Sign(key); err != nil {
					return err
				}
			}
			result := struct {
				books.Head
				Note string `json:"note"`
			}{head, text}
			return a.Print(result, nil, func(w io.Writer) { io.WriteString(w, text) })
		},
	}
	ledgerDirFlag(c, &runsDir)
	c.Flags().StringVar(&key, "key", "", "the file with the key that signs the head: see train ledger key")
	return c
}

func ledgerKeyCommand(a *shell.App) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key that signs heads of ledgers",
		Long: `Make a key that signs heads of ledgers, in a new file for its owner alone, and print the key that verifies its
signatures, which is no secret.`,
		Example: `  train ledger key witness.key`,
		Args:    shell.Args(1, 1, "one: a new file, such as witness.key"),
		RunE: func(_ *cobra.Command, args []string) error {
			verifier, err := books.NewKey(args[0], name)
			return a.Print(map[string]string{"key": args[0], "witness_key": verifier}, err, func(w io.Writer) { fmt.Fprintln(w, verifier) })
		},
	}
	c.Flags().StringVar(&name, "name", "witness", "whose key it is, as notes say it")
	return c
}

func ledgerShowCommand(a *shell.App) *cobra.Command {
	var runsDir string
	c := &cobra.Command{
		Use:   "show",
		Short: "Print ε of everything that was released on each data set",
		Long: `Print ε of everything that was released on each data set, at the least δ of its runs, and each run alone.

The last line is the head of the ledger: keep a copy elsewhere, and "train ledger verify --head" shows whether the
whole folder was put back to an older copy.`,
		Example: `  train ledger show
  train ledger show --runs-dir runs --json`,
		Args: shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			return shell.Show(a, printTotals)(books.Show(runsDir))
		},
	}
	ledgerDirFlag(c, &runsDir)
	return c
}

// printTotals writes what each data set has spent, and the head of the ledger.
func printTotals(w io.Writer, totals books.Totals) {
	printDatasetTotals(w, totals.Datasets)
	if len(totals.NotPrivate) > 0 {
		shell.Prosef(w, "NOT PRIVATE, and in no total: %s; if one of them is published, no total holds for its data", strings.Join(totals.NotPrivate, ", "))
	}
	for _, limit := range totals.Limits {
		shell.Prosef(w, "%s", limit)
	}
	if totals.Head == "" {
		shell.Prosef(w, "there is no %s yet; the next run makes it", totals.Ledger)
	} else {
		fmt.Fprintf(w, "head of %s: %s\n", totals.Ledger, totals.Head)
	}
	printBeside(w, totals.Uncollected, totals.Gone)
}

// printBeside writes how many runs, the uncollected ones, the head of a ledger does not cover, and
// the names of the gone ones: runs that count although their folder is gone.
func printBeside(w io.Writer, uncollected, gone []string) {
	if len(uncollected) > 0 {
		shell.Prosef(w, "not in the head: %s runs, until `train sweep FILE --collect`", shell.Count(len(uncollected)))
	}
	if len(gone) > 0 {
		shell.Prosef(w, "WARNING: deleted or moved away: %s; what was released there counts", strings.Join(gone, ", "))
	}
}

func ledgerLimitCommand(a *shell.App) *cobra.Command {
	var runsDir string
	var limit checkpoints.Limit
	c := &cobra.Command{
		Use:   "limit DATA",
		Short: "Set what all runs on a data set may ever cost together",
		Long: `Set what everything that is ever released on a data set may cost together, before the first release.

From then on every command that releases something on it asks first: what it plans is reserved, and what would pass
the limit is refused. The first plan fits if its own ε is at most the limit. Whoever looks at results and chooses what to
do next pays nothing more for that than such a later plan costs here, which is about a quarter above its own ε; and any
total over these runs may quote the limit.

DATA is the name that "train ledger show" prints: digits, the last part of the path of a folder, or "persons of faces",
"persons by COLUMN of visits" for a table, and so on where something else than examples is protected, which have limits of
their own. Labels have none: runs that protect them alone are refused where there is a limit. A limit can be made smaller,
not larger. Without --epsilon the limit is shown. data.limit of a configuration does the same.`,
		Example: `  train ledger limit digits --epsilon 8 --delta 1e-5
  train ledger limit digits`,
		Args: shell.Args(1, 1, "one: the name of a data set, such as digits"),
		RunE: func(c *cobra.Command, args []string) error {
			limit.Data = args[0]
			set, delta := c.Flags().Changed("epsilon"), c.Flags().Changed("delta")
			if set != delta {
				return shell.Usagef("found one of --epsilon and --delta, expected both, or neither to show the limit")
			}
			print := shell.Show(a, func(w io.Writer, state books.LimitState) { fmt.Fprintln(w, state) })
			if set {
				return print(books.SetLimit(runsDir, limit))
			}
			return print(books.ShowLimit(runsDir, limit.Data))
		},
	}
	ledgerDirFlag(c, &runsDir)
	c.Flags().Float64Var(&limit.Epsilon, "epsilon", 0, "ε of everything together, at most")
	c.Flags().Float64Var(&limit.Delta, "delta", 0, "the δ of that ε")
	return c
}

func ledgerVerifyCommand(a *shell.App) *cobra.Command {
	var runsDir, head, witness, witnessKey string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check the ledgers of all runs and sweeps",
		Long: `Check the ledger of every run and trial against its checkpoints, its statement, the table of its sweep, and
datasets.jsonl. Each problem is one line; the exit code is 5 if a ledger was rolled back or lost, and 4 if all that
is wrong is damage. With --witness, the ledger has to begin with what a signed head says: see train ledger head.`,
		Example: `  train ledger verify
  train ledger verify --witness head.note --witness-key "$(cat witness.pub)"
  train ledger verify --runs-dir runs --head 5f0c9a7e3b1d48f2a6c4e8d07b9135ac`,
		Args: shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("head") {
				if digits, err := hex.DecodeString(head); err != nil || len(digits) != 16 {
					return shell.Usagef("found --head %q, expected the 32 hexadecimal digits that `train ledger show` prints", head)
				}
			}
			if c.Flags().Changed("witness") != c.Flags().Changed("witness-key") {
				return shell.Usagef("found one of --witness and --witness-key, expected both or neither")
			}
			var seen []books.Head
			if c.Flags().Changed("witness") {
				h, err := books.OpenWitness(witness, witnessKey)
				if err != nil {
					return err
				}
				seen = append(seen, h)
			}
			check, err := books.Verify(runsDir, head, seen...)
			if err != nil {
				if check.Problems != nil {
					a.PrintJSON(check) // the problems are an answer, too
				}
				return err
			}
			return a.Print(check, nil, func(w io.Writer) {
				fmt.Fprintf(w, "%s runs and %s sweeps agree with %s, %s releases; head %s\n",
					shell.Count(check.Runs), shell.Count(check.Sweeps), check.Ledger, shell.Count(check.Releases), check.Head)
				printBeside(w, check.Uncollected, check.Gone)
			})
		},
	}
	ledgerDirFlag(c, &runsDir)
	c.Flags().StringVar(&witness, "witness", "", "file with a head that train ledger head --key has signed")
	c.Flags().StringVar(&witnessKey, "witness-key", "", "the key that verifies its signature, as train ledger key printed it")
	c.Flags().StringVar(&head, "head", "", "hash that a line of the ledger must have: a head that was shown before")
	return c
}

func ledgerDirFlag(c *cobra.Command, dir *string) {
	shell.FolderFlag(c, dir, "runs-dir", "runs", "folder with the runs and sweeps")
}
