package folder

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"dpsgd/checkpoints"
)

// Extended is the file that says how a run was extended; its configuration stays as it was given.
const Extended = "extended.json"

// Extension is a change of a run's plan to more steps. All of it is public. "When" is a number of
// steps: no file holds a time.
type Extension struct {
	Step    int    `json:"step"`           // updates in the model by then
	Entries int    `json:"ledger_entries"` // in the ledger by then
	Head    string `json:"ledger_head"`
	Choices int    `json:"choices"` // entries of the ledger that pay for the choice, in all
	From    Terms  `json:"from"`
	To      Terms  `json:"to"`
	Plan    string `json:"plan"` // hash of the plan before
}

// Terms of a plan, which an extension changes.
type Terms struct {
	Steps   int     `json:"steps"`             // that the budget allows of those planned
	Epsilon float64 `json:"epsilon,omitempty"` // the budget; 0 for none
}

// ReadExtensions reads how a run was extended, the first extension first; none for most runs.
func ReadExtensions(dir string) ([]Extension, error) {
	path := filepath.Join(dir, Extended)
	content, err := Content(path)
	if err != nil || content == nil {
		return nil, err
	}
	var list []Extension
	if err := json.Unmarshal(content, &list); err != nil || len(list) == 0 || slices.ContainsFunc(list, Extension.invalid) {
		return nil, fmt.Errorf("train: %s: found no list of extensions, expected what `train extend` wrote: %w", path, checkpoints.ErrCorrupt)
	}
	return list, nil
}

// invalid reports whether no run can have written e: an extension before the first step, to no more
// steps, or one that nothing in the ledger pays for.
func (e Extension) invalid() bool {
	return e.Step < 1 || e.Choices < 1 || e.From.Steps < 1 || e.To.Steps <= e.From.Steps
}

// WriteExtensions writes list, all extensions of a run, into its folder dir.
func WriteExtensions(dir string, list []Extension) error {
	content, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return checkpoints.WriteFileAtomic(filepath.Join(dir, Extended), append(content, '\n'), FilePerm)
}

// overrides returns what the newest extension sets in the configuration, each as "key=value".
func overrides(list []Extension) []string {
	if len(list) == 0 {
		return nil
	}
	to := list[len(list)-1].To
	changed := []string{fmt.Sprintf("training.steps=%d", to.Steps)}
	if to.Epsilon > 0 {
		changed = append(changed, fmt.Sprintf("privacy.epsilon=%v", to.Epsilon))
	}
	return changed
}
