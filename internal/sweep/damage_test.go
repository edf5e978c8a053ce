package sweep

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// A scene is a folder with a finished run and a finished sweep on the same data, an older copy of
// it from when both were under way, and what each question about it has to answer at least.
type scene struct {
	now, older string
	sweep      *configs.Sweep
	source     train.Options
	truth      map[string]float64
}

// What `train runs` says of the sweep in a folder, and what a report says of a sweep. They are set
// from outside, because package report imports this one.
var EpsilonOfRuns, EpsilonOfReport func(dir string) (float64, error)

const smallSweep = "name: sweep\nbase: base.yaml\ngrid: {privacy.clip_norm: [0.1, 1]}\n"

// The scenes of all tests, of a sweep by one process and by tasks, and the folder that they are in.
// Tests damage copies of them.
var (
	madeScenes [2]*scene
	scenes     string
)

func TestMain(m *testing.M) {
	var err error
	if scenes, err = os.MkdirTemp("", "scenes"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scenes)
	os.Exit(code)
}

func sceneOf(t *testing.T, tasks bool) *scene {
	t.Helper()
	i, run := 0, Run
	if tasks {
		i, run = 1, byTasks
	}
	if madeScenes[i] == nil {
		madeScenes[i] = newScene(t, run)
	}
	return madeScenes[i]
}

