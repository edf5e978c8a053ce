package main

import (
	"fmt"
	"io"
	"strings"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func describeCommand(a *shell.App) *cobra.Command {
	var set []string
	var examples int
	c := &cobra.Command{
		Use:   "describe [CONFIG|PRESET]",
		Short: "Say what a run would do; of your own data, examples are counted",
		Example: `  train describe
  train describe mnist-cnn --set privacy.epsilon=1
  train describe own-pictures --examples 4500`,
		Args: shell.Args(0, 1, oneConfig),
		RunE: func(c *cobra.Command, args []string) error {
			name, config, err := plannedConfig(c, args, set, examples)
			if err != nil {
				return err
			}
			d, err := train.Describe(config, examples)
			return shell.Show(a, printDescription)(d, configs.Placed(err, name, set))
		},
	}
	setFlag(c, &set)
	examplesFlag(c, &examples)
	return c
}

// examplesFlag adds --examples to a command that plans a run without reading its data.
func examplesFlag(c *cobra.Command, examples *int) {
	c.Flags().IntVar(examples, "examples", 0, "number of training examples, or of persons, instead of that of the data set or of counting files")
}

// plannedConfig returns the configuration that a command with --examples is about, and its name.
func plannedConfig(c *cobra.Command, args, set []string, examples int) (name string, config *configs.Config, err error) {
	if c.Flags().Changed("examples") && examples < 1 {
		return "", nil, shell.Usagef("found --examples %d, expected at least 1", examples)
	}
	name = shell.First(args, configs.DefaultPreset)
	config, err = configs.Load(name, set)
	return name, config, shell.AsUsage(err)
}

// ofClasses says how many classes there are; what has one predicts a number.
func ofClasses(n int) string {
	if n == 1 {
		return ""
	}
	return ", " + shell.Count(n) + " classes"
}

// printDescription writes what a run would do, for people.
func printDescription(w io.Writer, d *train.Description) {
	shell.Prosef(w, "data      %s: %s training examples of %v%s", d.Data.Name, shell.Count(d.Data.Examples), d.Data.Shape, ofClasses(d.Data.Classes))
	if n := d.Privacy.Records; n != d.Data.Examples || strings.HasPrefix(d.Privacy.Unit, "one person") {
		shell.Prosef(w, "protects  %s, of %s", d.Privacy.Unit, shell.Count(n))
	}
	if d.Augmentation != "" {
		shell.Prosef(w, "training  %s", d.Augmentation)
	}
	fmt.Fprintln(w)
	printLayers(w, d)
	printPrivacy(w, d)
	m := d.Memory
	shell.Prosef(w, "\nmemory    about %s: graph %s, parameters %s, %s %s, program %s", setup.Bytes(m.Total()),
		setup.Bytes(m.Graph), setup.Bytes(m.Parameters), d.Data.Shape.Noun(), setup.Bytes(m.Examples), setup.Bytes(m.Program))
}

func printLayers(w io.Writer, d *train.Description) {
	engines := map[string]string{}
	for _, e := range d.Engines {
		layer := strings.TrimSuffix(e.Parameter[:strings.LastIndex(e.Parameter, ".")], ".lora_A")
		if _, seen := engines[layer]; !seen {
			engines[layer] = e.Engine.String() // that of the weight, which comes first
		}
	}
	table := [][]string{{"layer", "kind", "output", "parameters", "multiply-adds", "per-example norms"}}
	for _, l := range d.Layers {
		table = append(table, []string{l.Name, l.Kind, strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Output), " ", "x"), "[]"), shell.Count(l.Parameters), shell.Count(l.MultiplyAdds), engines[l.Name]})
	}
	table = append(table, []string{"", "total", "", shell.Count(d.Parameters + d.Frozen), shell.Count(d.MultiplyAdds), ""})
	if d.Frozen > 0 {
		table = append(table, []string{"", "of which frozen", "", shell.Count(d.Frozen), "", ""})
	}
	shell.PrintTable(w, table)
	if d.Trained != "" {
		shell.Prosef(w, "\n%s", d.Trained)
	}
}

func printPrivacy(w io.Writer, d *train.Description) {
	p := d.Privacy
	if len(d.Curve) == 0 {
		shell.Prosef(w, "\ntraining  %s steps of %g examples, without noise on gradients", shell.Count(p.PlannedSteps), p.ExpectedBatchSize)
		shell.Prosef(w, "protects  %s\nprivacy   %s", p.Unit, shell.Guarantee(p.Epsilon, p.Delta, p.Accountant, p.EpsilonRDP))
		return
	}
	how := "as configured"
	if p.Calibrated {
		how = "calibrated to the budget"
	}
	shell.Prosef(w, "\nprivacy   noise multiplier %.4f, %s; clip norm %g", p.NoiseMultiplier, how, p.ClipNorm)
	shell.Prosef(w, "clipping  %s", p.Clipping)
	if c := p.Correlation; c != nil && c.Bands == 1 {
		shell.Prosef(w, "noise     independent from step to step: with correlated noise the predicted error is no smaller")
	} else if c != nil {
		shell.Prosef(w, "noise     correlated over %d steps: predicted error %.3f of that of independent noise at the same ε; remembers %s", c.Bands, c.Error, setup.Bytes(float64(c.Bytes)))
	}
	shell.Prosef(w, "sampling  %s, probability %.4g, expected batch %g, %s steps planned", p.Sampling, p.SamplingProbability, p.ExpectedBatchSize, shell.Count(p.PlannedSteps))
	if p.Steps < p.PlannedSteps {
		shell.Prosef(w, "budget    allows %s of them", shell.Count(p.Steps))
	}
	spends := "spends    ε = " + accountant.RoundUp(p.Epsilon, 3)
	if p.TargetEpsilon > 0 {
		spends += fmt.Sprintf(" of %g", p.TargetEpsilon)
	}
	spends += fmt.Sprintf(" at δ = %g (%s, %s)", p.Delta, p.Accountant, p.Relation)
	if p.EpsilonRDP != nil {
		spends += "; by rdp it is ε = " + accountant.RoundUp(*p.EpsilonRDP, 3)
	}
	shell.Prosef(w, "%s\n", spends)
	for _, f := range p.Fallbacks {
		shell.Prosef(w, "WARNING   %s\n", f)
	}
	table := [][]string{{"steps", "ε"}}
	beside := len(d.CurveRDP) == len(d.Curve)
	if beside {
		table[0] = append(table[0], "ε (rdp)")
	}
	for i, s := range d.Curve {
		line := []string{shell.Count(s.Steps), accountant.RoundUp(s.Epsilon, 3)}
		if beside {
			line = append(line, accountant.RoundUp(d.CurveRDP[i].Epsilon, 3))
		}
		table = append(table, line)
	}
	shell.PrintTable(w, table)
}
