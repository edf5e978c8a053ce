package report

import (
	"bytes"
	"context"
	"errors"
	unescape "html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/chart"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/stats"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// read is the report of folders, with test examples that are those of tiny runs.
func read(t *testing.T, q Request, dirs ...string) *Report {
	t.Helper()
	return tiny.Must(Read(context.Background(), dirs, q, "v1"))(t)
}

// examined is a run of tiny pictures with its predictions, as a report reads those of a run whose
// data it can read.
func examined(t *testing.T, o train.Options, overrides ...string) *Run {
	t.Helper()
	run := tinyrun.Train(t, o, overrides...)
	r := read(t, Request{Accountants: true}, run.Run).Runs[0]
	e := tiny.Must(train.Examine(run.Run, o))(t)
	r.Examination = &e
	return r
}

func htmlOf(t *testing.T, r *Report) string {
	t.Helper()
	if r.Title == "" {
		r.Title = r.title()
	}
	page := tiny.Must(r.HTML())(t)
	return string(page)
}

// A report of a run says what the run claimed, measured and cost, with every figure beside its
// numbers, and the same folder gives the same bytes.
func TestReportOfARun(t *testing.T) {
	run := examined(t, tinyrun.Options(t), "training.evaluate_every=4")
	run.Config.Privacy.Epsilon, run.Spent.Epsilon = 2, 0.753 // which leave a little less than 1.247 in float64
	page := htmlOf(t, &Report{Runs: []*Run{run}})
	for _, want := range []string{
		"<h1 id=\"top\">Run tiny-1</h1>", "differentially private", epsilon(run.Spent.Epsilon), "train run tiny-1.yaml", "clip_norm: 0.5",
		"ε over steps by the accountants", "Test accuracy over steps", "Test accuracy over ε", "Test accuracy by class", "Confusion matrix",
		"test picture 1, class", run.Statement.LedgerHead, `<th scope="row">middle</th><td>30</td>`, "95 %", "<td>1.246</td>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("found no %q", want)
		}
	}
	if again := htmlOf(t, &Report{Runs: []*Run{run}}); page != again {
		t.Error("two reports of one run differ")
	}
	tiny.Write(t, filepath.Join(run.Dir, "..", folder.Sweep), `{"draw":{"from":"trials geometric with mean 2"}}`)
	if page := htmlOf(t, &Report{Runs: []*Run{run}}); !strings.Contains(page, `<p class="lead">Not to be published`) {
		t.Error("the report of a trial among a drawn number is not marked")
	}
}

var attribute = regexp.MustCompile(`\s(?:src|href|action|data|poster|srcset|xlink:href)="([^"]*)"`)

