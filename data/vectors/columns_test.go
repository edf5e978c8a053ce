package vectors

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/kernel"
	"dpsgd/internal/slow"
)

// three are the classes of the golden files, in testdata, which make.py there wrote.
var three = []string{"no", "yes", "maybe"}

func golden(t testing.TB, name string) string {
	return string(must(os.ReadFile(filepath.Join("testdata", name))))
}

// readAll opens and reads the part "train", and makes sure that it counts what it reads.
func readAll(dir string, d Declared) (labels []uint8, halves []uint16, err error) {
	count := 0
	for _, step := range []func(p *Part) error{
		func(p *Part) (err error) { count, err = p.Count(); return err },
		func(p *Part) (err error) { labels, halves, err = p.Read(); return err },
	} {
		p, err := Open(dir, "train", d)
		if err != nil {
			return nil, nil, err
		}
		defer p.Close()
		if err := step(p); err != nil {
			return nil, nil, err
		}
	}
	if count*d.Width != len(halves) || count != len(labels) {
		return nil, nil, fmt.Errorf("counted %d, read %d labels and %d numbers", count, len(labels), len(halves))
	}
	return labels, halves, nil
}

// Columns and lists, in every type and packing that the golden files have, hold one set of vectors.
func TestColumns(t *testing.T) {
	labels := npy(dictionary("|u1", "(4,)"), "\x01\x00\x01\x02")
	parquet := func(name string) map[string]string { return map[string]string{"train.parquet": golden(t, name)} }
	csv := func(content string) map[string]string { return map[string]string{"train.csv": content} }
	third := float64(float32(1) / 3)
	want := []float64{0.6, 0.8, 0, third, -2 * third, 2 * third, 0, 0, 0, 1, 0, 0}
	for name, c := range map[string]struct {
		files map[string]string
		label string
	}{
		"columns of pandas":          {parquet("columns.parquet"), "label"},
		"the last column":            {parquet("columns.parquet"), ""},
		"lists, two row groups":      {parquet("lists.parquet"), "class"},
		"lists of one size, halves":  {parquet("halves.parquet"), ""},
		"labels beside lists":        {map[string]string{"train.parquet": golden(t, "unlabelled.parquet"), "train-labels.npy": labels}, ""},
		"text of pandas":             {csv(golden(t, "columns.csv")), "label"},
		"text, the last column":      {csv(golden(t, "columns.csv")), ""},
		"text, names, another order": {csv("x,is,y,z\r\n3,yes,\"4\",0\r\n1,no,-2,2\r\n0, yes,0,-0\r\n.5,maybe,0,0e9"), "is"},
		"text, labels beside":        {map[string]string{"train.csv": "0,1,2\n3,4,0\n1,-2,2\n0,0,0\n5e-1,0,0\n", "train-labels.npy": labels}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			labels, halves, err := readAll(folder(t, c.files), Declared{Width: 3, Classes: three, Label: c.label})
			if err != nil || !slices.Equal(labels, []uint8{1, 0, 1, 2}) || len(halves) != len(want) {
				t.Fatalf("read the labels %v and %d numbers (%v), expected 1, 0, 1, 2 and %d", labels, len(halves), err, len(want))
			}
			x := make([]float32, len(halves))
			kernel.FromHalves(x, halves)
			for i, v := range x {
				if !(math.Abs(float64(v)-want[i]) <= 0x1p-11) { // of half precision
					t.Errorf("number %d is %v, expected %v", i, v, want[i])
				}
			}
		})
	}
	named := Declared{Width: 3, Classes: []string{"2", "1", "0"}} // a number is a name first, as in text
	if labels, _, err := readAll(folder(t, parquet("columns.parquet")), named); err != nil || !slices.Equal(labels, []uint8{1, 2, 1, 0}) {
		t.Errorf("found the labels %v (%v), expected 1, 2, 1, 0", labels, err)
	}
}