// byTasks trains a sweep as two tasks, which nobody collects.
func byTasks(ctx context.Context, file *configs.Sweep, o Options) (Result, error) {
	for i := range 2 {
		if _, err := RunTask(ctx, file, Share{First: i + 1}, o); err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

// newScene is a scene of which run trains the sweep.
func newScene(t *testing.T, run func(context.Context, *configs.Sweep, Options) (Result, error)) *scene {
	t.Helper()
	dir := tiny.Must(os.MkdirTemp(scenes, ""))(t)
	s := &scene{now: filepath.Join(dir, "runs"), older: filepath.Join(dir, "older"), sweep: sweepOf(t, tiny.Config, smallSweep)}
	s.source = tinyrun.Options(t)
	s.source.RunsDir, s.source.Name, s.source.Folder = s.now, "", "one"
	stopped := tinyrun.Interrupted(t, 7, s.source)
	o := s.sweepOptions(s.now)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Watcher = Watcher{TrialStepped: func(at TrialOverview, p train.Progress) {
		if at.Number == 2 && p.Step == 7 {
			cancel()
		}
	}}
	if _, err := run(ctx, s.sweep, o); err != nil {
		t.Fatal(err)
	}
	copyFolder(t, s.older, s.now)
	tinyrun.Fit(t, tinyrun.Open(t, stopped.Run, s.source))
	if _, err := run(t.Context(), s.sweep, s.sweepOptions(s.now)); err != nil {
		t.Fatal(err)
	}
	s.truth = map[string]float64{}
	for name, ask := range s.questions() {
		epsilon, err := ask(s.copy(t))
		if err != nil {
			t.Fatal(name, err)
		}
		s.truth[name] = epsilon
	}
	return s
}

func (s *scene) sweepOptions(dir string) Options {
	return Options{Request: s.source.Request, RunsDir: dir}
}

// questions are the questions that people ask about ε. The sweep is not among them, because it
// writes.
func (s *scene) questions() map[string]func(dir string) (float64, error) {
	q := map[string]func(dir string) (float64, error){
		"show": func(dir string) (float64, error) {
			l, err := books.Show(dir)
			if err != nil {
				return 0, err
			}
			return l.Datasets[0].Epsilon, nil
		},
		"runs": EpsilonOfRuns,
		"sweep": func(dir string) (float64, error) {
			r, err := Run(context.Background(), s.sweep, s.sweepOptions(dir))
			if err != nil {
				return 0, err
			}
			return r.Composed.Epsilon, nil
		},
		"resume": func(dir string) (float64, error) {
			r, err := train.Open(filepath.Join(dir, "one"), s.source)
			if err != nil {
				return 0, err
			}
			defer r.Close()
			result, err := r.Fit(context.Background())
			return result.Epsilon, err
		},
	}
	for _, run := range []string{"one", "sweep/clip_norm=0.1", "sweep/clip_norm=1"} {
		q["epsilon "+run] = func(dir string) (float64, error) {
			c, err := costOf(filepath.Join(dir, run))
			return c.Epsilon, err
		}
		q["eval "+run] = func(dir string) (float64, error) {
			c, err := train.Evaluate(filepath.Join(dir, run), s.source)
			return c.Epsilon, err
		}
	}
	return q
}

// ask asks everything about a damaged copy: an answer is never below the truth, and who refuses, or
// only reads, leaves every byte as it was. It returns the errors by question.
func (s *scene) ask(t *testing.T, dir string) map[string]error {
	t.Helper()
	refusals, before := map[string]error{}, tiny.Snapshot(t, dir)
	unchanged := func(who string, may bool) {
		after := tiny.Snapshot(t, dir)
		if !may && !maps.Equal(before, after) {
			t.Errorf("%s (errors %v) changed something on disk: %v", who, refusals, changed(before, after))
		}
		before = after
	}
	one := func(name string) {
		epsilon, err := s.questions()[name](dir)
		switch {
		case err == nil && epsilon < s.truth[name]*(1-1e-12):
			t.Errorf("%s: found ε = %v, expected at least %v or an error", name, epsilon, s.truth[name])
		case err != nil && strings.Contains(err.Error(), "\n") && name != "show" && !errors.Is(err, configs.ErrInvalid):
			t.Errorf("%s: found the error %v, expected one line", name, err)
		}
		refusals[name] = err
	}
	for name := range s.questions() {
		if name != "sweep" && name != "resume" {
			one(name)
		}
	}
	unchanged("a question", false)
	for _, name := range []string{"resume", "sweep"} {
		one(name)
		unchanged(name, refusals[name] == nil)
	}
	one("show") // what was written does not hide anything either
	unchanged("show", false)
	return refusals
}

func changed(before, after map[string]string) (paths []string) {
	for path, hash := range after {
		if before[path] != hash {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if after[path] == "" {
			paths = append(paths, path+" (gone)")
		}
	}
	return paths
}

func copyFolder(t testing.TB, to, from string) {
	t.Helper()
	tiny.Check(t, os.CopyFS(to, os.DirFS(from)))
}

func (s *scene) copy(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	copyFolder(t, dir, s.now)
	return dir
}

// Whatever single file of a run, a sweep or their folder is deleted, cut off or put back to an
// older copy: no command reports less than what was spent. Where slow evidence is not asked for,
// each file that says what was spent, or what was to be, is damaged in one way, in turn.
func TestNoDamageLowersEpsilon(t *testing.T) { sceneOf(t, false).damageFiles(t, "") }

// The same while the trials of tasks are not collected; the run beside them is as above.
func TestNoDamageLowersEpsilonOfTasks(t *testing.T) { sceneOf(t, true).damageFiles(t, "one") }

// unasked are the ends of files that no answer about ε is read from.
var unasked = map[string]bool{".md": true, ".csv": true, ".lock": true, ".metrics": true, ".safetensors": true}

func (s *scene) damageFiles(t *testing.T, but string) {
	files := 0
	err := filepath.WalkDir(s.now, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.now, path)
		if err != nil || strings.HasPrefix(name, filepath.Join("sweep", "clip_norm=0.1")) && filepath.Base(name) != folder.Ledger || but != "" && strings.HasPrefix(name, but) {
			return err // the trials are alike
		}
		content := []byte(tiny.Read(t, path))
		type damage struct {
			name string
			left []byte // nil for no file
		}
		damages := []damage{{"deleted", nil}, {"halved", content[:len(content)/2]}, {"without its end", content[:max(0, len(content)-1)]}, {"emptied", []byte{}}}
		if i := bytes.IndexByte(content, '\n'); i >= 0 {
			damages = append(damages, damage{"first line", content[:i+1]})
		}
		if i := bytes.LastIndexByte(content[:max(0, len(content)-1)], '\n'); i >= 0 {
			damages = append(damages, damage{"without its last line", content[:i+1]})
		}
		if old, err := os.ReadFile(filepath.Join(s.older, name)); err == nil {
			damages = append(damages, damage{"older copy", old})
		}
		damages = slices.DeleteFunc(damages, func(d damage) bool { return d.left != nil && bytes.Equal(d.left, content) })
		if !slow.Asked() {
			if unasked[filepath.Ext(name)] || filepath.Base(name) == folder.Engines {
				return nil
			}
			files++
			damages = damages[files%len(damages):][:1]
		}
		for _, d := range damages {
			t.Run(name+" "+d.name, func(t *testing.T) {
				t.Parallel()
				dir := s.copy(t)
				path := filepath.Join(dir, name)
				if d.left == nil {
					tiny.Check(t, os.Remove(path))
				} else {
					tiny.Write(t, path, string(d.left))
				}
				s.ask(t, dir)
			})
		}
		return nil
	})
	tiny.Check(t, err)
}

// A trial whose folder was deleted or moved counts wherever the sweep is shown, as a run does: with
// a warning, and with the ε that it had.
func TestGoneTrialCounts(t *testing.T) {
	s := sceneOf(t, false)
	trial := filepath.Join("sweep", "clip_norm=1")
	for name, move := range map[string]func(dir string) error{
		"deleted":    func(dir string) error { return os.RemoveAll(filepath.Join(dir, trial)) },
		"moved away": func(dir string) error { return os.Rename(filepath.Join(dir, trial), filepath.Join(dir, "..", "trial")) },
		"moved up":   func(dir string) error { return os.Rename(filepath.Join(dir, trial), filepath.Join(dir, "trial")) },
		"renamed":    func(dir string) error { return os.Rename(filepath.Join(dir, trial), filepath.Join(dir, "sweep", "t")) },
		"moved deeper": func(dir string) error {
			return os.Rename(filepath.Join(dir, trial), filepath.Join(dir, "sweep", "clip_norm=0.1", "t"))
		},
		"run deleted": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "one")) },
		"all deleted": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "sweep")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := s.copy(t)
			tiny.Check(t, move(dir))
			for _, question := range []string{"show", "runs"} {
				if epsilon, err := s.questions()[question](dir); err != nil || epsilon != s.truth[question] {
					t.Errorf("%s says ε = %v (%v), expected %v as before", question, epsilon, err, s.truth[question])
				}
			}
			totals, err := books.Show(dir)
			check, problem := books.Verify(dir, "")
			inside := name == "moved up" || name == "renamed"
			if n := len(totals.Gone); err != nil || problem != nil || (n == 0) != inside || len(check.Gone) != n {
				t.Errorf("%v (%v) and %v (%v) are gone, expected the trial, or nothing where it is found elsewhere (%t)", totals.Gone, err, check.Gone, problem, inside)
			}
			epsilon, err := EpsilonOfReport(filepath.Join(dir, "sweep"))
			if name != "all deleted" && name != "moved up" && (err != nil || epsilon != s.truth["sweep"]) {
				t.Errorf("the report has %v (%v), expected ε = %v", epsilon, err, s.truth["sweep"])
			}
		})
	}
}

