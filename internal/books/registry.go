package books

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
)

// ErrOtherPlan: a run's configuration or data differ from what its plan or registration says.
var ErrOtherPlan = errors.New("train: the checkpoint belongs to another plan")

// OpenDatasets opens the shared ledger of a folder of runs for writing. It creates the ledger where
// there are no runs yet, or runs of the first version alone. It registers runs that the ledger does
// not know, with what they have released.
func OpenDatasets(dir string) (*checkpoints.Datasets, error) {
	found, err := foldersBelow(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, folder.Datasets)
	d, err := checkpoints.OpenDatasets(path)
	if absent(err) {
		d, err = found.create(dir, path)
	}
	if err != nil {
		return nil, err
	}
	if err := found.adopt(dir, d); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// ReadDatasets reads the ledgers of a folder of runs, the shared one and those apart. It refuses
// what OpenDatasets refuses. There is no shared one yet where OpenDatasets would create it.
func ReadDatasets(dir string) (Known, error) {
	found, err := foldersBelow(dir)
	if err != nil {
		return Known{}, err
	}
	known, err := readKnown(dir)
	if err != nil {
		return known, err
	}
	known.addOwn(found.runs)
	return known, found.refuseRegistered(dir, known.ID)
}

// absent reports whether err says that a ledger is missing, or was never completely created.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkpoints.ErrUnfinished)
}

// create creates the shared ledger of dir at path, unless a run there is registered in a lost one.
func (f folders) create(dir, path string) (*checkpoints.Datasets, error) {
	refusal := f.refuseRegistered(dir, "")
	if refusal == nil {
		return checkpoints.CreateDatasets(path)
	}
	// Another process may have begun the ledger, and its first run, in the meantime.
	if d, err := checkpoints.OpenDatasets(path); err == nil {
		return d, nil
	}
	return nil, refusal
}

// folders are the runs and sweeps of a folder.
type folders struct {
	runs   []string // also the trials of the sweeps
	sweeps []string
	apart  []string // the files of the ledgers apart
}

// foldersBelow lists the runs and sweeps in dir, by the files that their folders hold.
func foldersBelow(dir string) (folders, error) {
	var f folders
	below, err := subfolders(dir)
	if err != nil {
		return f, err
	}
	if f.apart, err = apartLedgers(dir); err != nil {
		return f, err
	}
	for _, d := range below {
		switch {
		case folder.HoldsAny(d, folder.Sweep, folder.Rows, folder.SweepLock):
			f.sweeps = append(f.sweeps, d)
			trials, err := subfolders(d)
			if err != nil {
				return f, err
			}
			f.runs = append(f.runs, trials...)
		case folder.HoldsAny(d, folder.Ledger, folder.Config, folder.Checkpoints, folder.StatementData, folder.Model):
			f.runs = append(f.runs, d)
		}
	}
	return f, nil
}

func subfolders(dir string) ([]string, error) {
	entries, err := disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Name() == folder.Features && !folder.HoldsAny(path, folder.Ledger, folder.Config, folder.Checkpoints) {
			continue
		}
		if info, err := disk.Stat(path); err == nil && info.IsDir() {
			found = append(found, path)
		}
	}
	return found, nil
}

// refuseRegistered refuses a folder with runs or sweeps that are registered in another ledger than
// the one with this identifier.
func (f folders) refuseRegistered(dir, id string) error {
	refuse := func(path, named string) error {
		found := "no " + folder.Datasets
		if id != "" {
			found = folder.Datasets + " with the identifier " + id
		}
		return fmt.Errorf("train: %s: found %s, expected the one with the identifier %s, in which %s is registered; put it back from a copy, or work in another --runs-dir: %w",
			dir, found, named, path, checkpoints.ErrRollback)
	}
	for _, sweep := range f.sweeps {
		// What cannot be read is told about by whoever needs it, here and below.
		if record, err := ReadSweep(sweep); err == nil && record.Datasets != "" && record.Datasets != id {
			return refuse(sweep, record.Datasets)
		}
	}
	for _, own := range f.apart {
		if info, err := checkpoints.ReadDatasets(own); err == nil && info.ID != id {
			return refuse(own, info.ID)
		}
	}
	for _, run := range f.runs {
		if info, err := checkpoints.ReadHeader(filepath.Join(run, folder.Ledger)); err == nil && info.Datasets != "" && info.Datasets != id {
			return refuse(run, info.Datasets)
		}
	}
	return nil
}

// SweepRecord holds the trials of sweep.json and the ledger that they register in.
type SweepRecord struct {
	Trials   []struct{ Name string } // folders in that of the sweep
	Datasets string                  // identifier of the ledger
}

