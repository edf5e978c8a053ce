package vectors

import (
	"fmt"
	"io"
	"os"

	"dpsgd/checkpoints/safetensors"
)

// The tensors of a file of vectors.
const (
	featuresTensor = "features"
	labelsTensor   = "labels"
)

// openSafetensors finds the two tensors of a file of vectors. Others are passed over.
func openSafetensors(f *os.File) (features, labels *array, err error) {
	size, err := sizeOf(f)
	if err != nil {
		return nil, nil, err
	}
	entries, _, begin, err := safetensors.Read(io.NewSectionReader(f, 0, size), size)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	found := map[string]*array{}
	for _, e := range entries {
		found[e.Name] = &array{
			name: fmt.Sprintf("%s: tensor %q", f.Name(), e.Name), shape: e.Shape,
			element: safetensors.Types[e.Type], content: io.NewSectionReader(f, begin+e.Begin, e.End-e.Begin),
		}
	}
	for _, name := range []string{featuresTensor, labelsTensor} {
		if found[name] == nil {
			return nil, nil, fmt.Errorf("%s: found no tensor %q, expected features and labels", f.Name(), name)
		}
	}
	return found[featuresTensor], found[labelsTensor], nil
}
