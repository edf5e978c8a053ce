package main

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/features"

	"github.com/spf13/cobra"
)

// featuresPreset is the preset that `train features show` takes where none is named.
const featuresPreset = "cifar-best"

func featuresCommand(a *shell.App) *cobra.Command {
	return group(&cobra.Command{
		Use:     "features",
		Short:   "Look at the drawn pictures that public features are learnt from",
		Example: "  train features show cifar-best --out drawn.png",
	}, featuresShowCommand(a))
}

func featuresShowCommand(a *shell.App) *cobra.Command {
	var out string
	var set []string
	pictures := 64
	c := &cobra.Command{
		Use:   "show [CONFIG|PRESET]",
		Short: "Draw a sheet of these pictures",
		Example: `  train features show cifar-best --out drawn.png
  train features show fashion-best --set features.seed=7`,
		Args: shell.Args(0, 1, oneConfig),
		RunE: func(c *cobra.Command, args []string) error {
			name := shell.First(args, featuresPreset)
			config, err := configs.Load(name, set)
			if err != nil {
				return shell.AsUsage(err)
			}
			if !config.Features.Any() {
				return shell.Usagef("%s has no features, expected features.name %s", name, strings.Join(slices.Delete(features.Transforms().Names(), 0, 1), " or "))
			}
			if format := strings.ToLower(filepath.Ext(out)); format != ".png" {
				return shell.Usagef("found --out %s, expected a file that ends in .png", out)
			}
			if pictures < 1 || pictures > 1024 {
				return shell.Usagef("--pictures is %d, expected a number from 1 to 1024", pictures)
			}
			shown, err := config.Features.Draw(config.Data.Shape(), pictures, nil)
			if err != nil {
				return err
			}
			var encoded bytes.Buffer
			if err = png.Encode(&encoded, shown.Sheet(pictures)); err == nil {
				err = checkpoints.WriteFileAtomic(out, encoded.Bytes(), 0o644)
			}
			return a.Print(map[string]any{"file": out, "drawn": config.Features.Drawn, "seed": config.Features.Seed, "version": features.DrawnVersion}, err, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %d of the %s that seed %d draws, version %d of the rules; nobody's pictures\n", out, pictures, config.Features.Drawn, config.Features.Seed, features.DrawnVersion)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "drawn.png", "the PNG file to write")
	c.Flags().IntVar(&pictures, "pictures", pictures, "how many")
	setFlag(c, &set)
	return c
}

// computed returns a function that shows how many of all pictures have been read.
func computed(a *shell.App) func(done, total int) {
	d := a.Display()
	return func(done, total int) {
		d.Step(done, total, false, fmt.Sprintf("read %s of %s pictures", shell.Count(done), shell.Count(total)))
	}
}
