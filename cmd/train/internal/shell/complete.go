package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/accountant/accountants"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/speed"

	"github.com/spf13/cobra"
)

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
