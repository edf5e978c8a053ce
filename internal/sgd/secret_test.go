package sgd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// labelled are pictures with other labels than theirs, sorted by class, as files often are.
func labelled(t *testing.T, m *data.Images, label func(i int) int) *data.Images {
	t.Helper()
	var labels, pixels []uint8
	for class := range m.Classes() {
		for i := range m.Len() {
			if label(i) == class {
				labels, pixels = append(labels, uint8(class)), append(pixels, m.Pixels(i)...)
			}
		}
	}
	return tiny.Must(data.NewImages(m.Shape(), m.Classes(), labels, pixels))(t)
}

// The set "sorted" is one that has a name. Its files are the split.
var named *data.Split

func init() {
	stripes := data.Shape{Height: 6, Width: 6, Channels: 1}
	if err := data.Register(data.Dataset{Name: "sorted", Doc: "for tests", Shape: stripes, Classes: []string{"top", "middle", "bottom"}, Train: 48, Test: 12,
		Load: func(*data.Dataset, string, uint64) (*data.Split, error) {
			return &data.Split{Train: named.Train, Test: named.Test}, nil
		}}); err != nil {
		panic(err)
	}
}

// rows writes both parts of a split as numbers: what header returns, then a line or a row for each
// example.
func rows(t *testing.T, dir string, split *data.Split, write func(part string, set *data.Images)) {
	t.Helper()
	tiny.Check(t, os.MkdirAll(dir, 0o700))
	write("train", split.Train.(*data.Images))
	write("test", split.Test.(*data.Images))
}

func writeCSV(t *testing.T, dir string, split *data.Split) {
	rows(t, dir, split, func(part string, set *data.Images) {
		var b strings.Builder
		b.WriteString("class")
		for c := range 36 {
			fmt.Fprintf(&b, ",c%d", c)
		}
		for i := range set.Len() {
			b.WriteString("\n" + set.Classes()[set.Label(i)])
			for _, v := range set.Pixels(i) {
				fmt.Fprintf(&b, ",%g", float64(v)/256)
			}
		}
		tiny.Write(t, filepath.Join(dir, part+".csv"), b.String()+"\n")
	})
}

// writeNPY writes arrays of version 1.0 of the format.
func writeNPY(t *testing.T, dir string, split *data.Split) {
	array := func(name, descr, shape string, values any) {
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
		header += strings.Repeat(" ", 117-len(header)) + "\n" // 10 bytes before it make 128
		content := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
		content = tiny.Must(binary.Append(append(content, header...), binary.LittleEndian, values))(t)
		tiny.Write(t, filepath.Join(dir, name), string(content))
	}
	rows(t, dir, split, func(part string, set *data.Images) {
		var values []float32
		var labels []int64
		for i := range set.Len() {
			labels = append(labels, int64(set.Label(i)))
			for _, v := range set.Pixels(i) {
				values = append(values, float32(v)/256)
			}
		}
		array(part+".npy", "<f4", fmt.Sprintf("%d, 36", set.Len()), values)
		array(part+"-labels.npy", "<i8", fmt.Sprintf("%d,", set.Len()), labels)
	})
}

// sources are the ways in which examples come to a run: what writes them into a folder, and what a
// configuration says of it.
var sources = map[string]struct {
	write     func(t *testing.T, dir string, split *data.Split)
	overrides []string
}{
	"folders": {func(t *testing.T, dir string, s *data.Split) { tiny.Files(t, dir, s, false) }, pictures},
	"folders, decoded when needed": {func(t *testing.T, dir string, s *data.Split) { tiny.Files(t, dir, s, false) },
		append(slices.Clone(pictures), "performance.data_memory=1KB")},
	"features of folders": {func(t *testing.T, dir string, s *data.Split) { tiny.Files(t, dir, s, false) },
		[]string{"data.folder=DIR", classes, "data.size=8", "data.channels=1", "features.name=patches", "features.filters=4", "features.patch_size=3", "features.pooling=2", "features.pictures=30", "features.directions=8",
			"model.layers=[flatten, {linear: {out_features: classes, bias: false}}]", "features.mean_noise=none"}},
	"shards":         {func(t *testing.T, dir string, s *data.Split) { tiny.Files(t, dir, s, true) }, pictures},
	"table":          {writeCSV, []string{"data.table=DIR", "data.label=class", "data.columns=[" + strings.Join(columns(), ", ") + "]", classes}},
	"vectors in csv": {writeCSV, []string{"data.vectors=DIR", "data.label=class", "data.width=36", classes}},
	"vectors in npy": {writeNPY, []string{"data.vectors=DIR", "data.width=36", classes}},
	"named":          {func(_ *testing.T, _ string, s *data.Split) { named = s }, []string{"data.name=sorted"}},
	"in memory":      {func(*testing.T, string, *data.Split) {}, nil},
}

