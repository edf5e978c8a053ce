package shell

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/internal/chart"

	"github.com/spf13/cobra"
)

// PictureFlag adds a flag for the file of a picture to a command whose result can be drawn. Another format
// is refused before there is any work.
func PictureFlag(c *cobra.Command, file *string, name, picture string) {
	c.Flags().StringVar(file, name, "", "also draw "+picture+" into this file, .svg or .png")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed(name) && !slices.Contains(chart.Formats(), strings.ToLower(filepath.Ext(*file))) {
			return Usagef("found --%s %s, expected a file that ends in %s", name, *file, strings.Join(chart.Formats(), " or "))
		}
		return nil
	}
}

// PrintAndDraw draws a picture into a file, unless out is "", and prints the result as [App.Print].
func (a *App) PrintAndDraw(result any, picture chart.Figure, out string, text func(w io.Writer)) error {
	if out != "" {
		if err := picture.Write(out); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return a.Print(result, func(w io.Writer) {
		text(w)
		if out != "" {
			fmt.Fprintf(w, "\nin %s: the picture\n", out)
		}
	})
}
