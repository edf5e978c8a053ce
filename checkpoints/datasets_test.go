package checkpoints

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dpsgd/accountant"
	"dpsgd/internal/disk/disktest"
	"dpsgd/internal/slow"
)

// newDatasets makes a ledger of data sets in a new folder of runs.
func newDatasets(t *testing.T) (*Datasets, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "datasets.jsonl")
	d := must(CreateDatasets(path))
	t.Cleanup(func() { d.Close() })
	return d, path
}

// newMember registers a run with so many releases, all of them in both ledgers.
func newMember(t *testing.T, d *Datasets, name string, releases int) (*Journal, string) {
	t.Helper()
	path := filepath.Join(filepath.Dir(d.path), name, "ledger.jsonl")
	j := must(CreateRegistered(path, d))
	t.Cleanup(func() { j.Close() })
	r := testRegistration
	r.Path = name
	must(0, d.Register(j, r))
	for step := range releases {
		must(0, j.AppendWith(d, step+1, event(1.1)))
	}
	return j, path
}

func TestDatasetsComeBack(t *testing.T) {
	d, path := newDatasets(t)
	one, _ := newMember(t, d, "one", 3)
	two, _ := newMember(t, d, "two", 2)
	must(0, one.AppendWith(d, 4, event(2)))
	for name, info := range map[string]DatasetsInfo{"open": d.Info(), "read": must(ReadDatasets(path)), "opened again": must(OpenDatasets(path)).Info()} {
		if info.ID != d.book.id || info.Lines != 1+2+6 || info.Hash != d.Info().Hash || len(info.Members) != 2 {
			t.Fatalf("%s: found %+v", name, info)
		}
		for i, j := range []*Journal{one, two} {
			m, ok := info.Member(j.Info().Run)
			if !ok || m.Entries != j.Len() || m.Hash != j.Hash() || !reflect.DeepEqual(m.Ledger.Entries(), j.Ledger().Entries()) || m.Path != []string{"one", "two"}[i] || m.Data != testRegistration.Data {
				t.Errorf("%s: found %+v, expected what the run's own ledger holds", name, m)
			}
			must(0, j.Check(m.Claim("datasets.jsonl")))
		}
	}
	before := must(os.ReadFile(path))
	must(0, d.Register(one, testRegistration)) // nothing is missing
	must(0, must(CreateDatasets(path)).Close())
	if !bytes.Equal(before, must(os.ReadFile(path))) {
		t.Error("a ledger that lacks nothing was changed")
	}
	must(0, d.Close())
	wantError(t, one.AppendWith(d, 5, event(2)), ErrJournalFailed, "append entry 5")
}

// The format is a promise to other programs, like the format of a run's ledger.
func TestDatasetsLines(t *testing.T) {
	d, path := newDatasets(t)
	j, own := newMember(t, d, "one", 1)
	lines := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(path))), "\n"), "\n")
	ownLines := strings.Split(string(must(os.ReadFile(own))), "\n")
	hex, run := `"[0-9a-f]{32}"`, j.Info().Run
	patterns := []string{
		`^\{"format":"dpsgd-datasets","version":1,"id":` + hex + `\}$`,
		`^\{"register":\{"run":"` + run + `","path":"one","data":\{"name":"digits","examples":20,"shape":"2x2x1","classes":2\},"delta":0\.00001,"accountant":"rdp","entries":0,"last_step":0,"head":"` +
			shortHash(ownLines[0]) + `","released":\[\]\},"previous":"` + shortHash(lines[0]) + `","hash":` + hex + `\}$`,
		`^\{"release":\{"run":"` + run + `","line":` + regexp.QuoteMeta(ownLines[1]) + `\},"previous":` + hex + `,"hash":` + hex + `\}$`,
	}
	if want := `{"format":"dpsgd-ledger","version":2,"run":"` + run + `","datasets":"` + d.Info().ID + `"}`; ownLines[0] != want {
		t.Errorf("the run's header is %s, expected %s", ownLines[0], want)
	}
	for i, line := range lines {
		if !regexp.MustCompile(patterns[i]).MatchString(line) {
			t.Errorf("line %s does not match %s", line, patterns[i])
		}
		content, hash := cutHash(line)
		if i > 0 && hash != shortHash(content) {
			t.Errorf("line %d: hash %s, expected %s", i+1, hash, shortHash(content))
		}
	}
	for n, line := range lines[1:] {
		_, hash := cutHash(line)
		if found := must(FindHash(path, hash)); found != n+2 {
			t.Errorf("found hash %s in line %d, expected line %d", hash, found, n+2)
		}
	}
	if found := must(FindHash(path, strings.Repeat("0", 32))); found != 0 {
		t.Errorf("found an unknown hash in line %d", found)
	}
	for _, entries := range []int{0, 2} {
		c := chain{run: run, entries: entries}
		must(0, c.ledger.Add(event(1.1), entries/2))
		line := must(d.book.formatRegister(&c, testRegistration))
		if err := d.book.addLine(4, line[:len(line)-1]); err == nil || !strings.Contains(err.Error(), "expected as many, and at least the 1 before") {
			t.Errorf("found %v for %d entries of %d releases, of which one was known", err, entries, c.ledger.Count())
		}
	}
}