var (
	classes  = "data.classes=[top, middle, bottom]"
	pictures = []string{"data.folder=DIR", classes, "data.size=6", "data.channels=1"}
)

func columns() (names []string) {
	for c := range 36 {
		names = append(names, fmt.Sprintf("c%d", c))
	}
	return names
}

// published is what anybody sees of a run on these examples, file by file, where answers do not
// depend on labels: they are the candidates in turn.
func published(t *testing.T, source, dir string, split *data.Split) map[string]string {
	t.Helper()
	tiny.Check(t, os.RemoveAll(dir))
	s, o := sources[source], Options{Options: run.Options{RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny"}}
	s.write(t, dir, split)
	if s.overrides == nil {
		o.Given = split
	}
	overrides := instead(stages, "training.steps=10", "training.evaluate_every=3")
	for _, set := range s.overrides {
		overrides = append(overrides, strings.Replace(set, "DIR", dir, 1))
	}
	r := tiny.Must(Create(tiny.Parse(t, overrides...), o))(t)
	asked := 0
	r.ask = func(candidates []int, _ int) int {
		asked++
		return candidates[asked*7%len(candidates)]
	}
	tiny.Fit(t, t.Context(), r)
	if asked != split.Train.Len() {
		t.Errorf("%d labels were asked, expected %d", asked, split.Train.Len())
	}
	return publicFiles(t, o.RunsDir, r.Dir)
}

// instead is a list of overrides in which some are others.
func instead(overrides []string, others ...string) []string {
	return append(slices.DeleteFunc(slices.Clone(overrides), func(set string) bool {
		key, _, _ := strings.Cut(set, "=")
		return slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(other, key+"=") })
	}), others...)
}

// publicFiles are those below a folder of one run, by their names in it, without the random numbers
// of ledgers and the hashes of these, of which that of the statement is one.
func publicFiles(t *testing.T, runs, run string) map[string]string {
	t.Helper()
	drawn := []string{}
	for _, ledger := range []string{filepath.Join(runs, folder.Datasets), filepath.Join(run, folder.Ledger)} {
		for _, token := range regexp.MustCompile(`[0-9a-f]{16,}`).FindAllString(tiny.Read(t, ledger), -1) {
			drawn = append(drawn, token, "")
		}
	}
	words, files := strings.NewReplacer(drawn...), map[string]string{}
	for path := range tiny.Snapshot(t, runs) {
		name := strings.TrimPrefix(path, runs)
		if info, err := os.Stat(path); err != nil || info.IsDir() || strings.Contains(name, "private") {
			continue
		}
		files[name] = words.Replace(tiny.Unsummed(tiny.Read(t, path)))
		if filepath.Ext(path) == ".ckpt" {
			state := tiny.Must(checkpoints.Load(path))(t)
			state.LedgerHash = ""
			files[name] = fmt.Sprint(*state)
		}
	}
	return files
}

// Whoever has the pictures and all labels but one, trains once for each label that it may be and
// compares all files, learns nothing beside the answers: where these do not depend on labels, every
// byte is the same. So it is where all labels are others. With another picture the bytes are
// others.
func TestFilesTellNothingOfLabelsButTheAnswers(t *testing.T) {
	all, test := tiny.Pictures(t, 48, 1), tiny.Pictures(t, 12, 2)
	for source := range sources {
		t.Run(source, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "own")
			of := func(m *data.Images, label func(i int) int) map[string]string {
				return published(t, source, dir, &data.Split{Name: "own", Train: labelled(t, m, label), Test: test})
			}
			want := of(all, all.Label)
			for name, label := range map[string]func(i int) int{
				"one": func(i int) int { return (all.Label(i) + max(0, 1-i)) % 3 },
				"all": func(i int) int { return (all.Label(i) + 1) % 3 },
			} {
				if got := of(all, label); !maps.Equal(got, want) {
					t.Errorf("with other labels (%s) these differ: %q", name, differing(got, want))
				}
			}
			pixels := slices.Clone(all.Pixels(0))
			defer copy(all.Pixels(0), pixels)
			all.Pixels(0)[0] ^= 128
			if got, model := of(all, all.Label), filepath.Join("/tiny-1", folder.Model); got[model] == want[model] {
				t.Error("with another picture the model is the same")
			}
		})
	}
}

