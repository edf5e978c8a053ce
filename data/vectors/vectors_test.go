package vectors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints/safetensors"
	"dpsgd/internal/slow"
)

// npy builds a file of NumPy's, version 1.0.
func npy(header, content string) string {
	return npyMagic + "\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + content
}

func dictionary(descr, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
}

// tensors builds a safetensors file.
func tensors(header, content string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + content
}

// folder writes files, by name, into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// Bytes that numpy 2.4.6 writes for
//
//	numpy.lib.format.write_array(f, numpy.array([[1, -2, .5], [3, 4, x]], type), version)
//
// with x = 65504 in half precision and 0.001 otherwise, and for labels. safetensors has the same
// numbers.
var written = map[string]struct {
	files map[string]string
	last  float32
}{
	"half precision, version 1": {map[string]string{
		"train.npy": "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 58) + "\n\x00<\x00\xc0\x008\x00B\x00D\xff{",
		"train-labels.npy": "\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }" + strings.Repeat(" ", 60) +
			"\n\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff",
	}, 65504},
	"single precision, version 2": {map[string]string{
		"train.npy": "\x93NUMPY\x02\x00t\x00\x00\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 56) +
			"\n\x00\x00\x80?\x00\x00\x00\xc0\x00\x00\x00?\x00\x00@@\x00\x00\x80@o\x12\x83:",
		"train-labels.npy": npy(dictionary("|i1", "(2,)"), "\x01\xff"),
	}, 0.001},
	"double precision, version 3": {map[string]string{
		"train.npy": "\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 56) +
			"\n\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\xe0?\x00\x00\x00\x00\x00\x00\x08@\x00\x00\x00\x00\x00\x00\x10@\xfc\xa9\xf1\xd2MbP?",
		"train-labels.npy": npy(dictionary("<i4", "(2,)"), "\x01\x00\x00\x00\xff\xff\xff\xff"),
	}, 0.001},
	"tensors": {map[string]string{
		"train.safetensors": tensors(`{"features":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"labels":{"dtype":"I16","shape":[2],"data_offsets":[24,28]}}`,
			"\x00\x00\x80?\x00\x00\x00\xc0\x00\x00\x00?\x00\x00@@\x00\x00\x80@o\x12\x83:\x01\x00\xff\xff"),
	}, 0.001},
	"tensors in half precision, labels first": {map[string]string{
		"train.safetensors": tensors(`{"features":{"dtype":"F16","shape":[2,3],"data_offsets":[16,28]},"labels":{"dtype":"U64","shape":[2],"data_offsets":[0,16]}}`,
			"\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00<\x00\xc0\x008\x00B\x00D\xff{"),
	}, 65504},
	"tensors in bfloat16": {map[string]string{
		"train.safetensors": tensors(`{"features":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"labels":{"dtype":"I64","shape":[2],"data_offsets":[12,28]}}`,
			"\x80?\x00\xc0\x00?@@\x80@\x83:\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"),
	}, math.Float32frombits(0x3a83 << 16)},
}

func TestReadsWhatOthersWrite(t *testing.T) {
	for name, c := range written {
		p, err := Open(folder(t, c.files), "train", Declared{Width: 3})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all, two := make([]float32, 6), make([]float32, 2)
		labels, err := p.labels.integers()
		features := p.rows.(*array)
		if err := errors.Join(err, features.floats(all, 0), features.floats(two, 3)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.Close()
		if want := []float32{1, -2, 0.5, 3, 4, c.last}; p.known != 2 || !slices.Equal(all, want) || !slices.Equal(two, want[3:5]) || !slices.Equal(labels, []int64{1, -1}) {
			t.Errorf("%s: read %v, %v and %v, expected %v, two of them, and the labels 1 and -1", name, all, two, labels, want)
		}
	}
}

func TestIntegersOfEveryType(t *testing.T) {
	for _, c := range []struct {
		element safetensors.Element
		bytes   string
		want    int64
	}{
		{safetensors.Whole(1, true), "\x80", -128}, {safetensors.Whole(1, false), "\x80", 128}, {safetensors.Whole(2, true), "\x00\x80", -32768}, {safetensors.Whole(2, false), "\x00\x80", 32768},
		{safetensors.Whole(4, true), "\xfe\xff\xff\xff", -2}, {safetensors.Whole(4, false), "\xfe\xff\xff\xff", 1<<32 - 2},
		{safetensors.Whole(8, true), "\xfe\xff\xff\xff\xff\xff\xff\xff", -2}, {safetensors.Whole(8, false), "\x02\x00\x00\x00\x00\x00\x00\x80", math.MinInt64 + 2},
	} {
		if got := c.element.Integer([]byte(c.bytes)); got != c.want {
			t.Errorf("%q of %+v is %d, expected %d", c.bytes, c.element, got, c.want)
		}
	}
}

// The keys of the dictionary may come in any order, and with any spaces.
func TestHeaderOfAnotherWriter(t *testing.T) {
	var a array
	err := a.parseNPY(`{ "shape":(7,0 , 2) ,"fortran_order" : False,"descr":"|u1"}  `)
	if err != nil || !slices.Equal(a.shape, []int{7, 0, 2}) || a.element.Size != 1 {
		t.Errorf("read as %+v, %v", a, err)
	}
	var scalar array
	if err := scalar.parseNPY("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"); err == nil {
		t.Error("a single number is taken for an array")
	}
}

func TestRefuses(t *testing.T) {
	const four = "\x00\x00\x80?"
	vector := npy(dictionary("<f4", "(1, 1)"), four)
	labels := npy(dictionary("|u1", "(1,)"), "\x00")
	numpy := func(features string) map[string]string {
		return map[string]string{"train.npy": features, "train-labels.npy": labels}
	}
	labelled := func(labels string) map[string]string {
		return map[string]string{"train.npy": vector, "train-labels.npy": labels}
	}
	tensor := func(header string, n int) map[string]string {
		return map[string]string{"train.safetensors": tensors(header, strings.Repeat("\x00", n))}
	}
	huge := npyMagic + "\x02\x00\xff\xff\xff\xff"
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"empty":          {numpy(""), `found no file of NumPy's, expected one that begins with "\x93NUMPY"`},
		"zip":            {numpy("PK\x03\x04 and what follows"), "found no file of NumPy's"},
		"version":        {numpy(npyMagic + "\x04\x00\x00\x00\x00\x00"), "found version 4.0 of NumPy's format, expected 1.0, 2.0 or 3.0"},
		"long header":    {numpy(huge), "found a header of 4294967295 bytes, expected at most 10000"},
		"short header":   {numpy(npyMagic + "\x01\x00\x76\x00{'descr"), "the header ends after 7 bytes, expected 118"},
		"no dictionary":  {numpy(npy("print(1)", "")), "expected a dictionary of descr, fortran_order and shape"},
		"key twice":      {numpy(npy("{'descr': '<f4', 'descr': '<f4', 'shape': (1, 1)}", four)), "found a header that cannot be read"},
		"missing key":    {numpy(npy("{'descr': '<f4', 'shape': (1, 1)}", four)), "found a header that cannot be read"},
		"other key":      {numpy(npy("{'descr': '<f4', 'shape': (1, 1), 'order': False}", four)), "found a header that cannot be read"},
		"order":          {numpy(npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (1, 1)}", four)), "found fortran_order 1, expected False or True"},
		"order of bytes": {numpy(npy(dictionary("|f4", "(1, 1)"), four)), "found elements '|f4', expected one of b1, f2, f4, f8, i1, i2"},
		"objects":        {numpy(npy(dictionary("|O", "(1, 1)"), four)), "found elements '|O', expected one of"},
		"complex":        {numpy(npy(dictionary("<c8", "(1, 1)"), four+four)), "found elements '<c8', expected one of"},
		"structures":     {numpy(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 1)}", four)), "found elements [('a', '<f4')], expected one of"},
		"negative":       {numpy(npy(dictionary("<f4", "(-1, 1)"), four)), "found a header that cannot be read"},
		"overflow":       {numpy(npy(dictionary("<f4", "(4294967296, 4294967296)"), four)), "more elements than fit into memory"},
		"absurd":         {numpy(npy(dictionary("<f4", "(99999999999999999999, 1)"), four)), "found the shape (99999999999999999999, 1)"},
		"much more":      {numpy(npy(dictionary("<f4", "(1000000000, 1)"), four)), "has 83 bytes, expected 4000000079 for the shape [1000000000 1]"},
		"truncated":      {numpy(vector[:len(vector)-1]), "expected 74 for the shape [1 1]"},
		"goes on":        {numpy(vector + "\x00"), "has 75 bytes, expected 74"},
		"one size":       {numpy(npy(dictionary("<f4", "(1,)"), four)), "has the shape [1], expected two sizes: vectors and their width"},
		"width":          {numpy(npy(dictionary("<f4", "(1, 2)"), four+four)), "has vectors of width 2, expected the declared 1"},
		"none":           {numpy(npy(dictionary("<f4", "(0, 1)"), "")), "holds no vector, expected at least one"},
		"no labels":      {map[string]string{"train.npy": vector}, "train-labels.npy is not there"},
		"float labels":   {labelled(vector), "train-labels.npy holds floating-point numbers, expected integers"},
		"label matrix":   {labelled(npy(dictionary("|u1", "(1, 1)"), "\x00")), "has the shape [1 1], expected one size: a label for each vector"},
		"label missing":  {labelled(npy(dictionary("|u1", "(2,)"), "\x00\x00")), "holds 2 labels, expected one for each of the 1 vectors of"},

		"no tensors":     {map[string]string{"train.safetensors": "{}"}, "found 2 bytes, expected the 8 bytes"},
		"other tensor":   {tensor(`{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `found no tensor "features", expected features and labels`},
		"missing labels": {tensor(`{"features":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`, 4), `found no tensor "labels"`},
		"tensor type":    {tensor(`{"features":{"dtype":"F8_E4M3","shape":[1,1],"data_offsets":[0,1]}}`, 1), `tensor "features": found element type "F8_E4M3", expected one of BF16, BOOL, F16, F32, F64, I16`},
		"tensor rest":    {tensor(`{"features":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`, 5), "found 5 bytes of data, expected the 4"},

		"both":    {map[string]string{"train.npy": vector, "train.safetensors": "x"}, "expected one of them"},
		"nothing": {nil, "train.parquet is there, expected one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.files)
			_, err := Open(dir, "train", Declared{Width: 1})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
				t.Errorf("found error %v, expected one line that names the file and says %q", err, c.says)
			}
			if isMissing := strings.Contains(err.Error(), " there"); errors.Is(err, fs.ErrNotExist) != isMissing {
				t.Errorf("error %v matches ErrNotExist: %v", err, !isMissing)
			}
		})
	}
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "train.npy"), 0o700))
	if _, err := Open(dir, "train", Declared{Width: 1}); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
		t.Errorf("a folder is read as a file: %v", err)
	}
}

// A file that is cut anywhere is refused.
func TestRefusesTruncation(t *testing.T) {
	for name, c := range written {
		for file, content := range c.files {
			dir := folder(t, c.files)
			for n := range content {
				check(t, os.WriteFile(filepath.Join(dir, file), []byte(content[:n]), 0o600))
				if _, err := Open(dir, "train", Declared{Width: 3}); err == nil {
					t.Fatalf("%s: %s is read with %d of its %d bytes", name, file, n, len(content))
				}
			}
		}
	}
}

// No header, whatever it says, is read without an array of its size.
func FuzzHeader(f *testing.F) {
	dir := f.TempDir()
	slow.Inputs(f, [][]byte{
		[]byte(npy(dictionary("<f4", "(1, 1)"), "1234")), []byte(npy("{'descr': [('a', '<f4')], 'fortran_order': True, 'shape': (1, 1)}", "")),
	}, func(t testing.TB, content []byte) int64 {
		path := filepath.Join(dir, "x.npy")
		check(t, os.WriteFile(path, content, 0o600))
		file := must(os.Open(path))
		defer file.Close()
		a, err := openNPY(file)
		if err != nil {
			return 0
		}
		n := 1
		for _, size := range a.shape {
			n *= size
		}
		if n*a.element.Size > len(content) {
			t.Fatalf("%q is read as %v", content, a.shape)
		}
		return 0
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