// Vectors of many windows and of the last, short one are all read.
func TestManyLines(t *testing.T) {
	const n = 2*numbersAtOnce/3 + 5
	var text strings.Builder
	text.WriteString("a,b,c,label\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,0,%d,%d\n", 1-i%2, i%2, i%3)
	}
	labels, halves, err := readAll(folder(t, map[string]string{"train.csv": text.String()}), Declared{Width: 3, Classes: three})
	if err != nil || len(labels) != n {
		t.Fatalf("read %d labels (%v), expected %d", len(labels), err, n)
	}
	for i := range n {
		if labels[i] != uint8(i%3) || halves[3*i+2*(i%2)] != 0x3c00 || halves[3*i+2-2*(i%2)] != 0 {
			t.Fatalf("row %d is %#04x with label %d", i, halves[3*i:3*i+3], labels[i])
		}
	}
}

// A text is a class by name, or by number where no name is one.
func TestClassOfText(t *testing.T) {
	for _, c := range []struct {
		classes []string
		text    string
		want    int // -1 is none
	}{
		{three, "no", 0}, {three, "maybe", 2}, {three, "2", 2}, {three, "3", -1}, {three, "-1", -1}, {three, "", -1}, {three, "No", -1},
		{[]string{"1", "0"}, "0", 1}, {[]string{"1", "0"}, "1", 0}, {[]string{"1", "2"}, "0", -1}, {[]string{"7", "b"}, "1", -1},
	} {
		label, known := Declared{Classes: c.classes}.Class(c.text)
		if known != (c.want >= 0) || known && int(label) != c.want {
			t.Errorf("%q of %q is class %d, %v; expected %d", c.text, c.classes, label, known, c.want)
		}
	}
}

