package checkpoints

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var sampleTensors = []Tensor{
	{Name: "conv1.weight", Shape: []int{2, 1, 1, 2}, Data: []float32{1, -2.5, math.MaxFloat32, math.SmallestNonzeroFloat32}},
	{Name: "conv1.bias", Shape: []int{2}, Data: []float32{0, float32(math.Copysign(0, -1))}},
	{Name: "scalar", Shape: []int{}, Data: []float32{3}},
	{Name: "empty", Shape: []int{0, 5}, Data: []float32{}},
	{Name: `ключ "<quoted>"`, Shape: []int{1}, Data: []float32{7}},
}

func TestSafetensorsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for name, metadata := range map[string]map[string]string{
		"with metadata": {"epsilon": "2.99", "a": `<"é">`, "": ""},
		"without":       nil,
	} {
		path := filepath.Join(dir, name)
		if err := WriteSafetensors(path, sampleTensors, metadata); err != nil {
			t.Fatal(err)
		}
		tensors, gotMetadata, err := ReadSafetensors(path)
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
	if err := WriteSafetensors(filepath.Join(dir, "none"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if tensors, _, err := ReadSafetensors(filepath.Join(dir, "none")); err != nil || len(tensors) != 0 {
		t.Errorf("a file without tensors: %v, %v", tensors, err)
	}
}

// The bytes that safetensors 0.8.0 for Python writes for
//
//	save({"a": np.array([[1, 2]], np.float32), "b": np.array(-1, np.float32)}, {"epsilon": "3"})
//
// Files are exchanged with other programs, so they must neither drift nor differ.
const referenceSafetensors = "\x90\x00\x00\x00\x00\x00\x00\x00" +
	`{"__metadata__":{"epsilon":"3"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[],"data_offsets":[8,12]}}    ` +
	"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x80\xbf"

func TestSafetensorsMatchesReferenceBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reference")
	tensors := []Tensor{{"a", []int{1, 2}, []float32{1, 2}}, {"b", nil, []float32{-1}}}
	if err := WriteSafetensors(path, tensors, map[string]string{"epsilon": "3"}); err != nil {
		t.Fatal(err)
	}
	if got := string(must(os.ReadFile(path))); got != referenceSafetensors {
		t.Errorf("wrote\n%q, want\n%q", got, referenceSafetensors)
	}
}

func TestWriteSafetensorsRefuses(t *testing.T) {
	one := []float32{1}
	tests := map[string]struct {
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		"same name":          {[]Tensor{{"w", []int{1}, one}, {"w", []int{1}, one}}, nil, `tensor "w" is given twice`},
		"empty name":         {[]Tensor{{"", []int{1}, one}}, nil, `found tensor name ""`},
		"reserved name":      {[]Tensor{{"__metadata__", []int{1}, one}}, nil, `found tensor name "__metadata__"`},
		"name not UTF-8":     {[]Tensor{{"a\xff", []int{1}, one}}, nil, "not valid UTF-8"},
		"long name":          {[]Tensor{{strings.Repeat("n", 2000), []int{1}, one}}, nil, "2000 bytes, expected at most 1024"},
		"shape and data":     {[]Tensor{{"w", []int{2, 3}, one}}, nil, `tensor "w": found 1 elements, expected 6 for shape [2 3]`},
		"negative dimension": {[]Tensor{{"w", []int{-1, -1}, one}}, nil, "negative dimension"},
		"overflow":           {[]Tensor{{"w", []int{1 << 31, 1 << 31, 4}, one}}, nil, "more elements than fit into memory"},
		"NaN":                {[]Tensor{{"w", []int{2}, []float32{1, float32(math.NaN())}}}, nil, `tensor "w": element 1 of 2 is NaN or infinite`},
		"long metadata":      {nil, map[string]string{"k": strings.Repeat("v", 1<<17)}, `metadata "k": found a string of 131072 bytes`},
	}
	for name, test := range tests {
		path := filepath.Join(t.TempDir(), "w")
		wantError(t, WriteSafetensors(path, test.tensors, test.metadata), nil, test.want)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was written", name)
		}
	}
}

// rawSafetensors builds a safetensors file from a header and the number of its data bytes, all
// zero.
func rawSafetensors(header string, dataBytes int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, dataBytes)...)
}

