package checkpoints

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/slow"
)

// event of a step of DP-SGD.
func event(noiseMultiplier float64) accountant.Event {
	return accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: noiseMultiplier}}
}

// newJournal creates a ledger in a new directory with the given steps.
func newJournal(t *testing.T, steps ...int) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run", "ledger.jsonl")
	j := must(CreateJournal(path))
	t.Cleanup(func() { j.Close() })
	for _, step := range steps {
		must(0, j.Append(step, event(1.1)))
	}
	return j, path
}

func TestJournalComesBack(t *testing.T) {
	j, path := newJournal(t, 1, 2, 3)
	must(0, j.Append(4, event(1.2)))
	must(0, j.Append(5, accountant.NonPrivate{}))
	want := []accountant.Entry{{Event: event(1.1), Count: 3}, {Event: event(1.2), Count: 1}, {Event: accountant.NonPrivate{}, Count: 1}}
	hash := j.Hash()
	must(0, j.Ledger().Add(event(1.1), 100)) // to a copy

	ledger, info, err := ReadJournal(path) // while the journal is open
	if err != nil || !reflect.DeepEqual(ledger.Entries(), want) {
		t.Errorf("ReadJournal: %v, %v, want %v", ledger, err, want)
	}
	if info.Entries != 5 || info.LastStep != 5 || info.Hash != hash || len(info.Run) != 32 {
		t.Errorf("ReadJournal: %+v", info)
	}
	must(0, j.Close())
	must(0, j.Close())
	wantError(t, j.Append(6, event(2)), ErrJournalFailed, path)

	before := must(os.ReadFile(path))
	j = must(OpenJournal(path))
	defer j.Close()
	must(0, j.Ledger().Add(event(1.1), 100))
	if j.Len() != 5 || j.Hash() != hash || !reflect.DeepEqual(j.Ledger().Entries(), want) {
		t.Errorf("reopened: %d entries, hash %s, %v", j.Len(), j.Hash(), j.Ledger().Entries())
	}
	if !bytes.Equal(before, must(os.ReadFile(path))) {
		t.Error("opening an intact ledger changed it")
	}
	must(0, j.Append(6, event(2)))
	if ledger, _, err := ReadJournal(path); err != nil || ledger.Count() != 6 {
		t.Errorf("after a further entry: %v, %v", ledger, err)
	}
}

// The format is a promise to other programs: a line can be checked with a regular expression and
// sha256sum.
func TestJournalLine(t *testing.T) {
	j, path := newJournal(t, 1, 2)
	lines := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(path))), "\n"), "\n")
	if len(lines) != 3 || !regexp.MustCompile(`^\{"format":"dpsgd-ledger","version":1,"run":"[0-9a-f]{32}"\}$`).MatchString(lines[0]) {
		t.Fatalf("found %d lines, the first is %s", len(lines), lines[0])
	}
	previous := shortHash(lines[0])
	for i, line := range lines[1:] {
		pattern := fmt.Sprintf(`^\{"step":%d,"event":\{"poisson_sampled":\{"sampling_probability":0\.01,"event":\{"gaussian":\{"noise_multiplier":1\.1\}\}\}\},"nonce":"[0-9a-f]{16}","previous":"%s","hash":"([0-9a-f]{32})"\}$`, i+1, previous)
		match := regexp.MustCompile(pattern).FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("line %s does not match %s", line, pattern)
		}
		content, _, _ := strings.Cut(line, `,"hash"`)
		if match[1] != shortHash(content) {
			t.Errorf("hash %s, want %s", match[1], shortHash(content))
		}
		previous = match[1]
	}
	if j.Hash() != previous {
		t.Errorf("Hash is %s, want that of the last line, %s", j.Hash(), previous)
	}
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

func TestAppendRefusesWithoutHarm(t *testing.T) {
	j, path := newJournal(t, 1, 2, 3)
	before := must(os.ReadFile(path))
	wantError(t, j.Append(5, event(1)), nil, path, "entry 4", "found step 5 after step 3, expected 0 to 4")
	wantError(t, j.Append(-1, event(1)), nil, "found step -1")
	wantError(t, j.Append(4, nil), accountant.ErrInvalid, path)
	wantError(t, j.Append(4, event(math.NaN())), accountant.ErrInvalid)
	if !bytes.Equal(before, must(os.ReadFile(path))) {
		t.Error("a refused entry changed the file")
	}
	for _, step := range []int{2, 3, 4, 0, 1} { // going back is allowed: the steps are released again
		if err := j.Append(step, event(1)); err != nil {
			t.Error(err)
		}
	}
	if j.Len() != 8 || j.Ledger().Count() != 8 {
		t.Errorf("%d entries, %d events, want 8 of each", j.Len(), j.Ledger().Count())
	}
}