// A report is one file: nothing in it points anywhere but into it, its policy forbids requests and
// scripts, headings are in order, and figures have labels.
func TestReportNeedsNothingElse(t *testing.T) {
	o := tinyrun.Options(t)
	r := &Report{Runs: []*Run{examined(t, o), examined(t, o, "privacy.clip_norm=1")}, Version: "v1"}
	page := htmlOf(t, r)
	for _, found := range attribute.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(found[1], "#") && !strings.HasPrefix(found[1], "data:") {
			t.Errorf("found %s, expected nothing outside the file", found[0])
		}
	}
	if !strings.Contains(page, `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'`) || strings.Contains(page, "<script") || strings.Contains(page, "@import") || strings.Contains(page, "url(") {
		t.Error("found a page that could run or load something")
	}
	level, first := 0, 0
	for _, h := range regexp.MustCompile(`<h([1-6])`).FindAllStringSubmatch(page, -1) {
		next, _ := strconv.Atoi(h[1])
		if next > level+1 {
			t.Errorf("found a heading of level %d after one of level %d", next, level)
		}
		if level = next; level == 1 {
			first++
		}
	}
	if first != 1 {
		t.Errorf("found %d headings of level 1, expected one", first)
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("found the id %q twice", id[1])
		}
		ids[id[1]] = true
	}
	if drawings := strings.Count(page, "<svg "); drawings == 0 || drawings != strings.Count(page, `role="img" aria-label="`) || drawings != strings.Count(page, "<figcaption>") {
		t.Errorf("found %d drawings, expected a label and a caption for each", drawings)
	}
	for _, want := range []string{"2 runs side by side", "Settings that differ", `<th scope="row">privacy.clip_norm</th><td>0.5</td><td>1</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("found no %q", want)
		}
	}
}

// Whatever a name, a class or a file holds is text on the page.
func TestNamesAreText(t *testing.T) {
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	run := examined(t, tinyrun.Options(t))
	run.Name, run.YAML = attack, "a: "+attack
	run.Markdown = "# " + attack + "\n\n| " + attack + " | " + attack + " |\n"
	run.Unexamined, run.Warnings = attack, []string{attack}
	run.Config.Model.Name = attack
	for i := range run.Examination.Classes {
		run.Examination.Classes[i].Name = attack
		run.Examination.Matrix.Names[i] = attack
	}
	accuracy := 0.5
	row := func(value string) books.Row {
		return books.Row{Trial: attack, Settings: []configs.Setting{{Key: "a." + attack, Value: value}, {Key: "b.c", Value: value}}, Test: score.Test{TestAccuracy: score.Value(accuracy)}, Status: attack}
	}
	s := &Sweep{Name: attack, Dir: attack, Note: attack, Uncomposed: attack, Keys: []string{"a." + attack, "b.c"}, Rows: []books.Row{row(attack), row("2")}}
	page := htmlOf(t, &Report{Runs: []*Run{run, run}, Sweeps: []*Sweep{s}, Version: attack})
	if strings.Contains(page, "<script") || strings.Contains(page, "<img src=x") {
		at := max(0, strings.Index(page, "<script")-200)
		t.Errorf("found an element that a name made: …%.300s", page[at:])
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 30 {
		t.Errorf("found the name %d times as text, expected it wherever it stands", n)
	}
}

// No number of private diagnostics is in a report, unless it was asked for; then the page and the
// name of its file say so.
func TestPrivateDiagnosticsStayOut(t *testing.T) {
	o := tinyrun.Options(t)
	trained := tinyrun.Train(t, o, "run.private_diagnostics=true", "training.evaluate_every=4")
	lines, err := run.ReadDiagnostics(trained.Run)
	if err != nil || len(lines) == 0 {
		t.Fatalf("found %d lines, error %v", len(lines), err)
	}
	public := read(t, Request{Accountants: true}, trained.Run)
	private := read(t, Request{Private: true}, trained.Run)
	tiny.Check(t, os.Remove(filepath.Join(trained.Run, folder.Diagnostics)))
	if htmlOf(t, public) != htmlOf(t, read(t, Request{Accountants: true}, trained.Run)) {
		t.Error("found another report than without the file of private diagnostics")
	}
	for _, want := range []string{"<strong>NOT private.</strong>", "Clipped fraction over steps", "Norms of per-example gradients over steps", strconv.FormatFloat(lines[0].NormQuantiles[2], 'g', 4, 64)} {
		if !strings.Contains(htmlOf(t, private), want) {
			t.Errorf("found no %q in the report with private diagnostics", want)
		}
	}
	dir := t.TempDir()
	if err := private.Write(filepath.Join(dir, "report.html")); !errors.Is(err, ErrName) {
		t.Errorf("found error %v, expected that the name hides what is in the report", err)
	}
	tiny.Check(t, private.Write(filepath.Join(dir, "report.private.html")))
	tiny.Check(t, public.Write(filepath.Join(dir, "report.html")))
	plots := tiny.Must(private.WritePlots(dir))(t)
	marked := 0
	for _, path := range plots {
		name := filepath.Base(path)
		if isPrivate := strings.Contains(name, ".private."); isPrivate != (strings.HasPrefix(name, "clipped") || strings.HasPrefix(name, "norms")) {
			t.Errorf("found the plot %s, expected its name to say whether it is private", name)
		} else if isPrivate {
			marked++
		}
	}
	if marked != 2*len(chart.Formats()) {
		t.Errorf("found %d private plots, expected two figures", marked)
	}
}

// The pictures of a report are test pictures, as many as were meant, and none is a training
// picture.
func TestPicturesAreTestPictures(t *testing.T) {
	o := tinyrun.Options(t)
	run := examined(t, o)
	page := unescape.UnescapeString(htmlOf(t, &Report{Runs: []*Run{run}}))
	training, test := o.Given.Train.(*data.Images), o.Given.Test.(*data.Images)
	for i := range training.Len() {
		if strings.Contains(page, `src="`+string(pictureURL(training, i))) {
			t.Errorf("found training picture %d", i)
		}
	}
	shown := 0
	for i := range test.Len() {
		shown += strings.Count(page, `src="`+string(pictureURL(test, i)))
	}
	if pictures := strings.Count(page, "<img "); shown != pictures || pictures < samplesOfGroup || pictures > 2*samplesOfGroup {
		t.Errorf("found %d pictures, of which %d are test pictures", pictures, shown)
	}
	if groups := (part{Run: run}).Samples(5); len(groups[0].Samples) != 5 || groups[0].Samples[0].Number != 1 || groups[0].Samples[4].Number != 73 {
		t.Errorf("found %+v, expected 5 pictures evenly from 90", groups[0])
	}
}

// A large picture is made smaller, in colour as it was.
func TestLargePicturesShrink(t *testing.T) {
	shape := data.Shape{Height: 200, Width: 100, Channels: 3}
	pixels := bytes.Repeat([]byte{10, 20, 30}, 200*100)
	small := picture(shape, pixels)
	if b := small.Bounds(); b.Dx() != 20 || b.Dy() != 40 {
		t.Errorf("found %v, expected a fifth of 100 by 200", b)
	}
	if r, g, b, _ := small.At(3, 3).RGBA(); r>>8 != 10 || g>>8 != 20 || b>>8 != 30 {
		t.Errorf("found %d, %d, %d, expected 10, 20, 30", r>>8, g>>8, b>>8)
	}
}

