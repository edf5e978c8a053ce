package features_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dpsgd/data"
	"dpsgd/features"
)

// Rows are computed where no file has them, and opened where one does.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	path, fingerprint := filepath.Join(dir, "train"), features.Fingerprint{1, 2, 3}
	for range 2 {
		rows, err := features.Open(path, fingerprint)
		if err == nil {
			fmt.Println("opened", rows.Len(), "rows")
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			fmt.Println(err)
		}
		fmt.Println("computing")
		rows, err = data.NewFeatures(2, []string{"cat", "dog"}, []uint8{0, 1, 1}, make([]uint16, 6))
		if err == nil {
			err = features.Save(path, fingerprint, rows)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// computing
	// opened 3 rows
}