// The same with whole folders, in one way each where slow evidence is not asked for, and with a
// ledger shortened to some of its lines.
func TestNoDamagedFolderLowersEpsilon(t *testing.T) {
	s := sceneOf(t, false)
	s.damageFolders(t, "one", "one/checkpoints", "sweep", "sweep/clip_norm=0.1", "sweep/clip_norm=1", "sweep/clip_norm=1/checkpoints")
	s.shortenLedger(t)
}

func TestNoDamagedFolderLowersEpsilonOfTasks(t *testing.T) {
	sceneOf(t, true).damageFolders(t, "sweep", "sweep/clip_norm=0.1", "sweep/clip_norm=1", "sweep/clip_norm=1/checkpoints", folder.Uncollected)
}

func (s *scene) damageFolders(t *testing.T, names ...string) {
	for i, name := range names {
		damages := []string{"deleted", "older copy"}
		if !slow.Asked() {
			damages = damages[i%2:][:1]
		}
		for _, damage := range damages {
			t.Run(name+" "+damage, func(t *testing.T) {
				t.Parallel()
				dir := s.copy(t)
				tiny.Check(t, os.RemoveAll(filepath.Join(dir, name)))
				if damage == "older copy" {
					copyFolder(t, filepath.Join(dir, name), filepath.Join(s.older, name))
				}
				s.ask(t, dir)
			})
		}
	}
}

func (s *scene) shortenLedger(t *testing.T) {
	whole := strings.SplitAfter(tiny.Read(t, filepath.Join(s.now, "one", folder.Ledger)), "\n")
	lengths := []int{0, 2, 11, 1, 8, 12}
	if !slow.Asked() {
		lengths = lengths[:3]
	}
	for _, n := range lengths {
		t.Run("ledger shortened", func(t *testing.T) {
			t.Parallel()
			dir := s.copy(t)
			tiny.Write(t, filepath.Join(dir, "one", folder.Ledger), strings.Join(whole[:n], ""))
			for name, err := range s.ask(t, dir) {
				if strings.HasSuffix(name, " one") && n > 0 && !errors.Is(err, checkpoints.ErrRollback) {
					t.Errorf("%s of a ledger with %d of its lines: found error %v, expected ErrRollback", name, n, err)
				}
			}
		})
	}
}