// What is wrong is told in one line, with its place, and never with what stands there.
func TestColumnsRefuse(t *testing.T) {
	one := npy(dictionary("|u1", "(1,)"), "\x00")
	parquet := func(name string) map[string]string {
		return map[string]string{"train.parquet": golden(t, name+".parquet")}
	}
	csv := func(content string) map[string]string { return map[string]string{"train.csv": content} }
	whole := golden(t, "lists.parquet")
	number, vector := Declared{Width: 1, Classes: three}, Declared{Width: 3, Classes: three}
	for name, c := range map[string]struct {
		files    map[string]string
		declared Declared
		says     string
	}{
		"empty":             {csv(""), number, "train.csv is empty, expected the names of the columns in its first line"},
		"no record":         {csv("x,label\n"), number, "train.csv holds no record, expected at least one"},
		"no label column":   {csv("x,y\n1,0\n"), Declared{Width: 1, Classes: three, Label: "class"}, `train.csv:1:1: found no column "class"`},
		"label twice":       {csv("x,y,y\n1,0,0\n"), Declared{Width: 2, Classes: three, Label: "y"}, `found column "y" twice`},
		"width":             {csv("x,y,label\n1,2,0\n"), number, "train.csv:1:1: found 2 columns beside the labels, expected the declared 1"},
		"no header":         {csv("0.25,0\n1,1\n"), number, "train.csv:1:1: found a line of numbers, expected the names of the columns"},
		"no header, whole":  {csv("3,1,yes\nx,1,no\n"), Declared{Width: 2, Classes: three}, "train.csv:1:1: found a line of numbers, expected the names of the columns"},
		"no header, equal":  {csv("0,0,yes\nx,1,no\n"), Declared{Width: 2, Classes: three}, "train.csv:1:1: found a line of numbers, expected the names of the columns"},
		"no header, NaN":    {csv("NaN,yes\nx,no\n"), number, "train.csv:1:1: found a line of numbers, expected the names of the columns"},
		"ragged":            {csv("x,label\n1,0\n1\n"), number, "train.csv:3:1: found 1 fields, expected 2"},
		"quote":             {csv("x,label\n1,0\n\"1,0\n"), number, "train.csv:3:6: found extraneous or missing \" in quoted-field, expected fields quoted as in RFC 4180"},
		"no number":         {csv("x,label\n1,0\nsecret,0\n"), number, `train.csv:3:1: column "x": found text that is not a number, expected a finite decimal number such as 1234.5`},
		"no field":          {csv("x,label\n,0\n"), number, `train.csv:2:1: column "x": found an empty field`},
		"NaN":               {csv("x,label\nNaN,0\n"), number, "found a number that is not finite"},
		"beyond 32 bits":    {csv("x,label\n1e39,0\n"), number, "found a number that is too large for 32 bits"},
		"other name":        {csv("x,label\n1,secret\n"), number, `train.csv:2:3: column "label": found a label that has no class, expected one of the declared classes ["no" "yes" "maybe"] or its number, from 0`},
		"other number":      {csv("x,label\n1,3\n"), number, `found a label that has no class`},
		"two sorts":         {map[string]string{"train.csv": "x,label\n1,0\n", "train-labels.npy": one}, Declared{Width: 1, Classes: three, Label: "label"}, `and the name of a column with labels, "label", expected one of them`},
		"label below 0":     {map[string]string{"train.csv": "x\n1\n", "train-labels.npy": npy(dictionary("<i2", "(1,)"), "\x00\xff")}, number, "train-labels.npy: found a label that has no class in place 0"},
		"labels of another": {map[string]string{"train.csv": "x\n1\n2\n", "train-labels.npy": one}, number, "train-labels.npy holds 1 labels, expected one for each of the 2 vectors"},

		"no Parquet":          {map[string]string{"train.parquet": "x,label\n1,0\n and more text"}, number, "train.parquet: found no Parquet file"},
		"nothing":             {map[string]string{"train.parquet": ""}, number, "train.parquet: found 0 bytes, expected a Parquet file"},
		"cut":                 {map[string]string{"train.parquet": whole[:len(whole)/2]}, vector, "found no Parquet file, or one that is cut or encrypted"},
		"cut at its start":    {map[string]string{"train.parquet": "PAR1" + whole[len(whole)/2:]}, vector, "a footer of"},
		"label column":        {parquet("ragged"), Declared{Width: 3, Classes: three, Label: "class"}, `train.parquet: found no column "class", expected it among the 2 columns`},
		"ragged lists":        {parquet("ragged"), vector, `row 1, column "embedding": found a list of 2 numbers, expected the declared 3`},
		"width of lists":      {parquet("lists"), Declared{Width: 2, Classes: three, Label: "class"}, `row 0, column "embedding": found a list of 3 numbers, expected the declared 2`},
		"empty list":          {parquet("empty-list"), vector, `row 1, column "embedding": found no list, an empty one or one that lacks a number`},
		"null list":           {parquet("null-list"), vector, `row 1, column "embedding": found no list, an empty one`},
		"null in a list":      {parquet("null-in-list"), vector, `row 1, column "embedding": found no list, an empty one or one that lacks a number`},
		"null":                {parquet("null"), number, `row 1, column "x": found no value, expected all of them`},
		"NaN in a column":     {parquet("nan"), number, `row 1, column "x": found a number that is not finite as a 32-bit one`},
		"too large":           {parquet("too-large"), number, `row 1, column "x": found a number that is not finite as a 32-bit one`},
		"null label":          {parquet("null-label"), number, `row 1, column "label": found no value`},
		"label without class": {parquet("other-label"), number, `row 1, column "label": found a label that has no class, expected one of the declared classes`},
		"name without class":  {parquet("other-name"), number, `row 1, column "label": found a label that has no class, expected one of the declared classes`},
		"numbers for labels":  {parquet("float-label"), number, `column "label" holds DOUBLE, expected integers or texts, as it is the column with the labels`},
		"lists for labels":    {parquet("list-label"), number, `column "label" holds lists, expected a label for each row`},
		"text for numbers":    {parquet("text"), number, `column "x" holds STRING, expected numbers (FLOAT16, FLOAT, DOUBLE or INT)`},
		"two lists":           {parquet("two-lists"), vector, `holds 2 columns beside the labels, among them the lists of column "a"`},
		"columns declared":    {parquet("columns"), number, "holds 3 columns beside the labels, expected the declared 1, or one of lists"},
		"structures":          {parquet("structure"), number, `column "a" has 2 fields inside, expected a value or a list of values for each row`},
		"no rows":             {parquet("no-rows"), number, "train.parquet holds no vector"},
		"no columns":          {parquet("no-columns"), number, "holds 0 columns beside the labels"},
		"another sum":         {map[string]string{"train.parquet": strings.Replace(whole, "\x16\x08\x19", "\x16\x0a\x19", 1)}, vector, "train.parquet: found groups of 4 rows, expected the 5 that it declares"},
		"rows missing":        {map[string]string{"train.parquet": strings.ReplaceAll(golden(t, "columns.parquet"), "\x16\x08", "\x16\x0a")}, vector, "train.parquet holds a group of 4 rows, expected the 5 that it declares"},
		"other labels beside": {map[string]string{"train.parquet": golden(t, "unlabelled.parquet"), "train-labels.npy": one}, vector, "holds 1 labels, expected one for each of the 4 vectors"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.files)
			_, _, err := readAll(dir, c.declared)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "secret") {
				t.Errorf("found error %v, expected one line that names the file and says %q", err, c.says)
			}
		})
	}
}