func TestCreateJournalNeverReplaces(t *testing.T) {
	j, path := newJournal(t, 1)
	j.Close()
	before := must(os.ReadFile(path))
	_, err := CreateJournal(path)
	wantError(t, err, fs.ErrExist, path)
	if !bytes.Equal(before, must(os.ReadFile(path))) {
		t.Error("the ledger changed")
	}
	dangling := path + ".link"
	if os.Symlink(path+".missing", dangling) == nil {
		_, err = CreateJournal(dangling)
		wantError(t, err, fs.ErrExist, dangling)
	}
}

func TestJournalIsLocked(t *testing.T) {
	j, path := newJournal(t, 1)
	_, err := OpenJournal(path)
	wantError(t, err, ErrLocked, path, "in use by another process")
	j.Close()
	j = must(OpenJournal(path))
	defer j.Close()
	_, err = OpenJournal(path)
	wantError(t, err, ErrLocked, path)
}

// openBytes opens a ledger file with the given content, and returns what is left in it.
func openBytes(t *testing.T, content []byte) (*accountant.Ledger, []byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	must(0, os.WriteFile(path, content, 0o600))
	readOnly, _, readErr := ReadJournal(path)
	if !bytes.Equal(content, must(os.ReadFile(path))) {
		t.Error("ReadJournal changed the file")
	}
	j, err := openJournal(&faultyDisk{failAt: -1}, path) // without real syncs
	if (err == nil) != (readErr == nil) {
		t.Errorf("OpenJournal says %v, ReadJournal says %v", err, readErr)
	}
	if err != nil {
		if !bytes.Equal(content, must(os.ReadFile(path))) {
			t.Error("OpenJournal changed a file that it refused")
		}
		return nil, nil, err
	}
	defer j.Close()
	if !bytes.Equal(content, must(os.ReadFile(path))) {
		t.Error("OpenJournal changed a file before anybody said that it may")
	}
	must(0, j.Recover())
	if !reflect.DeepEqual(j.Ledger().Entries(), readOnly.Entries()) {
		t.Errorf("OpenJournal reads %v, ReadJournal %v", j.Ledger().Entries(), readOnly.Entries())
	}
	return j.Ledger(), must(os.ReadFile(path)), nil
}

// Cut anywhere, a ledger opens with all entries whose line is complete and is shortened to them.
// Only a file that ends inside its header is refused: an empty ledger must not look like one
// without a spend.
func TestEveryTruncationKeepsTheCompleteEntries(t *testing.T) {
	j, path := newJournal(t, 1, 2)
	j.Close()
	file := must(os.ReadFile(path))
	header := bytes.IndexByte(file, '\n') + 1
	for n := range file {
		ledger, left, err := openBytes(t, file[:n])
		if n < header {
			wantError(t, err, ErrUnfinished, fmt.Sprintf("found %d bytes", n))
			continue
		}
		if err != nil {
			t.Fatalf("the first %d of %d bytes: %v", n, len(file), err)
		}
		// A line that lacks only its newline is complete, and gets it back.
		whole := file[:n]
		if file[n] == '\n' {
			whole = file[:n+1]
		}
		whole = whole[:bytes.LastIndexByte(whole, '\n')+1]
		if want := bytes.Count(whole, []byte("\n")) - 1; ledger.Count() != want || !bytes.Equal(left, whole) {
			t.Fatalf("the first %d of %d bytes: %d entries and %d bytes, want %d and %d", n, len(file), ledger.Count(), len(left), want, len(whole))
		}
	}
}

// A changed bit anywhere in a file, also in the last newline, is refused: an entry that was
// acknowledged is never taken for a torn one.
func TestEveryBitFlipIsRefused(t *testing.T) {
	alone, path := newJournal(t, 1, 2)
	d, shared := newDatasets(t)
	newMember(t, d, "one", 2)
	alone.Close()
	for name, test := range map[string]struct {
		file []byte
		read func(file []byte) error
	}{
		"journal":    {must(os.ReadFile(path)), func(b []byte) error { _, err := new(chain).read(bytes.NewReader(b), -1); return err }},
		"datasets":   {must(os.ReadFile(shared)), func(b []byte) error { _, err := new(book).read(bytes.NewReader(b)); return err }},
		"checkpoint": {encodeState(sampleState(7)), func(b []byte) error { _, err := decodeState(b); return err }},
	} {
		for i := range test.file {
			for bit := range 8 {
				test.file[i] ^= 1 << bit
				if err := test.read(test.file); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnfinished) {
					t.Fatalf("%s: bit %d of byte %d (%q) flipped: got %v, want ErrCorrupt", name, bit, i, test.file[i], err)
				}
				test.file[i] ^= 1 << bit
			}
		}
	}
}

