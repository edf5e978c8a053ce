package stats

import (
	"os"

	"dpsgd/configs"
)

// folderEpsilon is the budget of statistics of a folder if nobody says which.
const folderEpsilon = 1

// Read reads what a person names: a file of statistics, a configuration of a run, a preset of
// either, or a folder with data. bounds maps columns to their bounds, for statistics that nobody
// has written down.
func Read(name string, overrides []string, bounds map[string]configs.Bounds) (*configs.StatisticsFile, error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return configs.LoadStatistics(name, overrides, bounds)
	}
	made, err := configs.MakeDraft(configs.Answers{Data: name, Epsilon: folderEpsilon})
	if err != nil {
		return nil, err
	}
	c, err := configs.Parse("the configuration of "+name, made.Text, overrides)
	if err != nil {
		return nil, err
	}
	return configs.DefaultStatistics(c, bounds)
}