// A Parquet file that is damaged anywhere is read or refused, in little memory, and never breaks
// the program. Its format has no checksum that has to be there, so that some damage reads as other
// numbers.
func TestDamagedParquet(t *testing.T) {
	for _, name := range []string{"columns.parquet", "lists.parquet", "halves.parquet"} {
		content := []byte(golden(t, name))
		dir := folder(t, map[string]string{"train.parquet": ""})
		var most uint64
		try := func(damaged []byte) {
			t.Helper()
			check(t, os.WriteFile(filepath.Join(dir, "train.parquet"), damaged, 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := readAll(dir, Declared{Width: 3, Classes: three})
			runtime.ReadMemStats(&after)
			most = max(most, after.TotalAlloc-before.TotalAlloc)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("found the error %q, expected one line", err)
			}
		}
		for i := range content {
			if !slow.Asked() && i%4 != 0 {
				continue
			}
			damaged := slices.Clone(content)
			damaged[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
			try(damaged)
			if i%8 == 0 {
				try(content[:i])
				try(slices.Delete(slices.Clone(content), i, i+1))
			}
		}
		if most > 64<<20 {
			t.Errorf("%s of %d bytes takes %d MiB when it is damaged, expected at most 64", name, len(content), most>>20)
		}
	}
}

// What a header claims is refused before memory is taken for it.
func TestParquetClaims(t *testing.T) {
	footer := func(content string) string {
		return parquetMagic + content + string(binary.LittleEndian.AppendUint32(nil, uint32(len(content)))) + parquetMagic
	}
	for name, content := range map[string]string{
		"footer":      parquetMagic + "\xff\xff\xff\x7f" + parquetMagic,
		"lists":       footer("\x19" + strings.Repeat("\x19", 1000)),
		"structures":  footer(strings.Repeat("\x1c", 1000)),
		"never ends":  footer("\x15\x02"),
		"maps":        footer("\x1b\x01"),
		"no varint":   footer("\x15" + strings.Repeat("\xff", 20)),
		"nothing":     footer(""),
		"empty":       footer("\x00"),
		"lonely tail": "\x00\x00\x00\x00" + parquetMagic,
	} {
		dir := folder(t, map[string]string{"train.parquet": content})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(dir, "train", Declared{Width: 3, Classes: three})
		runtime.ReadMemStats(&after)
		if err == nil || strings.Contains(err.Error(), "\n") || after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: found error %v after %d bytes of memory, expected one line and at most a mebibyte", name, err, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// A page is refused by any of the sizes that it claims. The headers are written by hand, after
// parquet.thrift and the compact protocol.
func TestPageClaims(t *testing.T) {
	// type, size unpacked, size packed, and a page with two values
	header := func(unpacked, packed, rest string) string {
		return "\x15\x00\x15" + unpacked + "\x15" + packed + rest + "\x00"
	}
	const (
		data   = "\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00"                     // two values
		data2  = "\x5c\x15\x04\x15\x00\x15\x04\x15\x00\x15\x04\x15\x00\x11\x00" // two values, two bytes of levels, compressed
		plain2 = "\x5c\x15\x04\x15\x00\x15\x04\x15\x00\x15\x04\x15\x00\x12\x00" // not compressed
		huge   = "\xff\xff\xff\xff\x0f"
	)
	for name, c := range map[string]struct {
		page, says string
	}{
		"good":             {header("\x14", "\x0a", data) + "\x0a1234", ""},
		"good, version 2":  {header("\x14", "\x0a", data2) + huge[:2] + "\x0a12", ""},
		"not packed":       {header("\x14", "\x0a", plain2) + huge, ""},
		"too long":         {header("\x14", "\x0c", data) + "12345", "claims 6 bytes, expected at most"},
		"negative":         {header("\x14", "\x09", data) + "12345", "claims -5 bytes"},
		"unpacked":         {header(huge, "\x0a", data) + "12345", "claims 2 values in -2147483648 bytes when unpacked, expected at most 100"},
		"values":           {header("\x14", "\x0a", "\x2c\x15\xfe\xff\xff\xff\x0f\x15\x00\x15\x06\x15\x06\x00") + "12345", "claims 2147483647 values"},
		"Snappy":           {header("\x14", "\x0a", data) + huge, "claims 2 values in 4294967295 bytes when unpacked, expected at most 100"},
		"Zstandard":        {header("\x14", "\x1a", data) + "\x28\xb5\x2f\xfd\xe0\x65" + strings.Repeat("\x00", 7), "claims 2 values in 101 bytes"},
		"levels":           {header("\x14", "\x02", data2) + "1", "claims 2 bytes of levels, expected at most all of its 1"},
		"empty, version 2": {header("\x00", "\x00", strings.Replace(data2, "\x15\x04", "\x15\x00", 1)), "is of version 2 and holds no value"},
		"cut":              {"\x15\x00\x15", "has a damaged header"},
	} {
		codec := codecs[map[string]int{"Snappy": 1, "Zstandard": 4, "not packed": 1, "unpacked": 1}[name]]
		size, err := checkPage(strings.NewReader(c.page), int64(len(c.page)), 100, codec)
		if c.says == "" && (err != nil || size != int64(len(c.page))) {
			t.Errorf("%s: found %d bytes (%v), expected %d", name, size, err, len(c.page))
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: found error %v, expected %q", name, err, c.says)
		}
	}
}

// Whatever a Parquet file holds, as many vectors as it claims are read, or it is refused. A byte may
// stand for as many as package vectors lets it.
func FuzzParquet(f *testing.F) {
	var seeds [][]byte
	for _, name := range []string{"columns", "lists", "halves", "text", "null-in-list", "ragged", "empty-list", "no-rows"} {
		seeds = append(seeds, []byte(golden(f, name+".parquet")))
	}
	dir := f.TempDir()
	slow.Inputs(f, seeds, func(t testing.TB, input []byte) int64 {
		check(t, os.WriteFile(filepath.Join(dir, "train.parquet"), input, 0o600))
		if _, _, err := readAll(dir, Declared{Width: 3, Classes: three}); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("found error %q, expected one line", err)
		}
		return expansion * int64(len(input))
	})
}
