package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// ErrRunExists: the folder of a new run is taken.
var ErrRunExists = errors.New("train: the run exists")

// New makes the folder of a new run below parent, which is made where it is missing: with that name,
// or, if it is empty, with base and the first number that is free.
func New(parent, name, base string) (string, error) {
	if err := Check(parent, "a folder of runs"); err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, Perm); err != nil {
		return "", fmt.Errorf("train: cannot make the folder of runs: %w", err)
	}
	if name != "" {
		return claim(filepath.Join(parent, name))
	}
	for i := 1; ; i++ {
		dir, err := claim(filepath.Join(parent, base+"-"+strconv.Itoa(i)))
		if !errors.Is(err, ErrRunExists) {
			return dir, err
		}
	}
}

// claim makes one folder, which must not exist.
func claim(dir string) (string, error) {
	err := os.Mkdir(dir, Perm)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("%w: found %s, expected a name that is free; go on with it by `train resume %s` or choose another run.name", ErrRunExists, dir, Argument(dir))
	case err != nil:
		return "", fmt.Errorf("train: cannot make the run's folder: %w", err)
	}
	return dir, nil
}
