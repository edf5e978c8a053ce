package exchange_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/exchange"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one of an encoded protocol buffer.
type field struct {
	value uint64 // of numbers
	bytes []byte // of texts and messages
}

// all returns the fields of an encoded message with a number.
func all(t *testing.T, content []byte, number protowire.Number) (found []field) {
	t.Helper()
	for len(content) > 0 {
		n, kind, size := protowire.ConsumeField(content)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		_, _, tag := protowire.ConsumeTag(content)
		f := field{}
		if value := content[tag:size]; kind == protowire.BytesType {
			f.bytes, _ = protowire.ConsumeBytes(value)
		} else {
			f.value, _ = protowire.ConsumeVarint(value)
		}
		if content = content[size:]; n == number {
			found = append(found, f)
		}
	}
	return found
}

func texts(fields []field) (texts []string) {
	for _, f := range fields {
		texts = append(texts, string(f.bytes))
	}
	return texts
}

// What any reader of ONNX relies on, for every network: one operator set, values that are made once
// and before they are used, constants as long as their shapes say, an input and an output. All of
// them can be written in Python, too.
//
// No batch is too small, and an empty one is a batch: a shape that leaves a side open, -1, does not
// take another from its input, 0, because of no values ONNX Runtime cannot tell how long the open
// side is. check.py runs empty batches.
func TestStructure(t *testing.T) {
	sizes := map[uint64]int{1: 4, 7: 8} // of float32 and int64
	reshapes := 0
	for name, configuration := range cases() {
		m := modelOf(t, configuration)
		content := tiny.Must(exchange.ONNX(m))(t)
		if _, _, err := exchange.PyTorch(m, "model.py", "model.safetensors"); err != nil && !m.Data.Shape.IsText() {
			t.Errorf("%s: %v", name, err)
		}
		if v := all(t, content, 1)[0].value; v != 8 {
			t.Errorf("%s: found IR version %d, expected 8", name, v)
		}
		if set := all(t, all(t, content, 8)[0].bytes, 2)[0].value; set != 17 {
			t.Errorf("%s: found operator set %d, expected 17", name, set)
		}
		graph := all(t, content, 7)[0].bytes
		known := map[string]bool{string(all(t, all(t, graph, 11)[0].bytes, 1)[0].bytes): true}
		values, constants := 0, map[string][]byte{}
		for _, c := range all(t, graph, 5) {
			n, constant := sizes[all(t, c.bytes, 2)[0].value], string(all(t, c.bytes, 8)[0].bytes)
			for _, d := range all(t, c.bytes, 1) {
				n *= int(d.value)
			}
			constants[constant] = all(t, c.bytes, 9)[0].bytes
			if raw := constants[constant]; len(raw) != n {
				t.Errorf("%s: constant %s has %d bytes, expected %d", name, constant, len(raw), n)
			}
			values += n / 4
			known[constant] = true
		}
		if values < len(m.Network.Values) {
			t.Errorf("%s: found %d values in constants, expected at least the %d parameters", name, values, len(m.Network.Values))
		}
		for _, n := range all(t, graph, 1) {
			for _, in := range texts(all(t, n.bytes, 1)) {
				if !known[in] {
					t.Errorf("%s: an operator takes %s, which is not made before it", name, in)
				}
			}
			out := string(all(t, n.bytes, 2)[0].bytes)
			if known[out] {
				t.Errorf("%s: %s is made twice", name, out)
			}
			known[out] = true
			if string(all(t, n.bytes, 4)[0].bytes) == "Reshape" {
				reshapes++
				raw := constants[texts(all(t, n.bytes, 1))[1]]
				shape := make([]int64, len(raw)/8)
				tiny.Must(binary.Decode(raw, binary.LittleEndian, shape))(t)
				if slices.Contains(shape, -1) && slices.Contains(shape, 0) || len(shape) == 0 {
					t.Errorf("%s: %s brings values to the shape %v, expected one that an empty batch has too", name, out, shape)
				}
			}
		}
		if out := string(all(t, all(t, graph, 12)[0].bytes, 1)[0].bytes); out != "logits" || !known[out] {
			t.Errorf("%s: found the output %s, expected logits", name, out)
		}
	}
	if reshapes == 0 {
		t.Error("found no Reshape in any network")
	}
}

// The small convolutional network is these operators, in this order.
func TestOperators(t *testing.T) {
	content := tiny.Must(exchange.ONNX(modelOf(t, cases()["network mnist-cnn"])))(t)
	var found []string
	for _, n := range all(t, all(t, content, 7)[0].bytes, 1) {
		found = append(found, string(all(t, n.bytes, 4)[0].bytes))
	}
	want := strings.Fields("Conv Tanh MaxPool Conv Tanh MaxPool Flatten Gemm Tanh Gemm Identity")
	if !slices.Equal(found, want) {
		t.Errorf("found the operators %q, expected %q", found, want)
	}
}