func differing(a, b map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a)), func(path string) bool { return a[path] == b[path] })
}

// Every unit of privacy says what the places of examples may depend on, and the threat model says
// it too.
func TestPlacesOfEveryUnit(t *testing.T) {
	text := tiny.Read(t, filepath.Join("..", "..", "docs", "threat-model.md"))
	for _, unit := range []string{configs.UnitExample, configs.UnitLabel, configs.UnitPerson} {
		want := setup.AsFound
		if unit == configs.UnitLabel {
			want = setup.ByContent
		}
		c := tiny.Parse(t)
		c.Privacy.Unit = unit
		if got := setup.Places(c); got != want || !strings.Contains(strings.Join(strings.Fields(text), " "), string(got)) {
			t.Errorf("the places of unit %s may depend on %q, expected %q, and the threat model to say so", unit, got, want)
		}
	}
	c := tiny.Parse(t)
	if c.Privacy.Unit = "household"; setup.Places(c) != "" {
		t.Error("a unit without a row has an order")
	}
}

// flat are overrides of a run that learns next to nothing, so that every class is a candidate of
// every example in the second stage, too.
var flat = instead(stages, "training.steps=1", "optimizer.learning_rate=1e-6")

// tellAll asks all labels of a new run, and returns the run, how many candidates each answer had at
// least, and the answers.
func tellAll(t *testing.T, o Options) (r *Run, fewest int, told []int32) {
	t.Helper()
	r = tiny.Must(Create(tiny.Parse(t, flat...), o))(t)
	t.Cleanup(func() { r.Close() })
	ask := r.ask
	fewest = 3
	r.ask = func(candidates []int, place int) int {
		fewest = min(fewest, len(candidates))
		return ask(candidates, place)
	}
	tiny.Must(r.Fit(t.Context()))(t)
	return r, fewest, r.told
}

// Answers are drawn anew in every run, in both stages, and so is the order of equal examples. Each
// of 150 answers at ε = 2 is that of another run with a chance of 0.64: all are with a chance below
// 1e-28. The three labels of 300 equal pictures stand alike with a chance below 1e-100.
func TestAnswersAreDrawnAnew(t *testing.T) {
	o := options(t)
	_, fewest, first := tellAll(t, o)
	_, fewer, second := tellAll(t, o)
	if fewest != 3 || fewer != 3 {
		t.Fatalf("some answers had %d or %d candidates, expected 3", fewest, fewer)
	}
	for from, name := range map[int]string{0: "first", len(first) / 2: "second"} {
		if to := from + len(first)/2; slices.Equal(first[from:to], second[from:to]) {
			t.Errorf("two runs have the same answers in the %s stage", name)
		}
	}

	pixels := make([]uint8, tiny.Examples*36)
	equal := tiny.Must(data.NewImages(data.Shape{Height: 6, Width: 6, Channels: 1}, o.Given.Train.Classes(), slices.Repeat([]uint8{0, 1, 2}, tiny.Examples/3), pixels))(t)
	o.Given = &data.Split{Name: "equal", Train: equal, Test: o.Given.Test}
	a, _, _ := tellAll(t, o) // whose first stage asks all of them
	b, _, _ := tellAll(t, o)
	if !slices.ContainsFunc(a.whole, func(place int) bool { return a.secret.Secret(place) != b.secret.Secret(place) }) {
		t.Error("equal pictures stand in the same order in two runs")
	}
}

// No label is asked before its event is in the ledgers of the run and of its data, and none is in a
// file by then.
func TestEventsStandBeforeTheirAnswers(t *testing.T) {
	o := options(t)
	r := tiny.Must(Create(tiny.Parse(t, flat...), o))(t)
	defer r.Close()
	calls, ask := 0, r.ask
	r.ask = func(candidates []int, place int) int {
		stage := 1
		if calls >= len(r.half()) {
			stage = 2
		}
		calls++
		if n := tiny.Releases(t, r.Dir); n != stage {
			t.Fatalf("the ledger holds %d events while label %d is asked, expected %d", n, calls, stage)
		}
		members, err := books.ReadDatasets(o.RunsDir)
		if err != nil || len(members.Members) != 1 || members.Members[0].Entries != stage {
			t.Fatalf("the ledger of the data holds %+v (%v) while label %d is asked, expected %d entries", members.Members, err, calls, stage)
		}
		content, err := os.ReadFile(r.Path(folder.Labels))
		if stage == 1 && !errors.Is(err, fs.ErrNotExist) || stage == 2 && bytes.Count(content, []byte{untold}) != len(r.whole)-len(r.half()) {
			t.Fatalf("answers of stage %d stand in the file while label %d is asked (%v)", stage, calls, err)
		}
		return ask(candidates, place)
	}
	if _, err := r.Fit(t.Context()); err != nil || calls != len(r.whole) {
		t.Errorf("%d labels were asked (%v), expected %d", calls, err, len(r.whole))
	}

	failed := tiny.Must(Create(tiny.Parse(t, flat...), o))(t)
	tiny.Check(t, failed.Books.Close())
	failed.ask = func([]int, int) int {
		t.Fatal("a label is asked without an event")
		return 0
	}
	if _, err := failed.Fit(t.Context()); err == nil || folder.HoldsAny(failed.Dir, folder.Labels) {
		t.Errorf("with a ledger that takes no event: %v, or answers in a file; expected neither answer nor label", err)
	}
}

