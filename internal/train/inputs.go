package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"dpsgd/configs"
	"dpsgd/data"
)

// source is the data set that the caller has, or the configured one, read now.
func (o Options) source(c *configs.Config) (*data.Source, error) {
	if o.Source != nil {
		return o.Source, nil
	}
	return loadData(c, o.DataDir)
}

// loadData reads the configured examples.
func loadData(c *configs.Config, dir string) (*data.Source, error) {
	return data.Load(dataSpec(c, dir))
}

func dataSpec(c *configs.Config, dir string) data.Spec {
	return data.Spec{
		Name: c.Data.Name, Dir: dir, Folder: c.Data.Folder, Classes: c.Data.Classes,
		Table: c.Data.Table, Columns: c.Data.Columns, Label: c.Data.Label,
		Height: c.Data.Size.Height, Width: c.Data.Size.Width, Channels: c.Data.Channels, Seed: c.Data.Seed,
	}
}

// normalisation holds the configured constants, one for each channel or column.
func normalisation(c *configs.Config, channels int) data.Normalisation {
	mean, std := c.Data.PerChannel(channels)
	return data.Normalisation{Mean: mean, Std: std}
}

// threads is the configured number, or one for each core.
func threads(c *configs.Config) int {
	if c.Performance.Threads > 0 {
		return c.Performance.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// readConfig reads the configuration that a run wrote.
func readConfig(dir string) (*configs.Config, error) {
	path := filepath.Join(dir, configFile)
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s holds no %s, expected the folder of a run such as runs/digits-1", ErrNoRun, dir, configFile)
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return configs.Parse(path, src, nil)
}
