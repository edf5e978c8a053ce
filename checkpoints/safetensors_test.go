package checkpoints

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dpsgd/internal/slow"
)

var sampleTensors = []Tensor{
	{Name: "conv1.weight", Shape: []int{2, 1, 1, 2}, Data: []float32{1, -2.5, math.MaxFloat32, math.SmallestNonzeroFloat32}},
	{Name: "conv1.bias", Shape: []int{2}, Data: []float32{0, float32(math.Copysign(0, -1))}},
	{Name: "scalar", Shape: []int{}, Data: []float32{3}},
	{Name: "empty", Shape: []int{0, 5}, Data: []float32{}},
	{Name: `ключ "<quoted>"`, Shape: []int{1}, Data: []float32{7}},
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for name, metadata := range map[string]map[string]string{
		"with metadata": {"epsilon": "2.99", "a": `<"é">`, "": ""},
		"without":       nil,
	} {
		path := filepath.Join(dir, name)
		must(0, WriteModel(path, sampleTensors, metadata))
		tensors, gotMetadata, err := ReadModel(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(tensors, sampleTensors) || !reflect.DeepEqual(gotMetadata, metadata) {
			t.Errorf("%s: read %v %v, want %v %v", name, tensors, gotMetadata, sampleTensors, metadata)
		}
		if bits := math.Float32bits(tensors[1].Data[1]); bits != 1<<31 {
			t.Errorf("-0 came back as bits %#x", bits)
		}
	}
	must(0, WriteModel(filepath.Join(dir, "none"), nil, nil))
	if tensors, _, err := ReadModel(filepath.Join(dir, "none")); err != nil || len(tensors) != 0 {
		t.Errorf("a file without tensors: %v, %v", tensors, err)
	}
}

// The bytes that safetensors 0.8.0 for Python writes for
//
//	save({"a": np.array([[1, 2]], np.float32), "b": np.array(-1, np.float32)}, {"epsilon": "3"})
//
// Files are exchanged with other programs, so they must neither drift nor differ.
const reference = "\x90\x00\x00\x00\x00\x00\x00\x00" +
	`{"__metadata__":{"epsilon":"3"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[],"data_offsets":[8,12]}}    ` +
	"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x80\xbf"

func TestMatchesReferenceBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reference")
	tensors := []Tensor{{Name: "a", Shape: []int{1, 2}, Data: []float32{1, 2}}, {Name: "b", Data: []float32{-1}}}
	must(0, WriteModel(path, tensors, map[string]string{"epsilon": "3"}))
	if got := string(must(os.ReadFile(path))); got != reference {
		t.Errorf("wrote\n%q, want\n%q", got, reference)
	}
}

func TestWriteRefuses(t *testing.T) {
	one := []float32{1}
	tests := map[string]struct {
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		"same name":          {[]Tensor{{Name: "w", Shape: []int{1}, Data: one}, {Name: "w", Shape: []int{1}, Data: one}}, nil, `tensor "w" is given twice`},
		"empty name":         {[]Tensor{{Name: "", Shape: []int{1}, Data: one}}, nil, `found tensor name ""`},
		"reserved name":      {[]Tensor{{Name: "__metadata__", Shape: []int{1}, Data: one}}, nil, `found tensor name "__metadata__"`},
		"name not UTF-8":     {[]Tensor{{Name: "a\xff", Shape: []int{1}, Data: one}}, nil, "not valid UTF-8"},
		"long name":          {[]Tensor{{Name: strings.Repeat("n", 2000), Shape: []int{1}, Data: one}}, nil, "2000 bytes, expected at most 1024"},
		"shape and data":     {[]Tensor{{Name: "w", Shape: []int{2, 3}, Data: one}}, nil, `tensor "w": found 1 elements, expected 6 for shape [2 3]`},
		"negative dimension": {[]Tensor{{Name: "w", Shape: []int{-1, -1}, Data: one}}, nil, "negative dimension"},
		"overflow":           {[]Tensor{{Name: "w", Shape: []int{1 << 31, 1 << 31, 4}, Data: one}}, nil, "more elements than fit into memory"},
		"NaN":                {[]Tensor{{Name: "w", Shape: []int{2}, Data: []float32{1, float32(math.NaN())}}}, nil, `tensor "w": element 1 of 2 is NaN or infinite`},
		"long metadata":      {nil, map[string]string{"k": strings.Repeat("v", 1<<17)}, `metadata "k": found a string of 131072 bytes`},
	}
	for name, test := range tests {
		path := filepath.Join(t.TempDir(), "w")
		wantError(t, WriteModel(path, test.tensors, test.metadata), nil, path, test.want)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was written", name)
		}
	}
}

