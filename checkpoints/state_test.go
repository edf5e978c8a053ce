package checkpoints

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/slow"
)

func sampleState(step int) *State {
	return &State{
		Step: step, Parameters: []float32{1, -2, 0.5, math.SmallestNonzeroFloat32, float32(step)}, OptimizerStep: step,
		Slots:         map[string][]float32{"momentum": {3, 4, 5}, "empty": {}, "a<b": {6}},
		LedgerEntries: step + 2, LedgerHash: strings.Repeat("ab", 16), PlanHash: "plan",
	}
}

func encodeState(s *State) []byte {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	must(0, errors.Join(s.encode(w), w.Flush()))
	return b.Bytes()
}

func TestStateRoundTrip(t *testing.T) {
	for name, s := range map[string]*State{
		"full":    sampleState(7),
		"no slot": {Parameters: []float32{1}, Slots: map[string][]float32{}},
		"nothing": {Parameters: []float32{}, Slots: map[string][]float32{}},
	} {
		got, err := decodeState(encodeState(s))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s: read %+v, %v, want %+v", name, got, err, s)
		}
	}
	large := sampleState(1)
	large.Parameters = make([]float32, 10_007) // more than one buffer, not a multiple of it
	r := rand.New(rand.NewPCG(1, 2))
	for i := range large.Parameters {
		large.Parameters[i] = float32(r.NormFloat64())
	}
	if got, err := decodeState(encodeState(large)); err != nil || !reflect.DeepEqual(got, large) {
		t.Errorf("large state does not come back: %v", err)
	}
}

// A state has no place for a random generator or for noise: the file consists of the values named
// here.
func TestStateHoldsNothingElse(t *testing.T) {
	s := sampleState(7)
	file := encodeState(s)
	length := int(binary.LittleEndian.Uint32(file[statePrefix-4:]))
	var header map[string]any
	must(0, json.Unmarshal(file[statePrefix:statePrefix+length], &header))
	want := []string{"step", "parameters", "optimizer_step", "slots", "ledger_entries", "ledger_hash", "plan_hash", "seconds"}
	for key := range header {
		if !slices.Contains(want, key) {
			t.Errorf("the header has a key %q", key)
		}
	}
	values := len(s.Parameters)
	for _, slot := range s.Slots {
		values += len(slot)
	}
	if want := statePrefix + length + 4*values + sha256.Size; len(file) != want {
		t.Errorf("the file has %d bytes, want %d", len(file), want)
	}
}

// Cut anywhere, or longer by a byte, neither a checkpoint nor a model is read.
func TestEveryTruncationIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		file []byte
		read func([]byte) error
	}{
		"checkpoint": {encodeState(sampleState(7)), func(b []byte) error { _, err := decodeState(b); return err }},
		"model": {must(encode(sampleTensors, nil)), func(b []byte) error {
			_, _, err := parse(bytes.NewReader(b), int64(len(b)))
			return err
		}},
	} {
		for n := range len(test.file) + 2 {
			err := test.read(append(test.file, 0)[:n])
			if n != len(test.file) && !errors.Is(err, ErrCorrupt) || n == len(test.file) && err != nil {
				t.Fatalf("%s: %d of %d bytes: got %v, want ErrCorrupt", name, n, len(test.file), err)
			}
		}
	}
}

// sealed builds a file with a right checksum around any header and sections, as a forger can.
func sealed(version uint32, header string, sections []float32) []byte {
	var b bytes.Buffer
	b.WriteString(stateMagic)
	b.Write(binary.LittleEndian.AppendUint32(nil, version))
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(header))))
	b.WriteString(header)
	writeFloats(&b, sections)
	return seal(b.Bytes())
}

func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