// cutHash takes the hash from the end of a line.
func cutHash(line string) (content, hash string) {
	i := strings.LastIndex(line, hashKey)
	return line[:max(0, i)], strings.TrimSuffix(line[max(0, i)+len(hashKey):], recordEnd)
}

// Cut anywhere, the ledger opens with all lines that are complete.
func TestDatasetsCutOff(t *testing.T) {
	d, path := newDatasets(t)
	newMember(t, d, "one", 2)
	file := must(os.ReadFile(path))
	for n := range file {
		var b book
		_, err := b.read(bytes.NewReader(file[:n]))
		if n <= bytes.IndexByte(file, '\n') {
			if !errors.Is(err, ErrUnfinished) {
				t.Fatalf("%d bytes: found error %v, expected ErrUnfinished", n, err)
			}
			continue
		}
		want := bytes.Count(file[:n], []byte("\n"))
		if file[n] == '\n' { // lacks only its newline
			want++
		}
		if err != nil || b.lines != want {
			t.Fatalf("%d bytes: found %d lines (%v), expected %d", n, b.lines, err, want)
		}
	}
}

// A process cuts off the line that another one tore when it was killed, and not before it appends.
func TestDatasetsCutATornLine(t *testing.T) {
	d, path := newDatasets(t)
	j, _ := newMember(t, d, "one", 2)
	whole := must(os.ReadFile(path))
	torn := append(bytes.Clone(whole), `{"release":{"run":"00`+strings.Repeat("1", 1000)...)
	must(0, os.WriteFile(path, torn, 0o600))
	other := must(OpenDatasets(path))
	defer other.Close()
	if info := must(ReadDatasets(path)); info.Lines != 4 || other.Info().Lines != 4 || !bytes.Equal(torn, must(os.ReadFile(path))) {
		t.Errorf("found %d lines, or reading changed the file", info.Lines)
	}
	must(0, j.AppendWith(d, 3, event(1)))
	if after := must(os.ReadFile(path)); !bytes.HasPrefix(after, whole) || bytes.Count(after, []byte("\n")) != 5 {
		t.Error("the torn line was not replaced")
	}
	must(0, other.Refresh())
	if other.Info().Hash != d.Info().Hash {
		t.Error("the other process sees another ledger")
	}
}

