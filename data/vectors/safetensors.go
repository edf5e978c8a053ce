package vectors

import (
	"fmt"
	"io"
	"os"

	"dpsgd/checkpoints/safetensors/header"
)

// safetensorsTypes are the names of types in the safetensors format that are read.
var safetensorsTypes = map[string]element{
	"F16": binary16, "BF16": bfloat16, "F32": binary32,
	"I8": signed(1), "I16": signed(2), "I32": signed(4), "I64": signed(8),
	"U8": unsigned(1), "U16": unsigned(2), "U32": unsigned(4), "U64": unsigned(8),
}

// The tensors of a file of vectors.
const (
	featuresTensor = "features"
	labelsTensor   = "labels"
)

// openSafetensors finds the two tensors of a file of vectors, which holds no other.
func openSafetensors(f *os.File) (features, labels *array, err error) {
	size, err := sizeOf(f)
	if err != nil {
		return nil, nil, err
	}
	types := header.Types{}
	for name, e := range safetensorsTypes {
		types[name] = int64(e.size)
	}
	entries, _, begin, err := header.Read(io.NewSectionReader(f, 0, size), size, types)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	found := map[string]*array{}
	for _, e := range entries {
		if e.Name != featuresTensor && e.Name != labelsTensor {
			return nil, nil, fmt.Errorf("%s: found the tensor %.40q, expected features and labels alone", f.Name(), e.Name)
		}
		found[e.Name] = &array{
			name: fmt.Sprintf("%s: tensor %q", f.Name(), e.Name), shape: e.Shape,
			element: safetensorsTypes[e.Type], content: io.NewSectionReader(f, begin+e.Begin, e.End-e.Begin),
		}
	}
	for _, name := range []string{featuresTensor, labelsTensor} {
		if found[name] == nil {
			return nil, nil, fmt.Errorf("%s: found no tensor %q, expected features and labels", f.Name(), name)
		}
	}
	return found[featuresTensor], found[labelsTensor], nil
}
