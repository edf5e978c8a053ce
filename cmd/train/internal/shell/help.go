package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help returns the help of a command, in lines that a terminal of 80 columns shows whole.
func Help(c *cobra.Command) string {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	b.WriteString(Flow(about) + "\n\nUsage:\n")
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
	for _, g := range groups {
		title := "\n" + g.Title + "\n"
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "%s  %-11s %s\n", title, sub.Name(), sub.Short)
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