// Runs that are under way at the same time append in turn, each through a handle of its own as in a
// process of its own, and nothing is lost.
func TestDatasetsOfManyWriters(t *testing.T) {
	const writers, releases = 4, 25
	first, path := newDatasets(t)
	var group sync.WaitGroup
	for i := range writers {
		d := must(OpenDatasets(path))
		defer d.Close()
		j, _ := newMember(t, d, fmt.Sprint("run-", i), 0)
		group.Go(func() {
			for step := range releases {
				if err := j.AppendWith(d, step+1, event(float64(i+1))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	must(0, first.Refresh())
	info := must(ReadDatasets(path))
	if info.Hash != first.Info().Hash || len(info.Members) != writers {
		t.Fatalf("found %d members, or two views of one file", len(info.Members))
	}
	for _, m := range info.Members {
		if m.Entries != releases || len(m.Ledger.Entries()) != 1 {
			t.Errorf("%s: found %d releases of %v", m.Path, m.Entries, m.Ledger)
		}
	}
}

// A run that is ahead of the ledger of its data is caught up with in one line.
func TestDatasetsCatchUp(t *testing.T) {
	d, path := newDatasets(t)
	j, _ := newMember(t, d, "one", 2)
	for step := 3; step <= 50; step++ {
		must(0, j.Append(step, event(float64(step/20))))
	}
	lines := must(ReadDatasets(path)).Lines
	must(0, d.Register(j, testRegistration))
	must(0, j.AppendWith(d, 51, event(1)))
	info := must(ReadDatasets(path))
	m, _ := info.Member(j.Info().Run)
	if info.Lines != lines+2 || m.Entries != 51 || m.Hash != j.Hash() || !reflect.DeepEqual(m.Ledger.Entries(), j.Ledger().Entries()) {
		t.Errorf("found %+v after %d lines, expected what the run holds", m, info.Lines)
	}
}

// A ledger that stands alone, as runs of the first version have one, is taken in with what it
// holds.
func TestDatasetsAdopt(t *testing.T) {
	d, path := newDatasets(t)
	j, own := newJournal(t, 1, 2, 3)
	for range 2 {
		must(0, d.Adopt(own, testRegistration))
	}
	info := must(ReadDatasets(path))
	if m, ok := info.Member(j.Info().Run); !ok || m.Entries != 3 || m.Hash != j.Hash() || info.Lines != 2 {
		t.Errorf("found %+v in %d lines", m, info.Lines)
	}
	must(0, j.AppendWith(d, 4, event(1)))
}

// Two copies of one run cannot both go on: whoever comes second is refused, also while both are
// open.
func TestDatasetsRefuseForks(t *testing.T) {
	d, path := newDatasets(t)
	j, own := newMember(t, d, "one", 2)
	copied := filepath.Join(filepath.Dir(path), "copy.jsonl")
	must(0, os.WriteFile(copied, must(os.ReadFile(own)), 0o600))
	twin := must(OpenJournal(copied))
	defer twin.Close()
	must(0, twin.AppendWith(d, 3, event(1)))

	before := must(os.ReadFile(path))
	wantError(t, j.AppendWith(d, 3, event(1)), ErrRollback, own, "a copy of the run goes on elsewhere")
	wantError(t, j.AppendWith(d, 3, event(1)), ErrJournalFailed)
	if !bytes.Equal(before, must(os.ReadFile(path))) {
		t.Error("a refused release was written")
	}
	j.Close()

	must(0, twin.AppendWith(d, 4, event(1)))
	m, _ := d.Info().Member(twin.Info().Run)
	again := must(OpenJournal(own))
	defer again.Close()
	wantError(t, again.Check(m.Claim("datasets.jsonl")), ErrRollback, own, "found 3 ledger entries, expected at least the 4 of datasets.jsonl")
	wantError(t, d.Register(again, testRegistration), ErrRollback, path)
	must(0, again.Append(4, event(1))) // on a branch of its own, as long as that of the other one
	wantError(t, again.AppendWith(d, 5, event(1)), ErrRollback, own, "a copy of the run goes on elsewhere")
	wantError(t, d.Register(again, testRegistration), ErrRollback, path, "found hash "+twin.Hash(), "after 4 entries")
	wantError(t, d.Adopt(own, testRegistration), ErrRollback, path, "found hash "+twin.Hash())
}

// After a power loss the last line may be in the ledger of the data alone. It counts, and comes
// back; but not if a checkpoint knows it, because then it was acknowledged, and is gone for another
// reason.
func TestMissingLastEntry(t *testing.T) {
	d, _ := newDatasets(t)
	j, own := newMember(t, d, "one", 3)
	whole, hash := must(os.ReadFile(own)), j.Hash()
	short := whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1]
	state := runState(3, j).Claim()
	j.Close()
	m, _ := d.Info().Member(d.Info().Members[0].Run)
	claim := m.Claim("datasets.jsonl")

	must(0, os.WriteFile(own, short, 0o600))
	ledger, info, err := ReadJournal(own, claim)
	if err != nil || ledger.Count() != 3 || info.Hash != hash {
		t.Errorf("read %v with hash %s (%v), expected 3 releases", ledger, info.Hash, err)
	}
	j = must(OpenJournal(own))
	wantError(t, j.Check(claim, state), ErrRollback, "found 2 ledger entries, expected at least the 3 of the checkpoint at step 3")
	if !bytes.Equal(short, must(os.ReadFile(own))) {
		t.Error("a refused ledger was changed")
	}
	must(0, errors.Join(j.Check(claim), j.Check())) // who asks again does not lose the line
	must(0, j.Recover())
	must(0, d.Register(j, testRegistration))
	if j.Hash() != hash || !bytes.Equal(whole, must(os.ReadFile(own))) {
		t.Error("the line did not come back as it was")
	}
	must(0, j.AppendWith(d, 4, event(1)))
	j.Close()

	must(0, os.WriteFile(own, short, 0o600))
	j = must(OpenJournal(own))
	must(0, errors.Join(j.Check(claim), j.AppendAll(4, event(1), 2), j.Close()))
	if _, info, err := ReadJournal(own); err != nil || info.Entries != 5 {
		t.Errorf("found %+v, %v, expected the line that came back ahead of two others", info, err)
	}
	must(0, os.WriteFile(own, short[:bytes.LastIndexByte(short[:len(short)-1], '\n')+1], 0o600))
	_, _, err = ReadJournal(own, claim)
	wantError(t, err, ErrRollback, "found 1 ledger entries, expected at least the 3 of datasets.jsonl")
}

// A unit that is none, or does not belong to the name of its data, is neither written nor read.
func TestUnitBelongsToItsName(t *testing.T) {
	d, path := newDatasets(t)
	j, _ := newJournal(t, 1)
	before := must(os.ReadFile(path))
	for _, wrong := range []Data{
		{Name: "digits", Unit: Unit{Kind: Label}}, {Name: "labels of digits", Unit: Unit{Kind: "labels"}}, {Name: "digits", Unit: Unit{By: "who"}},
		{Name: "persons of digits", Unit: Unit{Kind: Person, By: "who"}},
	} {
		r := testRegistration
		r.Data = wrong
		wantError(t, d.Register(j, r), nil, "expected the one in its name")
		wantError(t, d.Put(func(DatasetsInfo) Terms {
			return Terms{Limit: &Limit{Subject: wrong.Subject(), Epsilon: 1, Delta: 1e-5}}
		}), nil, "expected the one in its name")
	}
	if !bytes.Equal(before, must(os.ReadFile(path))) {
		t.Error("a refused unit was written")
	}
	for _, unit := range []Unit{{Kind: Example}, {Kind: Label}, {Kind: Person}, {Kind: Person, By: "who"}, {Kind: Client, By: "9 clients (iid, seed 1)"}} {
		if data := (Data{Name: unit.Of("pets"), Unit: unit}); data.Subject().check() != nil || unit.examples(data.Name) != "pets" {
			t.Errorf("%+v is refused, or not of pets", data)
		}
	}
}

// BenchmarkAppendWith is a release in both ledgers, to compare with BenchmarkAppend.
func BenchmarkAppendWith(b *testing.B) {
	d := must(CreateDatasets(filepath.Join(b.TempDir(), "datasets.jsonl")))
	defer d.Close()
	j := must(CreateRegistered(filepath.Join(b.TempDir(), "ledger.jsonl"), d))
	defer j.Close()
	must(0, d.Register(j, testRegistration))
	for step := 1; b.Loop(); step++ {
		must(0, j.AppendWith(d, step, event(1.1)))
	}
}

// The fuzzer damages real ledgers of data sets. Whatever is accepted reads the same again up to
// where it ended.
func FuzzReadDatasets(f *testing.F) {
	var b book
	var c chain
	file := b.formatHeader()
	must(0, b.addLine(1, file[:len(file)-1]))
	c.formatHeader(b.id)
	add := func(line []byte, err error) {
		must(0, err)
		must(0, b.addLine(b.lines+1, line[:len(line)-1]))
		file = append(file, line...)
	}
	add(b.formatRegister(&c, testRegistration))
	for step := range 3 {
		line, r, err := c.format(step+1, event(float64(step+1)))
		must(0, err)
		add(b.formatRelease(&c, line))
		must(0, c.add(r))
	}
	add(b.formatRegister(&c, testRegistration))
	slow.Inputs(f, [][]byte{file, file[:len(file)-1], file[:len(file)/2]}, func(t testing.TB, file []byte) int64 {
		var b, again book
		e, err := b.read(bytes.NewReader(file))
		if err != nil {
			return 0
		}
		for _, m := range b.order {
			if m.chain.entries != m.chain.ledger.Count() {
				t.Fatalf("%d entries, %d events", m.chain.entries, m.chain.ledger.Count())
			}
		}
		kept := bytes.TrimSuffix(file[:min(int(e.size), len(file))], []byte("\n"))
		if _, err := again.read(bytes.NewReader(append(bytes.Clone(kept), '\n'))); err != nil || again.head != b.head {
			t.Fatalf("the kept part reads differently: %v", err)
		}
		return 0
	})
}

// Whoever cannot give the lock back closes the file, which ends the lock: another process has it at
// once, and the first one accepts nothing more.
func TestFailedUnlockEndsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // else a failure would wait for a minute
		d := disktest.New()
		path := filepath.Join("runs", "datasets.jsonl")
		one, two := must(createDatasets(d, path)), must(openDatasets(d, path))
		d.Before = func(op *disktest.Operation) error {
			if op.Name == "unlock" {
				return errInjected
			}
			return nil
		}
		limit := func(DatasetsInfo) Terms {
			return Terms{Limit: &Limit{Subject: Subject{Data: "digits"}, Epsilon: 1, Delta: 1e-5}}
		}
		wantError(t, one.Put(limit), errInjected, path)
		d.Before = nil
		must(0, two.Put(limit))
		wantError(t, one.Put(limit), fs.ErrClosed, path)
		if n := two.Info().Lines; n != 3 {
			t.Errorf("found %d lines, expected the header and one of each process", n)
		}
	})
}

// Releases that are recorded together are lines like any others. They take one sync of the run's
// ledger, and one line in that of the data. When a call fails the run holds the first few of them,
// and the ledger of the data no more than the run.
func TestAppendAll(t *testing.T) {
	const count = 5
	for failAt := -1; ; failAt++ {
		files := &faultyDisk{failAt: -1}
		d := must(createDatasets(files, filepath.Join(t.TempDir(), "datasets.jsonl")))
		j, path := newMember(t, d, "one", 2)
		for _, wrong := range []error{j.AppendAll(9, event(1), 2), j.AppendAll(1, accountant.Gaussian{NoiseMultiplier: -1}, 2)} {
			if wrong == nil || j.Len() != 2 {
				t.Fatalf("found %v and %d entries, expected a refusal", wrong, j.Len())
			}
		}
		syncs := 0
		files.seen = func(call, _ string) { syncs += strings.Count(call, "sync") }
		files.calls, files.failAt = 0, failAt
		err := j.AppendAll(1, event(1.1), count)
		if err == nil {
			err = d.Register(j, testRegistration)
		}
		struck := failAt >= 0 && files.calls > failAt
		files.failAt, files.seen = -1, nil
		j.Close()
		own, info, unread := ReadJournal(path)
		shared := must(ReadDatasets(d.path)).Members[0]
		switch {
		case unread != nil || j.Ledger().Entries()[0].Count != j.Len():
			t.Errorf("call %d: found %v, %v, and %v in %d entries", failAt, err, unread, j.Ledger().Entries(), j.Len())
		case err == nil && (!struck && syncs != 2 || info.Entries != 2+count || info.LastStep != 1 || shared.LastStep != 1 || shared.Hash != info.Hash || !reflect.DeepEqual(own.Entries(), shared.Ledger.Entries())):
			t.Errorf("%d syncs, %+v, %v, expected 2 and %d entries in both ledgers", syncs, info, shared.Ledger.Entries(), 2+count)
		case shared.Entries > info.Entries || info.Entries < 2 || info.Entries > 2+count:
			t.Errorf("call %d: the run has %d entries, that of the data %d of them", failAt, info.Entries, shared.Entries)
		}
		d.Close()
		if failAt >= 0 && !struck {
			return // every call has had its turn
		}
	}
}

// An older copy that is written over the file under a run at work, and is as long again when another
// run has gone on, ends the run: it would write behind a line that it does not know.
func TestDatasetsWrittenOver(t *testing.T) {
	d, path := newDatasets(t)
	one, _ := newMember(t, d, "one", 1)
	other := must(OpenDatasets(path))
	defer other.Close()
	two, _ := newMember(t, other, "two", 1)
	older := must(os.ReadFile(path))
	must(0, one.AppendWith(d, 2, event(1.1)))
	newer := must(os.ReadFile(path))
	must(0, os.WriteFile(path, older, 0o600))
	must(0, two.AppendWith(other, 2, event(1.1)))
	if now := must(os.ReadFile(path)); len(now) != len(newer) || bytes.Equal(now, newer) {
		t.Fatalf("found %d bytes, expected as many as the %d that were there, and others", len(now), len(newer))
	}
	wantError(t, one.AppendWith(d, 3, event(1.1)), ErrMoved, "at the end of line 6")

	d, path = newDatasets(t)
	older = must(os.ReadFile(path)) // without a run
	one, _ = newMember(t, d, "one", 0)
	must(0, os.WriteFile(path, older, 0o600))
	other = must(OpenDatasets(path))
	defer other.Close()
	newMember(t, other, "two", 0)
	wantError(t, one.AppendWith(d, 1, event(1.1)), ErrMoved, "at the end of line 2")
}
