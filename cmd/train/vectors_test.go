package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// numpy is a file of NumPy's, of little-endian numbers.
func numpy(t *testing.T, descr, shape string, numbers any) string {
	t.Helper()
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b, err := binary.Append(nil, binary.LittleEndian, numbers)
	tiny.Check(t, err)
	return "\x93NUMPY\x01\x00" + string(rune(len(header))) + "\x00" + header + string(b)
}

// A person's own vectors, from the preset to the measured model and its statement.
func TestOwnVectors(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Mkdir("my-vectors", 0o700))
	for part, n := range map[string]int{"train": 400, "test": 40} {
		vectors, labels := make([]float32, 8*n), make([]uint8, n)
		for i := range n {
			labels[i] = uint8(i % 2)
			vectors[8*i], vectors[8*i+1+i%2] = 1, float32(2+i%5)
		}
		tiny.Write(t, filepath.Join("my-vectors", part+".npy"), numpy(t, "<f4", fmt.Sprintf("(%d, 8)", n), vectors))
		tiny.Write(t, filepath.Join("my-vectors", part+"-labels.npy"), numpy(t, "|u1", fmt.Sprintf("(%d,)", n), labels))
	}
	set := []string{"own-vectors", "--set", "data.width=8", "--set", "privacy.delta=1e-3", "--set", "training.steps=30", "--set", "privacy.epsilon=8", "--set", "privacy.accountant=rdp"}
	described := succeed(t, append([]string{"describe"}, set...)...)
	says(t, described, "data      my-vectors: 400 training examples of 8 columns, 2 classes\n", "rows 1 MiB, ")
	succeed(t, append([]string{"run"}, set...)...)
	says(t, succeed(t, "eval", "runs/own-vectors-1"), "100.00 % of 40 rows\n")
	statement := tiny.Read(t, "runs/own-vectors-1/privacy.md")
	says(t, statement, "my-vectors, 400 examples of 8 columns in 2 classes", "the names of the classes, the width of the vectors,", "- what computed the vectors")
	want := "data: invalid data: " + filepath.Join("my-vectors", "train.npy") + " has vectors of width 8, expected the declared 9\n"
	refused(t, shell.ExitData, want, append([]string{"run"}, slices.Replace(slices.Clone(set), 2, 3, "data.width=9")...)...)
	if benched := succeed(t, "bench", "--config", "own-vectors", "--seconds", "0.05"); !strings.Contains(benched, "network layers\n") {
		t.Errorf("bench says:\n%s", benched)
	}
}
