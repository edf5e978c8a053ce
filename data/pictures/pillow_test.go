package pictures

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Pictures of every format, mode and packing are read as Pillow reads them, or refused. make.py in
// the folder wrote them, and says by how much a pixel may differ: by nothing, but where decoders
// round differently. DPSGD_PILLOW names a folder of more, which .ci/formats makes at random.
func TestAgreesWithPillow(t *testing.T) {
	dir := cmp.Or(os.Getenv("DPSGD_PILLOW"), filepath.Join("testdata", "pillow"))
	f := must(os.Open(filepath.Join(dir, "cases.jsonl")))
	defer f.Close()
	read, refused := 0, 0
	for lines := json.NewDecoder(f); ; {
		var c struct {
			File, Refused             string
			Width, Height, Difference int
			Pixels                    []byte // packed
		}
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		size := Size{max(c.Height, 1), max(c.Width, 1), 3}
		found := make([]byte, size.Height*size.Width*size.Channels)
		err := Read(filepath.Join(dir, c.File), size, found)
		if c.Refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.Refused) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: found error %v, expected one line that says %q", c.File, err, c.Refused)
			}
			refused++
			continue
		}
		want := must(io.ReadAll(must(zlib.NewReader(bytes.NewReader(c.Pixels)))))
		if err != nil || len(want) != len(found) {
			t.Errorf("%s: found %d bytes (%v), expected %d", c.File, len(found), err, len(want))
			continue
		}
		most := 0
		for i, v := range found {
			most = max(most, int(v)-int(want[i]), int(want[i])-int(v))
		}
		if most > c.Difference {
			t.Errorf("%s: a value differs by %d, expected at most %d", c.File, most, c.Difference)
		}
		read++
	}
	t.Logf("%d pictures are read right, %d refused", read, refused)
	if read == 0 || refused == 0 {
		t.Errorf("found %d pictures that are read and %d that are refused, expected some of both", read, refused)
	}
}
