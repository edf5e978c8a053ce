package main

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/features"
	drawing "dpsgd/features/drawn"
	"dpsgd/internal/setup"

	"github.com/spf13/cobra"
)

// featuresPreset is what is shown when nothing is asked for.
const featuresPreset = "cifar-best"

func (a *app) featuresCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "features",
		Short:   "Look at what public features are learnt from: pictures that the program draws",
		Example: "  train features show cifar-best --out drawn.png",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.featuresShowCommand())
	return c
}

func (a *app) featuresShowCommand() *cobra.Command {
	var out string
	var set []string
	pictures := 64
	c := &cobra.Command{
		Use:   "show [CONFIG|PRESET]",
		Short: "Draw a sheet of the pictures that the features of a configuration are learnt from (default: the preset " + featuresPreset + ")",
		Example: `  train features show cifar-best --out drawn.png
  train features show fashion-best --set features.seed=7`,
		Args: args(0, 1, "at most one: a configuration file or the name of a preset"),
		RunE: func(c *cobra.Command, args []string) error {
			name := featuresPreset
			if len(args) > 0 {
				name = args[0]
			}
			config, err := configs.Load(name, set)
			if err != nil {
				return asUsage(err)
			}
			if !config.Features.Any() {
				return usagef("%s has no features, expected features.name %s", name, strings.Join(slices.Delete(features.Transforms().Names(), 0, 1), " or "))
			}
			if pictures < 1 || pictures > 1024 {
				return usagef("--pictures is %d, expected a number from 1 to 1024", pictures)
			}
			about, err := setup.Declared(config, 1)
			if err != nil {
				return err
			}
			shown, err := config.Features.Draw(about.Shape, pictures, nil)
			if err != nil {
				return err
			}
			var encoded bytes.Buffer
			if err := png.Encode(&encoded, shown.Sheet(pictures)); err != nil {
				return err
			}
			if err := checkpoints.WriteFileAtomic(out, encoded.Bytes(), 0o644); err != nil {
				return err
			}
			return a.print(map[string]any{"file": out, "drawn": config.Features.Drawn, "seed": config.Features.Seed, "version": drawing.Version}, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %d of the %s that seed %d draws, version %d of the rules; nobody's pictures\n", out, pictures, config.Features.Drawn, config.Features.Seed, drawing.Version)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "drawn.png", "the PNG file to write")
	c.Flags().IntVar(&pictures, "pictures", pictures, "how many")
	setFlag(c, &set)
	return c
}

// computed shows how the features of a data set are computed, which takes a while once.
func (a *app) computed() func(done, total int) {
	d := a.display()
	return func(done, total int) {
		switch text := fmt.Sprintf("features of %s of %s pictures", count(done), count(total)); {
		case !d.bars:
			if d.due() || done == total {
				fmt.Fprintln(d.w, text)
			}
		default:
			if d.bar == nil {
				d.bar = newBar(d.w, int64(total), barWidth)
			}
			d.showText(int64(done), text)
			if done == total {
				fmt.Fprintln(d.w)
			}
		}
	}
}
