package checkpoints

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/internal/disk"
)

// moves lists what a person may do to a file, or to its folder, while a process writes it:
// afterwards its path no longer leads to the written file.
var moves = map[string]func(path string) error{
	"deleted":         os.Remove,
	"folder deleted":  func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	"folder renamed":  func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+"-2") },
	"renamed":         func(path string) error { return os.Rename(path, path+".old") },
	"emptied":         func(path string) error { return os.Truncate(path, 0) },
	"cut":             func(path string) error { return os.Truncate(path, 300) },
	"became a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	"replaced by a copy": func(path string) error {
		return errors.Join(os.WriteFile(path+".copy", must(os.ReadFile(path)), 0o600), os.Rename(path+".copy", path))
	},
	"replaced by a link": func(path string) error {
		return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
	},
	"grown by another": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("{\"step\"")
		return errors.Join(err, f.Close())
	},
}

// Whatever is done to one of its ledgers under a running process, be it between two releases or
// while a line is being stored: the next release is refused, and so is every later one.
func TestMovedLedgerTakesNoRelease(t *testing.T) {
	for name, move := range moves {
		for _, shared := range []bool{false, true} {
			for _, during := range []bool{false, true} {
				d, path := newDatasets(t)
				j, own := newMember(t, d, "run", 3)
				if shared && name == "grown by another" {
					continue // other processes append to that one
				}
				if !shared {
					path = own
				}
				moved := error(nil)
				switch {
				case !during:
					moved = move(path)
				default:
					written := j.ledgerFile
					if shared {
						written = d.ledgerFile
					}
					written.f = faultyFile{written.f.(disk.RealFile), &faultyDisk{failAt: -1, seen: func(call, _ string) {
						if call == "sync" { // the line is written, and not synced yet
							moved = move(path)
						}
					}}}
				}
				err := j.AppendWith(d, 4, event(1.1))
				if moved != nil {
					continue // not with an open file on this system
				}
				if !errors.Is(err, ErrMoved) && !errors.Is(err, ErrRollback) {
					t.Errorf("%s (of the data's ledger %t, while storing %t): found error %v, expected ErrMoved", name, shared, during, err)
				}
				if err := j.Append(4, event(1.1)); !errors.Is(err, ErrJournalFailed) || j.Len() != 3 {
					t.Errorf("%s: the next release has error %v after %d entries, expected ErrJournalFailed after 3", name, err, j.Len())
				}
				if info, err := os.Lstat(path); err == nil && name == "emptied" && !during && info.Size() > 0 {
					t.Errorf("%s: found %d bytes behind a hole", name, info.Size())
				}
			}
		}
	}
}

// What leads to the same file is no move: another name for it, or a link to its folder.
func TestSameLedgerByAnotherName(t *testing.T) {
	d, _ := newDatasets(t)
	j, own := newMember(t, d, "run", 1)
	if err := os.Link(own, own+".also"); err != nil {
		t.Skip("no links here:", err)
	}
	must(0, j.AppendWith(d, 2, event(1.1)))
	folder := filepath.Dir(own)
	if err := errors.Join(os.Rename(folder, folder+"-2"), os.Symlink(folder+"-2", folder)); err != nil {
		t.Skip("not with open files here:", err)
	}
	must(0, j.AppendWith(d, 3, event(1.1)))
	must(0, j.Present())
}

// A checkpoint does not bring back the folder of a run that somebody deleted.
func TestSaveMakesNoRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := Save(filepath.Join(dir, "checkpoints"), sampleState(1))
	wantError(t, err, fs.ErrNotExist, dir)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %s (%v), expected nothing", dir, err)
	}
}
