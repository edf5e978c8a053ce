package questions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// PlotFormats are the endings of the files that WritePlot knows.
func PlotFormats() []string { return []string{".svg", ".png"} }

// WritePlot draws ε over steps into a file, as its ending says: .svg or .png. A file in its place is replaced.
func (c *Comparison) WritePlot(path string) error {
	var picture []byte
	var err error
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg":
		picture = c.chart().svg()
	case ".png":
		picture, err = c.chart().png()
	default:
		err = fmt.Errorf("train: found the plot %s, expected a file that ends in %s", path, strings.Join(PlotFormats(), " or "))
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		return fmt.Errorf("train: cannot write the plot: %w", err)
	}
	return nil
}
