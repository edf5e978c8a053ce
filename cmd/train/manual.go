package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
			return a.Print(map[string][]string{"pages": files}, err, func(w io.Writer) {
				fmt.Fprintf(w, "%s pages in %s; read one by `man -l %s`\n", shell.Count(len(files)), args[0], files[0])
			})
		},
	}
}

// examplesCommand returns `train examples`, which prints the examples in the helps of the commands.
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
			return a.Print(map[string][]item{"examples": list}, nil, func(w io.Writer) {
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

// writeManual writes a page for c and for each command below it that is not hidden into the folder
// dir, which it makes, and returns the paths of the files.
func writeManual(c *cobra.Command, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("manual: %w", err)
	}
	var files []string
	var walk func(*cobra.Command) error
	walk = func(c *cobra.Command) error {
		if c.Hidden {
			return nil
		}
		c.InitDefaultHelpFlag()
		file := filepath.Join(dir, name(c)+".1")
		if err := os.WriteFile(file, []byte(page(c)), 0o644); err != nil {
			return fmt.Errorf("manual: %w", err)
		}
		files = append(files, file)
		for _, sub := range c.Commands() {
			if err := walk(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return files, walk(c)
}

// name returns the name of a command's page, such as train-ledger-show.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page returns the page of one command, in the macros of man(7). It has no date, so that a program
// always writes the same pages.
func page(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"\" \"%s\"\n", strings.ToUpper(name(c)), c.Root().Name()+" manual")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", manualEscape(name(c)), manualEscape(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", manualEscape(c.UseLine()))
	if c.Long != "" {
		b.WriteString(".SH DESCRIPTION\n")
		paragraphs(&b, c.Long)
	}
	if c.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		verbatim(&b, shell.Examples(c))
	}
	if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		verbatim(&b, strings.TrimRight(flags.FlagUsagesWrapped(72), "\n"))
	}
	if flags := c.InheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString(".SH GLOBAL OPTIONS\n")
		verbatim(&b, strings.TrimRight(flags.FlagUsagesWrapped(72), "\n"))
	}
	var also []string
	if c.HasParent() {
		also = append(also, name(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			also = append(also, name(sub))
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", manualEscape(strings.Join(also, " (1),\n.BR ")))
	}
	return b.String()
}

// paragraphs writes text in paragraphs; lines that begin with a space are kept as lines.
func paragraphs(b *strings.Builder, text string) {
	for _, p := range strings.Split(text, "\n\n") {
		first, rest, listed := strings.Cut(p, "\n ")
		switch {
		case strings.HasPrefix(p, " "):
			verbatim(b, shell.Flow(p))
		case listed:
			fmt.Fprintf(b, ".PP\n%s\n", manualEscape(first))
			verbatim(b, shell.Flow(" "+rest))
		default:
			fmt.Fprintf(b, ".PP\n%s\n", manualEscape(p))
		}
	}
}

// verbatim writes lines without joining or breaking them.
func verbatim(b *strings.Builder, text string) {
	fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", manualEscape(text))
}

// manualEscape returns text that groff(7) prints as it is. Groff takes a line that begins with a
// dot or an apostrophe for a request, and - for a hyphen. Lines that begin with .BR stay requests.
func manualEscape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") && !strings.HasPrefix(line, ".BR ") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
