package shell

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsgd/accountant/accountants"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/speed"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help returns the help of a command, in lines that a terminal of 80 columns shows whole.
func Help(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString(Flow(cmp.Or(c.Long, c.Short)) + "\n\nUsage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", Examples(c))
	}
	writeCommands(&b, c)
	writeFlags(&b, "Flags", c.LocalFlags())
	writeFlags(&b, "Global Flags", c.InheritedFlags())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s COMMAND --help\" for more about a command.\n", c.CommandPath())
	}
	return b.String()
}

// Examples returns the examples of a command. A long line is broken behind a backslash.
func Examples(c *cobra.Command) string {
	var lines []string
	for _, line := range strings.Split(c.Example, "\n") {
		lines = append(lines, continued(line)...)
	}
	return strings.Join(lines, "\n")
}

// continued breaks a command line longer than 80 columns before flags, each part but the last with
// a backslash at its end. It does not break within quotes.
func continued(line string) []string {
	at, quoted, column := 0, false, 0
	for i, r := range line {
		if column++; r == '\'' {
			quoted = !quoted
		}
		if r == ' ' && !quoted && i > 4 && column < Width-1 && strings.ContainsAny(line[i+1:i+2], "-|") {
			at = i // a flag stays with its value
		}
	}
	if column <= Width || at == 0 {
		return []string{line}
	}
	return append([]string{line[:at] + " \\"}, continued("    "+line[at+1:])...)
}

// writeCommands lists what is below a command, in its groups where it has some.
func writeCommands(b *strings.Builder, c *cobra.Command) {
	groups := c.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	wide := 11
	for _, sub := range c.Commands() {
		wide = max(wide, len(sub.Name()))
	}
	for _, g := range groups {
		title := "\n" + g.Title + "\n"
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "%s  %-*s %s\n", title, wide, sub.Name(), sub.Short)
				title = ""
			}
		}
	}
}

// slack is the number of columns by which the library for flags may exceed a width, so that a last
// word stays on its line.
const slack = 5

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(b, "\n%s:\n%s", title, flags.FlagUsagesWrapped(Width-slack))
	}
}

// Flow breaks paragraphs into lines of at most 80 columns. A line that begins with a space is kept;
// if it is too long, it is broken as Prosef does it.
func Flow(text string) string {
	var lines []string
	var paragraph []string
	end := func() {
		lines = append(lines, Wrap(strings.Join(paragraph, " "), Width)...)
		paragraph = nil
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "":
			end()
			lines = append(lines, "")
		case strings.HasPrefix(line, " "):
			end()
			lines = append(lines, hanging(line, Width)...)
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(lines, "\n")
}

// hanging breaks a line of a table or list into lines of width characters. All but the first are
// indented as far as the text behind the last double space in the line.
func hanging(line string, width int) []string {
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	at := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.LastIndex(line, "  "); gap >= at {
		at = gap + 2
	}
	column := utf8.RuneCountInString(line[:at])
	lines := filled(strings.Fields(line[at:]), width-column)
	for i := 1; i < len(lines); i++ {
		lines[i] = strings.Repeat(" ", column) + lines[i]
	}
	lines[0] = line[:at] + lines[0]
	return lines
}

// Complete makes shells complete the arguments and flags of c and of all commands below it, by the
// words in which their usage names them: runs, presets, sweeps, data sets.
func Complete(c *cobra.Command) {
	if words := strings.Fields(c.Use); len(words) > 1 && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = completion(words[1:])
	}
	for name, values := range map[string]func() []string{
		"accountant": accountants.Names, "mode": speed.Modes, "model": configs.Networks, "config": func() []string { return presetNames(configs.Presets()) }, "set": keys,
		"solve": func() []string { return []string{"noise-multiplier", "sampling-probability"} },
	} {
		if f := c.Flags().Lookup(name); f != nil && f.Value.Type() != "bool" {
			directive := cobra.ShellCompDirectiveNoFileComp
			switch name {
			case "set":
				directive |= cobra.ShellCompDirectiveNoSpace
			case "config":
				directive = cobra.ShellCompDirectiveDefault
			}
			_ = c.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return beginning(begun, values()), directive
			})
		}
	}
	for _, dir := range []string{"data-dir", "data-folder", "runs-dir"} {
		if c.Flags().Lookup(dir) != nil {
			_ = c.MarkFlagDirname(dir)
		}
	}
	for _, sub := range c.Commands() {
		Complete(sub)
	}
}

// completion returns a function that completes the arguments which a usage names in words such as
// [CONFIG|PRESET]. Files are offered too where an argument may be one.
func completion(words []string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		word, repeated := "", false
		if i := min(len(args), len(words)-1); len(args) < len(words) || several(words[i]) {
			word, repeated = words[i], several(words[i])
		}
		var found []string
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, kind := range strings.Split(strings.Trim(word, "[].…"), "|") {
			switch kind {
			case "RUN":
				found = append(found, below(begun, folder.Ledger)...)
			case "SWEEP":
				found = append(found, below(begun, folder.Sweep)...)
			case "PRESET":
				presets := configs.Presets()
				switch c.Name() {
				case "sweep":
					presets = configs.Sweeps()
				case "stats":
					presets = append(configs.Statistics(), presets...)
				}
				found = append(found, presetNames(presets)...)
			case "NAME":
				if c.Name() == "fetch" {
					found = append(found, data.Fetchable()...)
				} else {
					found = append(found, presetNames(slices.Concat(configs.Presets(), configs.Sweeps(), configs.Statistics()))...)
				}
			case "COMMAND":
				for _, sub := range c.Root().Commands() {
					found = append(found, sub.Name())
				}
			case "":
			default:
				directive = cobra.ShellCompDirectiveDefault
			}
		}
		if repeated {
			found = slices.DeleteFunc(found, func(s string) bool { return slices.Contains(args, s) })
		}
		return beginning(begun, found), directive
	}
}

// several reports whether a word of a usage stands for any number of arguments.
func several(word string) bool { return strings.Contains(word, "...") || strings.Contains(word, "…") }

// below returns the folders that hold a file called holding, as those of runs, trials or sweeps do:
// one or two levels below the folder of the path begun, or below "runs" if that names none.
func below(begun, holding string) []string {
	dir := "runs"
	if strings.ContainsRune(begun, filepath.Separator) {
		dir = filepath.Dir(begun)
	}
	var found []string
	for _, pattern := range []string{"*", "*/*"} {
		ledgers, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern), holding))
		if err != nil {
			continue // the folder has a name that is a pattern
		}
		for _, l := range ledgers {
			found = append(found, filepath.Dir(l))
		}
	}
	return found
}

func presetNames(presets []configs.Preset) []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.Name+"\t"+p.Description)
	}
	return names
}

func keys() []string {
	var list []string
	for _, k := range configs.Keys() {
		list = append(list, k.Path+"=")
	}
	return list
}

// beginning returns the texts of a list that begin with the text with.
func beginning(with string, list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, with) })
}