// A run whose data is not there, one that has not ended, and one that was gone on with since its
// statement are reported without what is missing, and the page says why.
func TestReportWithoutAPart(t *testing.T) {
	o := tinyrun.Options(t)
	stopped := tinyrun.Interrupted(t, 5, o)
	r := read(t, Request{Predict: true, Request: setup.Request{DataFolder: filepath.Join(t.TempDir(), "gone")}}, stopped.Run)
	if page := htmlOf(t, r); !strings.Contains(page, "Not predicted: ") || !strings.Contains(page, "interrupted") {
		t.Error("found no word of why nothing was predicted, or of how the run ended")
	}
	tiny.Check(t, os.Remove(filepath.Join(stopped.Run, folder.StatementData)))
	if page := htmlOf(t, read(t, Request{}, stopped.Run)); !strings.Contains(page, "has not ended") || !strings.Contains(page, "So far it has spent ε = ") {
		t.Error("found no word of a run that has not ended")
	}
	again := tinyrun.Interrupted(t, 5, o)
	o.Stepped = func(p train.Progress) {
		if p.Step != 8 {
			return
		}
		if page := htmlOf(t, read(t, Request{}, again.Run)); !strings.Contains(page, "is about 5 entries of the ledger, which holds 8") || strings.Contains(page, "differentially private with respect") {
			t.Error("found the statement about 5 releases while there are 8")
		}
	}
	tinyrun.Fit(t, tinyrun.Open(t, again.Run, o))
}

// Every figure becomes a file of each format.
func TestPlots(t *testing.T) {
	run := examined(t, tinyrun.Options(t))
	r, dir := &Report{Runs: []*Run{run, run}}, t.TempDir()
	files := tiny.Must(r.WritePlots(dir))(t)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(files) || len(files) != 2*(5+2*5) {
		t.Errorf("found %d files for %d names, error %v, expected 5 figures of both runs and 5 of each, twice", len(entries), len(files), err)
	}
}

// What is not the folder of a run or of a sweep is refused by name.
func TestReadRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	tiny.Write(t, file, "")
	for _, dir := range []string{file, t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := Read(context.Background(), []string{dir}, Request{}, ""); !errors.Is(err, folder.ErrNoRun) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: found error %v", dir, err)
		}
	}
}

// Twenty runs with large pictures, measured at every one of many steps, stay below 2 MiB. All of
// them stand side by side; the first ones have a part of their own.
func TestSize(t *testing.T) {
	run := examined(t, tinyrun.Options(t))
	for i := range 5000 {
		m := run.Metrics[0]
		m.Step = i + 1
		run.Metrics = append(run.Metrics, m)
	}
	shape := data.Shape{Height: 96, Width: 96, Channels: 3}
	pixels, source := make([]uint8, len(run.Examination.Predictions)*shape.Values()), random.Seeded(1)
	for i := range pixels {
		pixels[i] = uint8(source.Uint64()) // noise: no picture is larger as a PNG
	}
	var err error
	if run.Examination.Pictures, err = data.NewImages(shape, run.Examination.Matrix.Names, make([]uint8, len(run.Examination.Predictions)), pixels); err != nil {
		t.Fatal(err)
	}
	var runs []*Run
	for range 20 {
		runs = append(runs, run)
	}
	page := htmlOf(t, &Report{Runs: runs})
	if n := len(page); n > 2<<20 {
		t.Errorf("found %d bytes, expected at most 2 MiB", n)
	}
	if parts := strings.Count(page, ">Run tiny-1</h2>"); parts != mostDetailed || !strings.Contains(page, "12 have none") || !strings.Contains(page, "more lines than there is room for names") {
		t.Errorf("found %d parts, expected %d and a word about the others", parts, mostDetailed)
	}
}

// Where there are more classes than a figure has room for, there is a table.
func TestManyClasses(t *testing.T) {
	run := examined(t, tinyrun.Options(t))
	run.Examination.Classes = slices.Repeat(run.Examination.Classes[:1], 101)
	page := htmlOf(t, &Report{Runs: []*Run{run}})
	if strings.Contains(page, "Confusion matrix</figcaption>") || strings.Contains(page, "by class</figcaption>") || strings.Count(page, `<th scope="row">top</th>`) < 90 {
		t.Error("found figures of 101 classes, expected a table")
	}
}

// A sweep whose models learn numbers has their errors in its table, and no part on accuracy.
func TestSweepOfNumbers(t *testing.T) {
	page := htmlOf(t, &Report{Sweeps: []*Sweep{{Rows: []books.Row{{}, {Test: score.OfError(96.07)}}}}})
	if !strings.Contains(page, "mean test error</th>") || !strings.Contains(page, "96.07") || strings.Contains(page, "accuracy") {
		t.Errorf("found\n%s", page)
	}
}

// A long list is cut, whatever the spaces behind its commas add to it.
func TestLongListsAreCut(t *testing.T) {
	for n := range 400 {
		if cut := shortened(stats.Numbers{List: make([]float64, n)}); len(cut) > 243 || strings.HasSuffix(cut, "]") != (n <= 80) {
			t.Errorf("found %q of %d numbers", cut, n)
		}
	}
}
