package books

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
)

// A run apart writes no file that another run writes: it may be on another machine, where locks do
// not reach. In place of the ledger of the data, which all runs of a folder share, it has one of
// its own, with the same identifier, in [folder.Uncollected]. So there are two files about each of
// its releases, in two folders, as there are about those of any run; and whoever asks what was
// released adds all of these ledgers up ([ReadDatasets]). [Collect] brings a run that has ended
// into the shared one.

// apartLedger returns the file of the ledger apart of a run, whose folder is at path from registry.
func apartLedger(registry, path string) string {
	return filepath.Join(registry, folder.Uncollected, filepath.FromSlash(path)+apartEnd)
}

const apartEnd = ".jsonl"

// apartLedgers lists the ledgers apart in a folder of runs, in the order of their names.
func apartLedgers(registry string) (found []string, err error) {
	files, err := disk.Files(filepath.Join(registry, folder.Uncollected))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, apartEnd) && !strings.HasPrefix(filepath.Base(path), ".") {
			found = append(found, path)
		}
	}
	return found, nil
}

// memberApart returns what dir's ledger apart says of a run; ok is false if it does not know it.
func memberApart(registry, dir, run string) (m checkpoints.Member, ok bool, err error) {
	path, err := pathFrom(registry, dir)
	if err != nil {
		return m, false, err
	}
	own, err := readLedger(apartLedger(registry, path))
	m, ok = own.Member(run)
	return m, ok, err
}

// isApart reports whether a run has a ledger apart and either is registered there or has released
// nothing yet, so that it may be about to register.
func isApart(registry, dir, run string) (bool, error) {
	path, err := pathFrom(registry, dir)
	if err != nil || !there(apartLedger(registry, path)) {
		return false, err
	}
	_, info, unread := checkpoints.ReadJournal(filepath.Join(dir, folder.Ledger)) // first: a run registers before it releases
	_, knows, err := memberApart(registry, dir, run)
	return knows || unread == nil && info.Entries == 0, err
}

func there(path string) bool {
	_, err := disk.Lstat(path)
	return err == nil
}

