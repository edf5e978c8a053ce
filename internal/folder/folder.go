// Package folder names what the folders of runs and sweeps hold, and finds out what a folder is.
package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/disk"
	"dpsgd/internal/spelling"
)

// What the folder of a run holds.
const (
	Config        = "config.yaml"
	Engines       = "engines.json" // of the graph; public: from shapes
	Plan          = "plan.txt"     // the plan, whose hash checkpoints hold; public
	Ledger        = "ledger.jsonl"
	Metrics       = "metrics.jsonl"
	MetricsTable  = "metrics.csv"                 // the same for spreadsheets
	MetricsEvents = "events.out.tfevents.metrics" // for TensorBoard, which asks for "tfevents"
	Diagnostics   = "diagnostics.private.jsonl"
	Order         = "order.private" // hash of the training examples in their order, where samples go by their places
	Checkpoints   = "checkpoints"
	Model         = "model.safetensors"
	Labels        = "labels.told.bin" // public answers of randomised response, a byte each
	Statement     = "privacy.md"
	StatementData = "privacy.json"
	Row           = "result.json" // of a trial that a task trained, as a line of the sweep's table
)

// DiagnosticEvents is [Diagnostics] for TensorBoard, in a folder of its own, which TensorBoard
// shows under that name beside the run.
const DiagnosticEvents = "diagnostics.private/events.out.tfevents.private"

// What the folder of a run of statistics holds beside ledger, configuration and statement.
const (
	Statistics = "statistics.yaml"
	Answers    = "statistics.jsonl" // what was released
)

// files are the names that no directory in a run's folder may have. (Engines are chosen again.)
var files = []string{Config, Plan, Ledger, Metrics, MetricsTable, MetricsEvents, Diagnostics, Order, Model, Labels, Statement, StatementData, Row, Extended, Statistics, Answers}

// OwnFiles refuses a run's folder in which a file of the run is a directory, or one that two names
// share (a hard link): what the run appends to its answers would then go into its ledger, or into
// that of its data, which lies in another folder.
func OwnFiles(dir, registry string) error {
	for _, name := range files {
		path := filepath.Join(dir, name)
		if info, err := disk.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("train: %s: found a folder, expected a file: %w", path, checkpoints.ErrNotRegular)
		}
	}
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	paths := []string{filepath.Join(registry, Datasets)}
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
		if e.Name() == Checkpoints && !e.IsDir() { // or steps are paid for that nobody can save
			return fmt.Errorf("train: %s: found %s, expected a folder: %w", filepath.Join(dir, Checkpoints), disk.Kind(e.Type()), checkpoints.ErrNotRegular)
		}
	}
	found := map[string]os.FileInfo{}
	for _, path := range paths {
		info, err := disk.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		for other, i := range found {
			if disk.SameFile(info, i) {
				return fmt.Errorf("train: %s: found the file that is %s too, expected one of its own: %w", path, other, checkpoints.ErrNotRegular)
			}
		}
		found[path] = info
	}
	return nil
}

// What the folder of a sweep holds beside a folder for each trial.
const (
	Sweep     = "sweep.json"    // which trials belong to it
	SweepLock = "sweep.lock"    // is opened for its lock alone
	Rows      = "results.jsonl" // the truth about finished trials
	Table     = "results.csv"   // the same for spreadsheets
	Report    = "results.md"
	Summary   = "results.json" // points, the best of them, and what all cost together
	// The statement to publish with the best point, of a sweep that drew how many points there are.
	Selected     = "selected.md"
	SelectedData = "selected.json"
)

// OfHiddenNumber reports whether a run is a trial of a sweep that drew how many points there are.
// That number must not be learnt from what is published of the best one, nor where the sweep's file
// is damaged.
func OfHiddenNumber(dir string) bool {
	content, err := disk.ReadFile(filepath.Join(Above(dir), Sweep))
	var found struct {
		Draw struct {
			From string `json:"from"`
		} `json:"draw"`
	}
	if err != nil || json.Unmarshal(content, &found) != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	number, drawn := strings.CutPrefix(found.Draw.From, "trials ")
	return drawn && strings.IndexAny(number, "0123456789") != 0
}

// Datasets is the ledger of the data that the runs of a folder were trained on. It lies in that
// folder, and is that of the trials of the sweeps there, too.
const Datasets = "datasets.jsonl"

// Uncollected is the folder beside runs with the ledgers that tasks of a sweep keep apart from
// [Datasets], one for each trial, until they are collected.
const Uncollected = ".uncollected"

// Features is the folder beside runs that keeps features of the training examples. It is as private
// as these are, and the names in it are hashes of them.
const Features = ".features-private"

// Permissions of what a run leaves behind: its owner's alone.
const (
	Perm     = 0o700
	FilePerm = 0o600
)

// ErrNoRun: a folder is not that of a run.
var ErrNoRun = errors.New("train: not a run")

// ReadConfig reads the configuration that a run wrote, with the changes by all of its extensions.
func ReadConfig(dir string) (*configs.Config, error) {
	list, err := ReadExtensions(dir)
	if err != nil && Check(dir, "the folder of a run such as runs/digits-1") == nil {
		return nil, err
	}
	return ReadConfigOf(dir, list)
}

// ReadConfigOf reads the configuration that a run wrote, with the changes by these extensions.
func ReadConfigOf(dir string, list []Extension) (*configs.Config, error) {
	path := filepath.Join(dir, Config)
	if err := Check(dir, "the folder of a run such as runs/digits-1"); err != nil {
		return nil, err
	}
	src, err := Content(path)
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, Without(dir, Config)
	}
	return configs.ParseRun(path, src, overrides(list))
}