func TestWellSealedNonsenseIsRefused(t *testing.T) {
	header := func(change func(*stateHeader)) string {
		h := stateHeader{Parameters: 1, Slots: []slotHeader{{"a", 1}, {"b", 1}}}
		change(&h)
		return string(must(json.Marshal(h)))
	}
	good := header(func(*stateHeader) {})
	three := []float32{1, 2, 3}
	nan := float32(math.NaN())
	tests := map[string]struct {
		file []byte
		want string
	}{
		"other version":      {sealed(2, good, three), "found format version 2, expected 1"},
		"other magic":        {seal(append([]byte("dpsgd-checkpoinT"), make([]byte, 90)...)), `found "dpsgd-checkpoinT"`},
		"short":              {[]byte("x"), "found 1 bytes, expected a checkpoint of at least 56"},
		"header too long":    {seal(append([]byte(stateMagic), 1, 0, 0, 0, 255, 255, 255, 255)), "found a header of 4294967295 bytes"},
		"no JSON":            {sealed(1, "nonsense", nil), "invalid character"},
		"space in JSON":      {sealed(1, strings.Replace(good, ":", ": ", 1), three), "canonical"},
		"unknown key":        {sealed(1, strings.Replace(good, "{", `{"rng":"00",`, 1), three), "canonical"},
		"repeated key":       {sealed(1, strings.Replace(good, "{", `{"step":0,`, 1), three), "canonical"},
		"other case":         {sealed(1, strings.Replace(good, `"step"`, `"Step"`, 1), three), "canonical"},
		"missing slots":      {sealed(1, header(func(h *stateHeader) { h.Slots = nil })[:20], three), "header"},
		"same slot twice":    {sealed(1, header(func(h *stateHeader) { h.Slots[1].Name = "a" }), three), "ascending"},
		"slots not sorted":   {sealed(1, header(func(h *stateHeader) { h.Slots[0].Name = "c" }), three), "ascending"},
		"too few values":     {sealed(1, good, three[:2]), `section "b": found a length of 1 values, expected 0 to 0`},
		"too many values":    {sealed(1, good, append(three, 4)), "found 4 bytes after the last section"},
		"part of a value":    {seal(append(sealedBody(good, three), 1, 2)), "found 2 bytes after the last section"},
		"negative length":    {sealed(1, header(func(h *stateHeader) { h.Parameters = -1 }), three), "found a length of -1"},
		"huge length":        {sealed(1, header(func(h *stateHeader) { h.Parameters = math.MaxInt }), three), "expected 0 to 3"},
		"lengths overflow":   {sealed(1, header(func(h *stateHeader) { h.Slots[0].Length, h.Slots[1].Length = math.MaxInt, math.MaxInt }), three), "expected 0 to 2"},
		"negative step":      {sealed(1, header(func(h *stateHeader) { h.Step = -1 }), three), "found step -1"},
		"leads the ledger":   {sealed(1, header(func(h *stateHeader) { h.Step = 5; h.LedgerEntries = 4 }), three), "found 4 ledger entries at step 5"},
		"NaN in parameters":  {sealed(1, good, []float32{nan, 1, 2}), "parameters: element 0 of 1 is NaN or infinite"},
		"NaN in a slot":      {sealed(1, good, []float32{1, 2, nan}), `optimizer slot "b": element 0 of 1`},
		"infinite parameter": {sealed(1, good, []float32{float32(math.Inf(-1)), 1, 2}), "parameters: element 0 of 1"},
	}
	for name, test := range tests {
		_, err := decodeState(test.file)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want ErrCorrupt with %q", name, err, test.want)
		}
	}
}

func sealedBody(header string, sections []float32) []byte {
	file := sealed(1, header, sections)
	return file[:len(file)-sha256.Size]
}

// Whatever the reader accepts it writes again, byte for byte, but for the seconds that only older
// files have. The checksum is put right first, so that the fuzzer reaches the parser behind it.
func FuzzDecodeState(f *testing.F) {
	slow.Inputs(f, [][]byte{encodeState(sampleState(3)), encodeState(&State{})}, func(t testing.TB, file []byte) int64 {
		if _, err := decodeState(file); err != nil && len(file) >= sha256.Size {
			file = seal(bytes.Clone(file[:len(file)-sha256.Size]))
		}
		s, err := decodeState(file)
		if err == nil && bytes.Contains(file, []byte(`"seconds":0`)) && !bytes.Equal(encodeState(s), file) {
			t.Fatalf("read %.300q, which is written as %.300q", file, encodeState(s))
		}
		return 0
	})
}