// ReadSweep reads sweep.json. It returns no trials if there is no such file.
func ReadSweep(dir string) (r SweepRecord, err error) {
	path := filepath.Join(dir, folder.Sweep)
	content, err := folder.Content(path)
	if err != nil || content == nil {
		return r, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("train: %s: found no list of trials (%w), expected what a sweep wrote: %w", path, err, checkpoints.ErrCorrupt)
	}
	for _, t := range r.Trials {
		if !filepath.IsLocal(t.Name) || strings.ContainsAny(t.Name, `/\`) {
			return SweepRecord{}, fmt.Errorf("train: %s: found the trial %q, expected the name of a folder: %w", path, t.Name, checkpoints.ErrCorrupt)
		}
	}
	return r, nil
}

// claims returns what the ledgers say about a run; nothing if they do not know it.
func (k Known) claims(run string) []checkpoints.Claim {
	m, ok := k.Member(run)
	if !ok {
		return nil
	}
	return []checkpoints.Claim{m.Claim(k.Where(run))}
}

// refuseOtherPlan makes sure that a run still has the δ, the accountant, the unit of privacy and
// the limit that it was registered with: at a larger δ, or by another accountant, the same releases
// have a smaller ε, and what labels cost says nothing about examples. It accepts a run that is not
// registered, or whose configuration is gone.
func (k Known) refuseOtherPlan(dir, run string) error {
	m, ok := k.Member(run)
	if !ok || !folder.HoldsAny(dir, folder.Config) {
		return nil
	}
	c, err := folder.ReadConfig(dir)
	if err == nil {
		err = k.refuseLostLimit(dir, c, m.Data.Subject())
	}
	config, where := filepath.Join(dir, folder.Config), k.Where(run)
	switch {
	case err != nil:
		return err
	case c.Privacy.Delta != m.Delta:
		return fmt.Errorf("%w: found privacy.delta %g in %s, expected the %g with which the run is registered in %s", ErrOtherPlan, c.Privacy.Delta, config, m.Delta, where)
	case c.Privacy.Accountant != m.Accountant:
		return fmt.Errorf("%w: found privacy.accountant %s in %s, expected %s, with which the run is registered in %s", ErrOtherPlan, c.Privacy.Accountant, config, m.Accountant, where)
	case ofOtherUnit(c, m.Data):
		return fmt.Errorf("%w: found another unit of privacy in %s than in %s, which has the run for %q, expected the same", ErrOtherPlan, config, where, m.Data.Name)
	}
	return nil
}

// refuseEdited makes sure that the configuration of a run is the one that its plan was made of:
// what a run reports is fixed when it begins. The plan may be that of before its last extension.
// Runs of the first version, and statistics, keep no plan.
func refuseEdited(dir string) error {
	plan, err := disk.ReadFile(filepath.Join(dir, folder.Plan))
	if errors.Is(err, fs.ErrNotExist) || !folder.HoldsAny(dir, folder.Config) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	list, err := folder.ReadExtensions(dir)
	if err != nil {
		return err
	}
	var found []byte
	for n := range len(list) + 1 {
		c, err := folder.ReadConfigOf(dir, list[:n])
		if err != nil {
			return err
		}
		if found = c.Identity(); bytes.Contains(plan, found) {
			return nil
		}
	}
	differences := folder.Differences(string(plan), string(found))
	if bytes.Contains(plan, []byte("\nextension_1 ")) { // of a run whose list of extensions is gone: its ledger has what they cost
		differences = slices.DeleteFunc(differences, func(d string) bool {
			return strings.HasPrefix(d, "training.steps ") || strings.HasPrefix(d, "privacy.epsilon ")
		})
	}
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s was made with %s; expected %s as it was", ErrOtherPlan, filepath.Join(dir, folder.Plan),
		strings.Join(differences, ", "), filepath.Join(dir, folder.Config))
}

// ofOtherUnit reports whether a run is registered with another unit of privacy than c has. If no
// unit is registered, it compares the registered name of the data with the one that c gives, as in
// "persons of mnist". A name that is not of c's data says nothing of the unit: it reports false.
func ofOtherUnit(c *configs.Config, registered checkpoints.Data) bool {
	unit := unitOf(c)
	if registered.Unit.Known() {
		return registered.Unit != unit
	}
	name, own := registered.Name, setup.Declared(c).Name
	return name != unit.Of(own) && (name == own || strings.HasSuffix(name, " of "+own))
}

// registryOf returns the ledgers of the data of the run in dir, from the folder above it or its
// sweep: the shared one knows the run or has the identifier that the run's own ledger names, so it
// is found too where sweep.json is lost. Known is empty if none is found.
func registryOf(dir string, run checkpoints.JournalInfo) (Known, error) {
	around := folder.Around(dir)
	for _, d := range []string{around, filepath.Join(dir, ".."), filepath.Join(dir, "..", "..")} {
		k, err := readKnown(d)
		if err != nil {
			return k, err
		}
		if _, known := k.Member(run.Run); k.ID != "" && (known || k.ID == run.Datasets) {
			return k, nil
		}
	}
	none := Known{dir: around}
	if run.Datasets != "" {
		none.missing = fmt.Errorf("train: %s: found no %s with the identifier %s, expected the ledger in which %s is registered; put it back from a copy: %w",
			around, folder.Datasets, run.Datasets, dir, checkpoints.ErrRollback)
	}
	return none, nil
}