func TestOpenJournalRefusesDamage(t *testing.T) {
	j, path := newJournal(t, 1, 2, 3)
	j.Close()
	file := string(must(os.ReadFile(path)))
	lines := strings.SplitAfter(file, "\n")
	lines = lines[:len(lines)-1]
	other, otherPath := newJournal(t, 1, 2, 3)
	other.Close()
	foreign := strings.SplitAfter(string(must(os.ReadFile(otherPath))), "\n")
	join := func(lines ...string) string { return strings.Join(lines, "") }
	if ledger, _, err := openBytes(t, []byte(forge(lines[0], `{"step":1,"event":{"non_private":{}}`))); err != nil || ledger.Count() != 1 {
		t.Errorf("the forged line that the table starts from is refused: %v", err)
	}
	tests := map[string]struct{ file, want string }{
		"no header":              {join(lines[1:]...), "line 1: found"},
		"other version":          {strings.Replace(file, `"version":1`, `"version":2`, 1), `line 1: found "{\"format\":\"dpsgd-ledger\",\"version\":2`},
		"short run identifier":   {strings.Replace(file, `"run":"`, `"run":"0`, 1), "line 1: found"},
		"header of two versions": {strings.Replace(file, headerEnd, headerDatasets+strings.Repeat("0", 32)+headerEnd, 1), "line 1: found"},
		"line missing":           {join(lines[0], lines[1], lines[3]), "line 3: found previous hash"},
		"line twice":             {join(lines[0], lines[1], lines[1]), "line 3: found previous hash"},
		"lines swapped":          {join(lines[0], lines[2], lines[1]), "line 2: found previous hash"},
		"entries of other run":   {join(lines[0], foreign[1]), "line 2: found previous hash"},
		"other event":            {strings.Replace(file, `"noise_multiplier":1.1`, `"noise_multiplier":9.1`, 1), "line 2: found hash"},
		"other step":             {strings.Replace(file, `"step":2`, `"step":1`, 1), "line 3: found hash"},
		"empty line":             {join(lines[0], "\n", lines[1]), `line 2: found "", expected an entry`},
		"space":                  {join(lines[0], " ", lines[1]), "line 2: found"},
		"carriage return":        {strings.ReplaceAll(file, "\n", "\r\n"), "line 1: found"},
		"end is not an entry":    {file + "garbage", "line 5: found \"garbage\", expected an entry"},
		"end is other JSON":      {file + `{"stop":1}`, "line 5: found"},
		"end is a bare number":   {file + "7", "line 5: found"},
		"end is no JSON":         {file + "{\"step\":4,\x00", "line 5: found"},
		"end is zero bytes":      {file + "\x00\x00\x00", "line 5: found"},
		"torn line in between":   {join(lines[0], lines[1][:50], "\n", lines[2]), "line 2: found"},
		"newline overwritten":    {strings.TrimSuffix(file, "\n") + "x", "line 4: found"},
		"very long line":         {file + strings.Repeat("x", maxLine+1), "line 5: found more than 65536 bytes"},
		"very long torn line":    {file + `{"step":` + strings.Repeat("1", maxLine), "line 5: found more than 65536 bytes"},
		"step with a sign":       {forge(lines[0], `{"step":+1,"event":{"non_private":{}}`), `line 2: found step "+1"`},
		"step out of order":      {forge(lines[0], `{"step":2,"event":{"non_private":{}}`), "line 2: found step 2 after step 0"},
		"event unknown":          {forge(lines[0], `{"step":1,"event":{"shuffled":{}}`), "line 2: event"},
		"event missing":          {forge(lines[0], `{"step":1,"other":{"non_private":{}},"x":1,"y":2`), "line 2: found step"},
		"hash in upper case":     {join(lines[0], upperHash(lines[1])), "line 2: found"},
		"noise out of range":     {forge(lines[0], `{"step":1,"event":{"gaussian":{"noise_multiplier":-1}}`), "line 2: accountant"},
		"event of two documents": {forge(lines[0], `{"step":1,"event":{"non_private":{}}{"non_private":{}}`), "line 2:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := openBytes(t, []byte(test.file))
			wantError(t, err, ErrCorrupt, test.want)
		})
	}
}

// forge adds an entry with right hashes to a header line.
func forge(header, start string) string {
	previous := shortHash(strings.TrimSuffix(header, "\n"))
	content := start + `,"nonce":"0123456789abcdef","previous":"` + previous + `"`
	return header + content + `,"hash":"` + shortHash(content) + "\"}\n"
}

func upperHash(line string) string {
	i := strings.Index(line, hashKey)
	return line[:i] + hashKey + strings.ToUpper(line[i+len(hashKey):])
}