func TestReadSafetensorsRefuses(t *testing.T) {
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
		{"header longer than file", rawSafetensors("{}", 0)[:9], "found a header length of 2 bytes, expected at most 1"},
		{"empty header", rawSafetensors("", 0), "found no '{'"},
		{"leading space", rawSafetensors(" {}", 0), "found no '{'"},
		{"array", rawSafetensors("[]", 0), "found no '{'"},
		{"not UTF-8", rawSafetensors("{\"\xff\":1}", 0), "not UTF-8"},
		{"unclosed", rawSafetensors("{", 0), "invalid JSON"},
		{"trailing comma", rawSafetensors("{"+w+",}", 8), "invalid JSON"},
		{"two documents", rawSafetensors("{}{}", 0), "2 bytes after its end"},
		{"newline padding", rawSafetensors("{}\n", 0), "1 bytes after its end"},
		{"NUL padding", rawSafetensors("{}\x00", 0), "1 bytes after its end"},
		{"duplicate tensor", rawSafetensors("{"+w+","+w+"}", 8), `key "w" is there twice`},
		{"duplicate by escape", rawSafetensors("{"+w+`,"\u0077":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, 16), `key "w" is there twice`},
		{"lone surrogate", rawSafetensors(`{"\ud800":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4), "not valid UTF-8"},
		{"duplicate key", rawSafetensors(`{"w":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `"dtype" is there twice`},
		{"other case", rawSafetensors(`{"w":{"DType":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `found key "DType"`},
		{"extra key", rawSafetensors(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}}`, 8), `found key "x"`},
		{"missing key", rawSafetensors(`{"w":{"dtype":"F32","shape":[2]}}`, 8), "found 2 keys"},
		{"not an object", rawSafetensors(`{"w":null}`, 0), "expected {"},
		{"half precision", rawSafetensors(`{"w":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}`, 8), `tensor "w": found element type "F16", expected "F32"`},
		{"fraction", rawSafetensors(`{"w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}`, 8), `found "2.0", expected an integer`},
		{"exponent", rawSafetensors(`{"w":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}}`, 8), `found "2e0", expected an integer`},
		{"negative", rawSafetensors(`{"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), `found "-2", expected an integer`},
		{"string number", rawSafetensors(`{"w":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}`, 8), "found 2, expected an integer"},
		{"nested", rawSafetensors(`{"w":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}}`, 8), "found [, expected an integer"},
		{"rank", rawSafetensors(`{"w":{"dtype":"F32","shape":[`+strings.Repeat("1,", 16)+`1],"data_offsets":[0,4]}}`, 4), "more than 16 integers"},
		{"overflow", rawSafetensors(`{"w":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}`, 0), "more elements than fit"},
		{"overflow to size", rawSafetensors(`{"w":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}`, 4), "more elements than fit"},
		{"one offset", rawSafetensors(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, 8), "found 1 data_offsets"},
		{"reversed offsets", rawSafetensors(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "found data_offsets [8, 0]"},
		{"offsets and shape", rawSafetensors(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4), "expected 8 bytes for shape [2]"},
		{"hole before", rawSafetensors(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "begins at byte 4 of the data, expected 0"},
		{"hole between", rawSafetensors("{"+w+`,"v":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16), "begins at byte 12 of the data, expected 8"},
		{"overlap", rawSafetensors("{"+w+`,"v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "begins at byte 4 of the data, expected 8"},
		{"data missing", rawSafetensors("{"+w+"}", 7), "found 7 bytes of data, expected the 8"},
		{"data left over", rawSafetensors("{"+w+"}", 9), "found 9 bytes of data, expected the 8"},
		{"metadata number", rawSafetensors(`{"__metadata__":{"k":1}}`, 0), `metadata "k": found 1`},
		{"metadata twice", rawSafetensors(`{"__metadata__":{},"__metadata__":{}}`, 0), `key "__metadata__" is there twice`},
		{"metadata key twice", rawSafetensors(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `key "k" is there twice`},
		{"metadata too long", rawSafetensors(`{"__metadata__":{"k":"`+strings.Repeat("v", 1<<17)+`"}}`, 0), "found a string of 131072 bytes"},
	}
	dir := t.TempDir()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(dir, "w.safetensors")
			if err := os.WriteFile(path, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := ReadSafetensors(path)
			wantError(t, err, ErrCorrupt, path, test.want)
		})
	}
}

func TestReadSafetensorsRefusesNonFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		file := rawSafetensors(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8)
		binary.LittleEndian.PutUint32(file[len(file)-4:], math.Float32bits(float32(v)))
		_, _, err := parseSafetensors(bytes.NewReader(file), int64(len(file)))
		if !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), `tensor "w": element 1 of 2`) {
			t.Errorf("%v: got %v", v, err)
		}
	}
}

// Entries may come in any order in the header; the data decides.
func TestReadSafetensorsAcceptsAnyHeaderOrder(t *testing.T) {
	file := rawSafetensors(`{"b":{"data_offsets":[4,12],"shape":[2],"dtype":"F32"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},`+
		`"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}    `, 12)
	tensors, _, err := parseSafetensors(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if names := tensors[0].Name + tensors[1].Name + tensors[2].Name; names != "azb" {
		t.Errorf("tensors came as %s, want azb", names)
	}
}

// Every truncation of a file is refused.
func TestReadSafetensorsRefusesTruncation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	if err := WriteSafetensors(path, sampleTensors, nil); err != nil {
		t.Fatal(err)
	}
	file := must(os.ReadFile(path))
	for n := range file {
		if _, _, err := parseSafetensors(bytes.NewReader(file[:n]), int64(n)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("the first %d of %d bytes: got error %v, want ErrCorrupt", n, len(file), err)
		}
	}
}

// Whatever the reader accepts, it reads the same again after the writer has written it.
func FuzzReadSafetensors(f *testing.F) {
	f.Add(rawSafetensors(`{"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(rawSafetensors(`{"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  `, 4))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, metadata, err := parseSafetensors(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		encode, err := prepareSafetensors(tensors, metadata)
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		var again bytes.Buffer
		must(0, encode(&again))
		tensors2, metadata2, err := parseSafetensors(&again, int64(again.Len()))
		if err != nil || !reflect.DeepEqual(tensors, tensors2) || len(metadata) != len(metadata2) {
			t.Fatalf("read %v %v, then %v %v, %v", tensors, metadata, tensors2, metadata2, err)
		}
	})
}
