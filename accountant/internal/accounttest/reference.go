package accounttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Lines returns the reference values for accounting by their kind: rows of JSON with the parameters
// of a mechanism and the answer that an accountant should come to. It skips the test where the file
// is not there: in $DPSGD_SHARED, or else in the folder shared beside the repository.
func Lines(t testing.TB) map[string][]json.RawMessage {
	t.Helper()
	shared := os.Getenv("DPSGD_SHARED")
	if shared == "" {
		shared = filepath.Join(root(t), "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(shared, "reference", "accounting.jsonl"))
	if err != nil {
		t.Skipf("no reference values (set DPSGD_SHARED to the folder that holds reference/): %v", err)
	}
	rows := map[string][]json.RawMessage{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var head struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		rows[head.Kind] = append(rows[head.Kind], slices.Clone(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// Rows returns the rows of one kind, of which there must be some. See Lines.
func Rows[R any](t testing.TB, kind string) []R {
	t.Helper()
	var rows []R
	for _, line := range Lines(t)[kind] {
		var row R
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("no reference rows of kind %s", kind)
	}
	return rows
}

// root returns the folder of the repository: the one above the test that holds go.mod.
func root(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 40; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Skip("no reference values: the test does not run in the repository")
	return ""
}