// LastHash returns the hash of the journal, also beside a line that a crash tore.
func TestLastHash(t *testing.T) {
	j, path := newJournal(t)
	for step := 1; step <= 4; step++ {
		if hash, err := LastHash(path); err != nil || hash != j.Hash() {
			t.Errorf("%d entries: found %s (%v), expected %s", step-1, hash, err, j.Hash())
		}
		must(0, j.Append(step, event(1)))
	}
	must(0, os.WriteFile(path, append(must(os.ReadFile(path)), `{"step":5,"ev`...), 0o600))
	if hash, err := LastHash(path); err != nil || hash != j.Hash() {
		t.Errorf("found %s (%v), expected %s", hash, err, j.Hash())
	}
}

func TestVerifyFindsRollbacks(t *testing.T) {
	j, path := newJournal(t, 1, 2, 3)
	s := &State{Step: 3, LedgerEntries: j.Len(), LedgerHash: j.Hash()}
	old := must(os.ReadFile(path))
	old = old[:bytes.LastIndexByte(old[:len(old)-1], '\n')+1] // the copy from before step 3
	if err := j.Check(s.Claim()); err != nil {
		t.Errorf("at once: %v", err)
	}
	must(0, j.Append(4, event(1.1)))
	must(0, j.Append(4, event(1.1)))
	if err := j.Check(s.Claim()); err != nil {
		t.Errorf("after two more entries: %v", err)
	}
	j.Close()

	must(0, os.WriteFile(path, old, 0o600))
	j = must(OpenJournal(path))
	defer j.Close()
	wantError(t, j.Check(s.Claim()), ErrRollback, path, "found 2 ledger entries, expected at least the 3 of the checkpoint at step 3")
	// The same step with the same event, recorded on another branch, has another hash.
	must(0, j.Append(3, event(1.1)))
	wantError(t, j.Check(s.Claim()), ErrRollback, path, "after 3 entries")

	other, _ := newJournal(t, 1, 2, 3)
	wantError(t, other.Check(s.Claim()), ErrRollback)
	empty, _ := newJournal(t)
	wantError(t, empty.Check((&State{LedgerHash: "00"}).Claim()), ErrRollback, "after 0 entries")
}

// Ten thousand equal entries take one entry of memory.
func TestLongLedgerIsCompressed(t *testing.T) {
	var c chain
	var file bytes.Buffer
	file.Write(c.formatHeader(""))
	for step := 1; step <= 10_000; step++ {
		line, r, err := c.format(step, event(1.1))
		if err != nil {
			t.Fatal(err)
		}
		file.Write(line)
		must(0, c.add(r))
	}
	var again chain
	e, err := again.read(&file, -1)
	if err != nil || again.entries != 10_000 || again.head != c.head || len(again.ledger.Entries()) != 1 {
		t.Errorf("read %d entries in %d runs: %v", again.entries, len(again.ledger.Entries()), err)
	}
	if e.torn != 0 || len(e.tail) > mostUnsynced+300 {
		t.Errorf("torn %d bytes, last lines of %d bytes", e.torn, len(e.tail))
	}
}

// The fuzzer damages real ledgers. Whatever is accepted is the beginning of what was there before
// the damage, up to the one line that may be torn, or was built with right hashes.
func FuzzReadJournal(f *testing.F) {
	var c chain
	file := c.formatHeader("")
	for step := 1; step <= 3; step++ {
		line, r, err := c.format(step, event(float64(step)))
		must(0, errors.Join(err, c.add(r)))
		file = append(file, line...)
	}
	slow.Inputs(f, [][]byte{file, file[:len(file)-1], file[:len(file)-40]}, func(t testing.TB, file []byte) int64 {
		var c chain
		e, err := c.read(bytes.NewReader(file), -1)
		if err != nil {
			return 0
		}
		if c.entries != c.ledger.Count() || e.size < int64(len(e.tail)) {
			t.Fatalf("%d entries, %d events, %+v", c.entries, c.ledger.Count(), e)
		}
		kept := bytes.TrimSuffix(file[:min(int(e.size), len(file))], []byte("\n"))
		var again chain
		if _, err := again.read(bytes.NewReader(append(bytes.Clone(kept), '\n')), -1); err != nil || again.head != c.head {
			t.Fatalf("the kept part reads differently: %v", err)
		}
		return 0
	})
}

func BenchmarkAppend(b *testing.B) {
	j := must(CreateJournal(filepath.Join(b.TempDir(), "ledger.jsonl")))
	defer j.Close()
	for step := 1; b.Loop(); step++ {
		must(0, j.Append(step, event(1.1)))
	}
}

// BenchmarkFormat is the part of Append that is not the disk.
func BenchmarkFormat(b *testing.B) {
	var c chain
	c.formatHeader("")
	for step := 1; b.Loop(); step++ {
		_, r, err := c.format(step, event(1.1))
		must(0, errors.Join(err, c.add(r)))
	}
}