// Check refuses, with ErrNoRun, a path that can be no folder: "", a file, below a file, or a link
// to nothing. It accepts a path where nothing lies.
func Check(dir, expected string) error {
	info, err := disk.Stat(dir)
	switch {
	case dir == "":
		return fmt.Errorf("%w: found an empty name, expected %s", ErrNoRun, expected)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%w: %s is a file, expected %s", ErrNoRun, dir, expected)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %s lies below a file, expected %s", ErrNoRun, dir, expected)
	case err == nil:
		return nil
	}
	if info, err := disk.Lstat(dir); err == nil && !info.IsDir() { // else it was made just now
		return fmt.Errorf("%w: %s is a link to nothing, expected %s", ErrNoRun, dir, expected)
	}
	return nil
}

// Without returns the error for a folder that is no run, because the file is missing.
func Without(dir, file string) error {
	return fmt.Errorf("%w: %s holds no %s, expected the folder of a run such as runs/digits-1", ErrNoRun, dir, file)
}

// Content returns what a file holds; nil where there is none.
func Content(path string) ([]byte, error) {
	content, err := disk.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("train: %w", err)
	}
	return content, nil
}

// Replace writes a file, unless it has that content already: another program may be reading it.
func Replace(path string, content []byte) error {
	if found, err := disk.ReadFile(path); err == nil && bytes.Equal(found, content) {
		return nil
	}
	return checkpoints.WriteFileAtomic(path, content, FilePerm)
}

// Name returns the name of a folder, without where it lies.
func Name(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		return filepath.Base(absolute)
	}
	return filepath.Base(dir)
}

// Above returns the folder that a run's folder lies in, also where a link leads to it.
func Above(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, "..")
}

// Around returns the folder of runs that a run or a trial of a sweep lies in.
func Around(dir string) string {
	around := filepath.Join(dir, "..")
	if HoldsAny(around, Sweep) {
		around = filepath.Join(around, "..")
	}
	return around
}

// Argument returns a path for a command line to be copied: in quotes where a shell needs them.
func Argument(path string) string { return spelling.Argument(path) }

// HoldsAny reports whether a folder holds one of these names.
func HoldsAny(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := disk.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// Kept reports whether a file exists that belongs to a run, a sweep or a folder of runs. Nobody else
// may write over it.
func Kept(path string) bool {
	dir, name := filepath.Split(filepath.Clean(path))
	ofSweep := []string{Sweep, SweepLock, Rows, Table, Report, Summary, Selected, SelectedData}
	return HoldsAny(dir, name) && (name == Datasets || HoldsAny(dir, Config) && slices.Contains(files, name) || HoldsAny(dir, Sweep) && slices.Contains(ofSweep, name))
}

// ErrRunExists: the folder of a new run is taken.
var ErrRunExists = errors.New("train: the run exists")

// New makes the folder of a new run below parent, which is made where it is missing: with that
// name, or, if it is empty, with base and the first number that is free.
func New(parent, name, base string) (string, error) {
	if err := Check(parent, "a folder of runs"); err != nil {
		return "", err
	}
	if err := checkpoints.MakeDir(parent); err != nil {
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
	err := checkpoints.NewDir(dir)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("%w: found %s, expected a name that is free; go on with it by `train resume %s` or choose another run.name", ErrRunExists, dir, Argument(dir))
	case err != nil:
		return "", fmt.Errorf("train: cannot make the run's folder: %w", err)
	}
	return dir, nil
}

// Differences returns what two identities differ in, as "key was, found is". It returns other lines
// than those of the configuration, which follow from it, only if the configurations are equal.
func Differences(old, now string) []string {
	var keys, derived []string
	was, is := Keys(old), Keys(now)
	for _, p := range append(was, is...) {
		list := &derived
		if strings.Contains(p.Key, ".") {
			list = &keys
		}
		a, b := find(was, p.Key), find(is, p.Key)
		if text := fmt.Sprintf("%s %s, found %s", p.Key, a, b); a != b && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	if len(keys) > 0 {
		return keys
	}
	return derived
}

// Pair is one line of an identity, with the items of a list that follow it.
type Pair struct{ Key, Value string }

func find(all []Pair, key string) string {
	if i := slices.IndexFunc(all, func(p Pair) bool { return p.Key == key }); i >= 0 {
		return all[i].Value
	}
	return "none"
}

// Keys returns the pairs of an identity: those of the YAML, with keys such as training.steps, and
// then those of the lines after it, whose first word is the key.
func Keys(identity string) []Pair {
	var all []Pair
	var sections []string
	for _, line := range strings.Split(identity, "\n") {
		text := strings.TrimLeft(line, " ")
		depth := (len(line) - len(text)) / 2
		key, value, isYAML := strings.Cut(text, ":")
		switch {
		case text == "":
		case len(all) > 0 && (strings.HasPrefix(text, "- ") || depth > 0 && !isYAML || depth > len(sections)): // goes on
			last := &all[len(all)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.TrimPrefix(text, "- "))
		case isYAML && depth <= len(sections):
			sections = append(sections[:depth], key)
			if value = strings.TrimSpace(value); value != "" || depth > 0 {
				all = append(all, Pair{strings.Join(sections, "."), value})
			}
		default:
			key, value, _ = strings.Cut(text, " ")
			all = append(all, Pair{key, value})
		}
	}
	return all
}
