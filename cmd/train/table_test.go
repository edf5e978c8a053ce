package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// A person's own table, from the preset to the measured model, in the words of tables.
func TestOwnTable(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Mkdir("my-table", 0o700))
	for part, n := range map[string]int{"train": 200, "test": 40} {
		var b strings.Builder
		b.WriteString("age,pay,sick\n")
		for i := range n {
			if i%2 == 0 {
				fmt.Fprintf(&b, "%d,%d,no\n", 20+i%10, 40000+i)
			} else {
				fmt.Fprintf(&b, "%d,%d,yes\n", 50+i%10, 20000+i)
			}
		}
		tiny.Write(t, filepath.Join("my-table", part+".csv"), b.String())
	}
	set := []string{"own-table", "--set", "privacy.delta=1e-3", "--set", "training.batch_size=40", "--set", "training.steps=30", "--set", "privacy.epsilon=8", "--set", "privacy.accountant=rdp"}
	described := succeed(t, append([]string{"describe"}, set...)...)
	says(t, described, "data      my-table: 200 training examples of 2 columns, 2 classes\n", "0      flatten  2   ", "rows 1 MiB, ")
	if input := lastLine(t, succeed(t, append([]string{"describe", "--json"}, set...)...))["input"]; fmt.Sprint(input) != "[2]" {
		t.Errorf("the input is %v, expected [2]", input)
	}
	succeed(t, append([]string{"run"}, set...)...)
	says(t, succeed(t, "eval", "runs/own-table-1"), "% of 40 rows\n")
	says(t, succeed(t, "ledger", "show"), "my-table  200 examples of 2 columns, 2 classes\n")
	tiny.Write(t, filepath.Join("my-table", "test.csv"), "age,pay,sick\n40,x,no\n")
	want := "data: invalid data: " + filepath.Join("my-table", "test.csv") + `:2:4: column "pay": found text that is not a number, expected a finite decimal number` + "\n"
	refused(t, shell.ExitData, want, append([]string{"run"}, set...)...)
}
