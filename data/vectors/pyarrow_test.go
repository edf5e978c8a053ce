package vectors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/kernel"
)

// Files of other programs, in every type, packing and layout, are read as these programs read them,
// number by number, or refused in words that say what was found. make.py in the folder wrote them;
// DPSGD_VECTORS names a folder of more, which .ci/formats makes at random.
func TestAgreesWithOthers(t *testing.T) {
	dir := cmp.Or(os.Getenv("DPSGD_VECTORS"), filepath.Join("testdata", "pyarrow"))
	f := must(os.Open(filepath.Join(dir, "cases.jsonl")))
	defer f.Close()
	read, refused := 0, 0
	for lines := json.NewDecoder(f); ; {
		var c struct {
			Name, File, Label, Refused string
			May                        string // another reason for which the file may be refused
			Width                      int
			Vectors, Labels            []byte
		}
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if c.Label != "" && filepath.Ext(c.File) != ".parquet" {
			t.Fatalf("%s names a column of labels", c.Name)
		}
		err := agrees(dir, strings.TrimSuffix(c.File, filepath.Ext(c.File)), Declared{c.Width, three, c.Label}, c.Vectors, c.Labels)
		switch {
		case c.May != "" && err != nil && strings.Contains(err.Error(), c.May):
			refused++
		case c.Refused == "" && err != nil:
			t.Errorf("%s: %v", c.Name, err)
		case c.Refused != "" && (err == nil || !strings.Contains(err.Error(), c.Refused) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: found error %v, expected one line that says %q", c.Name, err, c.Refused)
		case c.Refused != "":
			refused++
		default:
			read++
		}
	}
	t.Logf("%d files are read right, %d refused", read, refused)
	if read == 0 || refused == 0 {
		t.Errorf("found %d files that are read and %d that are refused, expected some of both", read, refused)
	}
}

// agrees reads a part and holds it against the vectors, as the bytes of float32, and the labels.
func agrees(dir, part string, d Declared, vectors, labels []byte) error {
	p, err := Open(dir, part, d)
	if err != nil {
		return err
	}
	defer p.Close()
	found, halves, err := p.Read()
	if err != nil {
		return err
	}
	x, want := make([]float32, len(vectors)/4), make([]uint16, len(vectors)/4)
	must(binary.Decode(vectors, binary.LittleEndian, x))
	for i := 0; i < len(x); i += d.Width {
		toUnitNorm(x[i : i+d.Width])
	}
	kernel.ToHalves(want, x)
	if !bytes.Equal(found, labels) || len(halves) != len(want) {
		return fmt.Errorf("read %d labels and %d numbers, expected %d labels, all the same, and %d numbers", len(found), len(halves), len(labels), len(want))
	}
	wrong := 0
	for i := range want {
		if halves[i] != want[i] {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d numbers are other ones", wrong, len(want))
	}
	return nil
}