// EnsureDatasets creates the shared ledger of a folder of runs if there is none, and returns its
// identifier. It takes no lock: of several processes that try at once, one creates the file.
func EnsureDatasets(registry string) (id string, err error) {
	known, err := ReadDatasets(registry)
	if err != nil || known.ID != "" {
		return known.ID, err
	}
	path := filepath.Join(registry, folder.Datasets)
	if err := checkpoints.CreateFileAtomic(path, checkpoints.NewDatasets(), folder.FilePerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	known, err = ReadDatasets(registry)
	if err == nil && known.ID == "" {
		err = fmt.Errorf("train: %s: %w", path, checkpoints.ErrUnfinished) // by a process that is making it with the lock, or was killed
	}
	return known.ID, err
}

// openApart opens the ledger apart of the run at path. If there is none, it creates one that holds
// the first line of the shared ledger, which nothing ever changes.
func openApart(registry, path string) (*checkpoints.Datasets, error) {
	shared, err := disk.ReadFile(filepath.Join(registry, folder.Datasets))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	header, _, whole := bytes.Cut(shared, []byte("\n"))
	if !whole {
		return nil, fmt.Errorf("train: %s: %w", filepath.Join(registry, folder.Datasets), checkpoints.ErrUnfinished)
	}
	file := apartLedger(registry, path)
	if err := checkpoints.MakeDir(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if err := checkpoints.CreateFileAtomic(file, append(header, '\n'), folder.FilePerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return checkpoints.OpenDatasets(file)
}

// Apart makes an opened run write to a ledger apart from here on. Call it before Settle.
func (b *Books) Apart() { b.apart = true }

// open opens b.datasets: the shared ledger, or the one apart of the run that r registers.
func (b *Books) open(r checkpoints.Registration) (err error) {
	if b.apart {
		b.datasets, err = openApart(b.Registry, r.Path)
	} else {
		b.datasets, err = OpenDatasets(b.Registry)
	}
	return err
}

// known returns what all ledgers of the folder of runs say, this run's last release included.
func (b *Books) known() (Known, error) {
	if b.apart {
		return ReadDatasets(b.Registry)
	}
	complete, err := readBeside(b.Registry)
	if err != nil {
		return Known{}, err
	}
	return complete(b.datasets.Info()), nil
}

// readBeside reads what a folder of runs says beside its shared ledger. complete adds that and what
// only the runs' own ledgers know.
func readBeside(registry string) (complete func(shared checkpoints.DatasetsInfo) Known, err error) {
	found, err := foldersBelow(registry)
	if err != nil {
		return nil, err
	}
	k, err := readApart(registry)
	return func(shared checkpoints.DatasetsInfo) Known {
		k.addShared(shared)
		k.addOwn(found.runs)
		return k
	}, err
}

// Collect registers the runs apart in dirs that have ended, with all their releases, in the shared
// ledger of registry, and then deletes their ledgers apart. Killed at any moment it can be done
// again, and doing it twice is as doing it once. hold keeps others from working at the run in dir
// until release is called. If its error matches [checkpoints.ErrLocked], somebody works at the run
// and it stays apart: a ledger that is deleted while it is open loses releases.
func Collect(registry string, dirs []string, hold func(dir string) (release func() error, err error)) error {
	var apart []string
	for _, dir := range dirs {
		path, err := pathFrom(registry, dir)
		if err != nil {
			return err
		}
		if there(apartLedger(registry, path)) {
			apart = append(apart, path)
		}
	}
	if len(apart) == 0 {
		return nil
	}
	d, err := OpenDatasets(registry)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, path := range apart {
		release, err := hold(filepath.Join(registry, filepath.FromSlash(path)))
		if errors.Is(err, checkpoints.ErrLocked) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(collect(d, registry, path), release()); err != nil {
			return err
		}
	}
	_ = disk.Remove(filepath.Join(registry, folder.Uncollected)) // if it is empty
	return nil
}

// collect registers in d the runs of the ledger apart of the run at path, and removes that file. It
// keeps the file if d then lacks any of it, such as a last line that a power cut left there alone.
func collect(d *checkpoints.Datasets, registry, path string) error {
	file := apartLedger(registry, path)
	own, err := readLedger(file)
	if err != nil {
		return err
	}
	for _, m := range own.Members {
		if m.Entries == 0 {
			continue // begun anew under another identifier
		}
		j, err := checkpoints.OpenJournal(filepath.Join(registry, filepath.FromSlash(path), folder.Ledger))
		if err != nil {
			return err
		}
		if err := errors.Join(registerDurably(d, j, m.Registration), j.Close()); err != nil {
			return err
		}
		shared, ok := d.Info().Member(m.Run)
		if !ok || shared.Entries < m.Entries || shared.Entries == m.Entries && shared.Hash != m.Hash {
			return nil
		}
	}
	if err := disk.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody else has collected it
		return fmt.Errorf("train: %w", err)
	}
	_ = disk.Remove(filepath.Dir(file)) // if it is empty
	return nil
}

// Known is what the ledgers of a folder of runs say together: the shared one, and those apart.
type Known struct {
	// DatasetsInfo is that of the shared ledger, or empty; but Members are those of all ledgers.
	checkpoints.DatasetsInfo
	dir     string            // the folder
	apart   map[string]string // by run, its ledger apart, if that has more of it than the shared one
	missing error             // that the shared ledger which a run names was not found; else nil
}

// readLedger reads a ledger of data sets; it is empty if the file has no whole header, or is
// missing.
func readLedger(file string) (checkpoints.DatasetsInfo, error) {
	info, err := checkpoints.ReadDatasets(file)
	if absent(err) {
		err = nil
	}
	return info, err
}

// readApart reads the ledgers apart alone. Who reads the shared ledger too reads it afterwards: a
// run that is collected meanwhile is then in one of them at least.
func readApart(registry string) (Known, error) {
	k := Known{dir: registry, apart: map[string]string{}}
	files, err := apartLedgers(registry)
	for _, file := range files {
		var own checkpoints.DatasetsInfo
		if own, err = readLedger(file); err != nil {
			break
		}
		for _, m := range own.Members {
			k.apart[m.Run] = file
			k.Members = append(k.Members, m)
		}
	}
	return k, err
}

// readKnown reads the shared ledger and all ledgers apart of a folder of runs.
func readKnown(registry string) (Known, error) {
	k, err := readApart(registry)
	if err != nil {
		return k, err
	}
	shared, err := readLedger(k.path())
	k.addShared(shared)
	return k, err
}

// path returns the path of the shared ledger, whether there is one or not.
func (k Known) path() string { return filepath.Join(k.dir, folder.Datasets) }

// addShared adds the shared ledger to k, which holds the ledgers apart. The runs of the shared one
// come first. For a run in both, the ledger with more entries counts.
func (k *Known) addShared(shared checkpoints.DatasetsInfo) {
	members := slices.Clone(shared.Members)
	for _, own := range k.Members {
		i := slices.IndexFunc(members, func(m checkpoints.Member) bool { return m.Run == own.Run })
		if i >= 0 && members[i].Data.Unit != own.Data.Unit { // one was edited: the run counts with every unit
			members[i].Data.Unit, own.Data.Unit = checkpoints.Unit{}, checkpoints.Unit{}
		}
		switch {
		case i < 0:
			members = append(members, own)
		case members[i].Entries < own.Entries:
			members[i] = own
		default:
			delete(k.apart, own.Run)
		}
	}
	k.DatasetsInfo = shared
	k.Members = members
}

// uncollected returns the paths of the runs of which a ledger apart knows more releases than the
// shared ledger, which its hash therefore does not cover.
func (k Known) uncollected() (paths []string) {
	for _, m := range k.Members {
		if _, ok := k.apart[m.Run]; ok && m.Entries > 0 {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// Where returns, for messages, the file of the ledger of data sets that knows most of a run.
func (k Known) Where(run string) string { return cmp.Or(k.apart[run], k.path()) }