// The guarantee goes with the model in every format, and the file of a model without privacy
// promises none.
func TestProvenance(t *testing.T) {
	for system, want := range map[string]struct{ has, not []string }{
		"":             {[]string{"privacy.epsilon", "3.000", "privacy.delta", "1e-05", "exact", "one picture", "zero-out"}, nil},
		statement.None: {[]string{"NOT PRIVATE"}, []string{"differential privacy"}},
	} {
		m, dir := modelOf(t, strings.Replace(cases()["network vit-tiny"], "{name:", "{lora: {rank: 1, alpha: 2}, name:", 1)), t.TempDir()
		m.Statement.System = system
		for _, format := range exchange.Formats() {
			files := tiny.Must(exchange.Export(m, format, filepath.Join(dir, format+exchange.Extension(format))))(t)
			for _, file := range files {
				if filepath.Base(file) == "adapter_config.json" {
					continue // PEFT's own, beside weights that have it
				}
				content := tiny.Read(t, file)
				has := func(text string) bool { return strings.Contains(content, text) }
				if i := slices.IndexFunc(want.has, func(text string) bool { return !has(text) }); i >= 0 {
					t.Errorf("%s: found no %q in %s", format, want.has[i], file)
				}
				if slices.ContainsFunc(want.not, has) {
					t.Errorf("%s: found a promise in %s", format, file)
				}
			}
		}
	}
}

// The Python file is one that a person would have written.
func TestScript(t *testing.T) {
	dir := t.TempDir()
	tiny.Must(exchange.Export(modelOf(t, cases()["residual blocks"]), "pytorch-script", filepath.Join(dir, "mine.py")))(t)
	script := tiny.Read(t, filepath.Join(dir, "mine.py"))
	for _, part := range []string{`
        self.network = nn.Sequential(
            Residual(
                body=nn.Sequential(
                    nn.Conv2d(3, 4, 3, stride=2, padding=1),
                    Residual(
                        body=nn.Sequential(
                            nn.Tanh(),
                            nn.Conv2d(4, 4, 1, stride=1, padding=0),
                        ),
                        shortcut=nn.Sequential(),
                    ),
                ),
                shortcut=nn.Sequential(
                    nn.Conv2d(3, 4, 1, stride=2, padding=0),
                ),
            ),
            nn.Flatten(),
            nn.Linear(80, 3),
        )
`, `with_name("mine.safetensors")`, "from mine import load, predict", "class Residual("} {
		if !strings.Contains(script, part) {
			t.Errorf("found no %s in\n%s", part, script)
		}
	}
	if strings.Contains(script, "class TemperedSigmoid") {
		t.Error("found a class that the network does not use")
	}
	tensors, _, err := checkpoints.ReadModel(filepath.Join(dir, "mine.safetensors"))
	if err != nil || tensors[0].Name != "0.body.0.weight" {
		t.Errorf("found the tensors %v (%v), expected those of the network", tensors, err)
	}
}

// What others have named, such as the columns of a table, is text in the Python file and no code.
func TestNamesAreNoCode(t *testing.T) {
	script := func(name string) string {
		m := modelOf(t, strings.Replace(cases()["rows"], "[age, pay, size]", "["+strconv.Quote(name)+", pay, size]", 1))
		m.Statement.Run = name
		text, _, err := exchange.PyTorch(m, name+".py", name+".safetensors")
		tiny.Check(t, err)
		return string(text)
	}
	hostile := script(`a"""+open("/dev/null")+"""\N`)
	if found, want := strings.Count(hostile, `"""`), strings.Count(script("age"), `"""`); found != want {
		t.Errorf("found %d ends of texts, expected %d:\n%s", found, want, hostile)
	}
	if strings.Count(hostile, `\N`) != strings.Count(hostile, `\\N`) {
		t.Errorf("found a backslash that Python takes for more:\n%s", hostile)
	}
}

func TestWrongExports(t *testing.T) {
	m, dir := modelOf(t, cases()["network logistic"]), t.TempDir()
	for _, test := range []struct{ format, file, want string }{
		{"tflite", "x", `found the format "tflite", expected onnx, safetensors, pytorch-script`},
		{"pytorch-script", "x.safetensors", "expected one that ends in .py"},
		{"onnx", "no/x.onnx", "no such file"},
	} {
		if _, err := exchange.Export(m, test.format, filepath.Join(dir, test.file)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: found %v, expected %q", test.format, err, test.want)
		}
	}
}