// counted says how often each label was looked at.
type counted struct {
	data.Set
	looks []int
}

func (c counted) Label(i int) int {
	c.looks[i]++
	return c.Set.Label(i)
}

// A run that goes on asks no label again, also of equal pictures, which stand in another order
// then.
func TestEqualPicturesAreAskedOnce(t *testing.T) {
	all, o := tiny.Pictures(t, 3, 1), options(t)
	var labels, pixels []uint8
	for i := range tiny.Examples {
		labels, pixels = append(labels, uint8(i%3)), append(pixels, all.Pixels(i/3%3)...)
	}
	equal := tiny.Must(data.NewImages(all.Shape(), all.Classes(), labels, pixels))(t)
	o.Given = &data.Split{Name: "equal", Train: counted{equal, make([]int, tiny.Examples)}, Test: o.Given.Test}
	stopped, o := fit(t, o, 5, stages...)
	tiny.Must(resume(t, stopped.Run, o))(t)
	for i, n := range o.Given.Train.(counted).looks {
		if n != 1 {
			t.Fatalf("label %d was asked %d times, expected once", i, n)
		}
	}
}

// Answers belong to places, so a run with other pictures does not go on; one whose labels changed
// does.
func TestOtherPicturesAreRefused(t *testing.T) {
	stopped, o := fit(t, options(t), 5, stages...)
	shown := o.Given.Train.(*data.Images)
	shown.Pixels(0)[0]++
	if _, err := resume(t, stopped.Run, o); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("found %v, expected a refusal of another picture", err)
	}
	shown.Pixels(0)[0]--
	tiny.Must(resume(t, stopped.Run, o))(t)
}

// A run of a version in which places could follow from labels does not go on, and says why.
func TestRunsInFoundOrderAreRefused(t *testing.T) {
	stopped, o := fit(t, options(t), 5, ofLabels...)
	r := tiny.Must(Open(stopped.Run, Options{Options: run.Options{Request: setup.Request{Given: o.Given}}}))(t)
	r.PlanHash = run.HashOf(r.foundIdentity()) // what that version wrote
	tiny.Check(t, r.Save())
	state, _, err := checkpoints.Latest(r.Path(folder.Checkpoints))
	if err != nil || state.PlanHash != r.fingerprint(r.PlanHash, 1) {
		t.Fatalf("the checkpoint is not that of the earlier version: %v", err)
	}
	tiny.Check(t, r.Close())
	before := tiny.Snapshot(t, o.RunsDir)
	if _, err := resume(t, stopped.Run, o); !errors.Is(err, books.ErrOtherPlan) || !strings.Contains(err.Error(), "earlier version") {
		t.Errorf("found %v, expected a refusal that names the earlier version", err)
	}
	if after := tiny.Snapshot(t, o.RunsDir); !maps.Equal(before, after) {
		t.Error("the refusal wrote")
	}
}

// One byte tells an answer from a label that was not told yet: two stages take up to 255 classes,
// because the 256th would be asked twice.
func TestTwoStagesLeaveRoomForLabelsNotTold(t *testing.T) {
	for _, classes := range []int{255, 256} {
		o, names := options(t), make([]string, classes)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		small := tiny.Must(data.NewImages(data.Shape{Height: 6, Width: 6, Channels: 1}, names, make([]uint8, tiny.Examples), make([]uint8, 36*tiny.Examples)))(t)
		o.Given = &data.Split{Train: small, Test: small}
		r, err := Create(tiny.Parse(t, flat...), o)
		if (err == nil) != (classes == 255) || err != nil && !strings.Contains(err.Error(), "found 256 classes with privacy.label_stages 2, expected at most 255, or 1 stage") {
			t.Errorf("%d classes: error is %v", classes, err)
		}
		if err == nil {
			r.Close()
		}
	}
}
