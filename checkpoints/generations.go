package checkpoints

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/disk"
)

// generations counts the checkpoints that a run keeps: the newest, and one to fall back to.
const generations = 2

const (
	checkpointPrefix = "checkpoint-"
	checkpointSuffix = ".ckpt"
)

// Save writes a checkpoint as dir/checkpoint-<step>.ckpt and returns its path. The file is whole or
// absent (see [WriteFileAtomic]) and has permissions 0600; dir is made with 0700 if it is missing,
// the folder above it is not.
//
// When the new file is durable, and not before, Save removes all but it and the newest one before
// it, and temporary files that a killed process left. Checkpoints of a later step go too: the run
// was resumed from before them, and the directory follows the branch that goes on (the ledger
// counts both). If only removing fails, Save returns the path together with the error.
//
// A state with a parameter that is not finite is refused with ErrNotFinite and the earlier
// checkpoints stay. One process saves into a directory at a time; holding the run's [Journal] open
// sees to that.
func Save(dir string, s *State) (string, error) { return save(disk.System, dir, s) }

func save(files fileSystem, dir string, s *State) (string, error) {
	path := filepath.Join(dir, FileName(s.Step))
	if err := s.validate(); err != nil {
		return "", fmt.Errorf("checkpoints: save %s: %w", path, err)
	}
	dir = filepath.Clean(dir)
	if _, err := files.Lstat(filepath.Dir(dir)); err != nil { // a run's folder that is gone is not made anew
		return "", fmt.Errorf("checkpoints: save %s: %w", path, err)
	}
	found, err := findDir(files, dir)
	if !found && err == nil {
		err = makeDir(files, dir)
	}
	if err != nil {
		return "", err
	}
	if err := writeAtomic(files, path, filePerm, s.encode); err != nil {
		return "", err
	}
	if err := prune(files, dir, s.Step); err != nil {
		return path, fmt.Errorf("checkpoints: %s is saved, but removing older ones failed: %w", path, err)
	}
	return path, nil
}

// prune removes what Save no longer needs after the checkpoint of a step.
func prune(files fileSystem, dir string, step int) error {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return err
	}
	steps := checkpointSteps(entries)
	steps = slices.DeleteFunc(steps, func(s int) bool { return s > step })
	keep := steps[:min(generations, len(steps))]
	for _, e := range entries {
		s, isCheckpoint := parseCheckpointName(e.Name())
		isTemporary := strings.HasPrefix(e.Name(), "."+checkpointPrefix) && strings.Contains(e.Name(), temporaryMark)
		if isTemporary || isCheckpoint && !slices.Contains(keep, s) {
			err = errors.Join(err, files.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Load reads one checkpoint. Damage of any kind, an unknown version and values that are not finite
// are refused with ErrCorrupt.
func Load(path string) (*State, error) { return load(disk.System, path) }

func load(files fileSystem, path string) (*State, error) {
	f, size, err := openRegular(files, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(content(f), data); err != nil {
		return nil, fmt.Errorf("checkpoints: read %s: %w", path, err)
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: read %s: %w", path, err)
	}
	return s, nil
}

// Latest returns the newest checkpoint of a directory that can be read, and its path.
//
// If newer ones had to be passed over, the state and path are returned together with an error that
// matches ErrSkipped and says what is wrong with each. Going on from there is safe for privacy,
// because the steps in between stay in the ledger and those that are run again are counted again;
// but training is lost, so a caller that goes on shows the error. If there is nothing to return,
// the error matches ErrNoCheckpoint.
func Latest(dir string) (*State, string, error) { return latest(disk.System, dir) }

func latest(files fileSystem, dir string) (*State, string, error) {
	entries, err := files.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("checkpoints: %w", err)
	}
	var skipped []string
	for _, step := range checkpointSteps(entries) {
		path := filepath.Join(dir, FileName(step))
		s, err := load(files, path)
		if err == nil && s.Step != step {
			err = fmt.Errorf("checkpoints: %s: found step %d inside, expected %d: %w", path, s.Step, step, ErrCorrupt)
		}
		if err != nil {
			skipped = append(skipped, strings.TrimPrefix(err.Error(), "checkpoints: "))
			continue
		}
		if len(skipped) > 0 {
			return s, path, fmt.Errorf("checkpoints: went back to %s: %w: %s", path, ErrSkipped, strings.Join(skipped, "; "))
		}
		return s, path, nil
	}
	if len(skipped) > 0 {
		return nil, "", fmt.Errorf("checkpoints: %s: %w: %s", dir, ErrNoCheckpoint, strings.Join(skipped, "; "))
	}
	return nil, "", fmt.Errorf("checkpoints: %s: %w: found none", dir, ErrNoCheckpoint)
}

// FileName returns the name of the file with the checkpoint of a step.
func FileName(step int) string { return checkpointPrefix + strconv.Itoa(step) + checkpointSuffix }

// parseCheckpointName returns the step in a name. ok is false for a name that FileName never makes.
func parseCheckpointName(name string) (step int, ok bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, checkpointPrefix), checkpointSuffix)
	step, err := strconv.Atoi(digits)
	return step, err == nil && step >= 0 && FileName(step) == name
}

// checkpointSteps returns the steps that a directory has checkpoints of, newest first.
func checkpointSteps(entries []fs.DirEntry) []int {
	var steps []int
	for _, e := range entries {
		if step, ok := parseCheckpointName(e.Name()); ok {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps
}