// raw builds a safetensors file from a header and the number of its data bytes, all zero.
func raw(header string, dataBytes int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, dataBytes)...)
}

func TestReadRefuses(t *testing.T) {
	const w = `"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	huge := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty file", nil, "found 0 bytes, expected the 8 bytes"},
		{"7 bytes", make([]byte, 7), "found 7 bytes"},
		{"header length overflows", append(huge, "{}"...), "expected at most 2"},
		{"header longer than file", raw("{}", 0)[:9], "found a header length of 2 bytes, expected at most 1"},
		{"empty header", raw("", 0), "found no '{'"},
		{"leading space", raw(" {}", 0), "found no '{'"},
		{"array", raw("[]", 0), "found no '{'"},
		{"not UTF-8", raw("{\"\xff\":1}", 0), "not UTF-8"},
		{"unclosed", raw("{", 0), "no '}' and spaces at its end"},
		{"trailing comma", raw("{"+w+",}", 8), "found no JSON object"},
		{"two documents", raw("{}{}", 0), "found text after the JSON object"},
		{"newline padding", raw("{}\n", 0), "and spaces at its end"},
		{"NUL padding", raw("{}\x00", 0), "and spaces at its end"},
		{"duplicate tensor", raw("{"+w+","+w+"}", 8), `found the key "w" twice`},
		{"duplicate by escape", raw("{"+w+`,"\u0077":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, 16), `found the key "w" twice`},
		{"lone surrogate", raw(`{"\ud800":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4), "not valid UTF-8"},
		{"duplicate key", raw(`{"w":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `found the key "dtype" twice`},
		{"other case", raw(`{"w":{"DType":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `found key "DType"`},
		{"extra key", raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}}`, 8), `found key "x"`},
		{"missing key", raw(`{"w":{"dtype":"F32","shape":[2]}}`, 8), "found 2 keys"},
		{"not an object", raw(`{"w":null}`, 0), "expected a JSON object"},
		{"eight bits", raw(`{"w":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}}`, 8), `tensor "w": found element type "F8_E4M3", expected one of BF16, BOOL, F16, F32, F64, I16`},
		{"fraction", raw(`{"w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}`, 8), `found "2.0", expected an integer`},
		{"exponent", raw(`{"w":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}}`, 8), `found "2e0", expected an integer`},
		{"negative", raw(`{"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), `found "-2", expected an integer`},
		{"string number", raw(`{"w":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}`, 8), `"\"2\"", expected an integer`},
		{"nested", raw(`{"w":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}}`, 8), `found "[2]", expected an integer`},
		{"rank", raw(`{"w":{"dtype":"F32","shape":[`+strings.Repeat("1,", 16)+`1],"data_offsets":[0,4]}}`, 4), "more than 16 integers"},
		{"overflow", raw(`{"w":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}`, 0), "more elements than fit"},
		{"overflow to size", raw(`{"w":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}`, 4), "more elements than fit"},
		{"one offset", raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, 8), "found 1 data_offsets"},
		{"reversed offsets", raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "found data_offsets [8, 0]"},
		{"offsets and shape", raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4), "expected 8 bytes for shape [2]"},
		{"hole before", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "begins at byte 4 of the data, expected 0"},
		{"hole between", raw("{"+w+`,"v":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16), "begins at byte 12 of the data, expected 8"},
		{"overlap", raw("{"+w+`,"v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "begins at byte 4 of the data, expected 8"},
		{"data missing", raw("{"+w+"}", 7), "found 7 bytes of data, expected the 8"},
		{"data left over", raw("{"+w+"}", 9), "found 9 bytes of data, expected the 8"},
		{"metadata number", raw(`{"__metadata__":{"k":1}}`, 0), `metadata "k": found 1`},
		{"metadata twice", raw(`{"__metadata__":{},"__metadata__":{}}`, 0), `found the key "__metadata__" twice`},
		{"metadata key twice", raw(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `found the key "k" twice`},
		{"metadata too long", raw(`{"__metadata__":{"k":"`+strings.Repeat("v", 1<<17)+`"}}`, 0), "found a string of 131072 bytes"},
	}
	dir := t.TempDir()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(dir, "w.safetensors")
			must(0, os.WriteFile(path, test.file, 0o600))
			_, _, err := ReadModel(path)
			wantError(t, err, ErrCorrupt, path, test.want)
		})
	}
}

func TestReadRefusesNonFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		file := raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8)
		binary.LittleEndian.PutUint32(file[len(file)-4:], math.Float32bits(float32(v)))
		_, _, err := parse(bytes.NewReader(file), int64(len(file)))
		if !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), `tensor "w": element 1 of 2`) {
			t.Errorf("%v: got %v", v, err)
		}
	}
}

// Entries may come in any order in the header; the data decides.
func TestReadAcceptsAnyHeaderOrder(t *testing.T) {
	file := raw(`{"b":{"data_offsets":[4,12],"shape":[2],"dtype":"F32"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},`+
		`"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}    `, 12)
	tensors, _, err := parse(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if names := tensors[0].Name + tensors[1].Name + tensors[2].Name; names != "azb" {
		t.Errorf("tensors came as %s, want azb", names)
	}
}

// Whatever the reader accepts, it reads the same again after the writer has written it.
func FuzzRead(f *testing.F) {
	slow.Inputs(f, [][]byte{
		raw(`{"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
		raw(`{"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  `, 4),
		nil,
	}, func(t testing.TB, file []byte) int64 {
		tensors, metadata, err := parse(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return 0
		}
		again, err := encode(tensors, metadata)
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		tensors2, metadata2, err := parse(bytes.NewReader(again), int64(len(again)))
		if err != nil || !reflect.DeepEqual(tensors, tensors2) || len(metadata) != len(metadata2) {
			t.Fatalf("read %v %v, then %v %v, %v", tensors, metadata, tensors2, metadata2, err)
		}
		return 0
	})
}

// Weights of other types are rounded to float32, those that nobody asked for too: a checkpoint of
// PyTorch's counts batches in int64.
func TestReadConverts(t *testing.T) {
	for name, data := range map[string]string{
		"F16": "\x00\x3c\x00\xc1", "BF16": "\x80\x3f\x20\xc0", "F32": "\x00\x00\x80\x3f\x00\x00\x20\xc0",
		"F64": "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x04\xc0",
	} {
		got, err := readTensor(t, name, data)
		if err != nil || !reflect.DeepEqual(got, []float32{1, -2.5}) {
			t.Errorf("%s: read %v (%v), expected 1 and -2.5", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		data string
		want []float32
	}{
		"I8": {"\x01\xff", []float32{1, -1}}, "U8": {"\x01\xff", []float32{1, 255}}, "BOOL": {"\x01\x00", []float32{1, 0}},
		"I16": {"\x01\x00\xff\xff", []float32{1, -1}}, "U32": {"\x01\x00\x00\x00\xff\xff\xff\xff", []float32{1, 1 << 32}},
		"I64": {"\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", []float32{1, -1}},
		"U64": {"\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", []float32{1, 1 << 63 * 2}},
	} {
		if got, err := readTensor(t, name, c.data); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: read %v (%v), expected %v", name, got, err, c.want)
		}
	}
	for name, data := range map[string]string{
		"F16": "\x00\x3c\x00\x7c", "BF16": "\x80\x3f\x80\xff", // infinite
		"F64": "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xf0\x47", // 2^128
	} {
		want := `tensor "w" of ` + name + ` as F32: element 1 of 2 is NaN or infinite`
		if _, err := readTensor(t, name, data); !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found error %v, expected %q", name, err, want)
		}
	}
}

// readTensor reads a file with two elements of a type.
func readTensor(t *testing.T, dtype, data string) ([]float32, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w")
	file := raw(fmt.Sprintf(`{"w":{"dtype":%q,"shape":[2],"data_offsets":[0,%d]}}`, dtype, len(data)), 0)
	must(0, os.WriteFile(path, append(file, data...), 0o600))
	tensors, _, err := ReadModel(path)
	if err != nil {
		return nil, err
	}
	return tensors[0].Data, nil
}
