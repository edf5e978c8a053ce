package features

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"dpsgd/data"
	"dpsgd/features/store"
	"dpsgd/internal/kernel"
)

// Request is what [Compute] works with, beside recipe and pictures. None of it changes the rows.
type Request struct {
	// Caches are folders that rows are kept in: they are looked for in all of them, and kept in the
	// first one that can be written to. None keeps nothing.
	Caches []string
	Pool   *kernel.Pool
	// Computed is told how many of all pictures are done; nil tells nobody. It is not called for
	// rows from a cache.
	Computed func(done, total int)
}

// Compute returns the rows of the pictures, under the same name: those of an earlier call from the
// cache, or new ones. Rows that cannot be kept are computed all the same.
func Compute(r Recipe, pictures *data.Split, q Request) (*data.Split, error) {
	fingerprint := r.fingerprint(pictures)
	if rows := cached(fingerprint, q.Caches); rows != nil {
		rows.Name = pictures.Name
		return rows, nil
	}
	train, isTrain := pictures.Train.(*data.Images)
	test, isTest := pictures.Test.(*data.Images)
	if !isTrain || !isTest {
		return nil, fmt.Errorf("features: %s are computed of pictures, found rows of %v in %s", r.Transform.Name(), pictures.Train.Shape(), pictures.Name)
	}
	e, err := r.prepare(train.Shape(), q.Pool)
	if err != nil {
		return nil, err
	}
	done, total := 0, train.Len()+test.Len()
	report := func(n int) {
		if done += n; q.Computed != nil {
			q.Computed(done, total)
		}
	}
	rows := &data.Split{Name: pictures.Name}
	trainRows, err := e.rows(train, report)
	if err != nil {
		return nil, err
	}
	testRows, err := e.rows(test, report)
	if err != nil {
		return nil, err
	}
	keep(fingerprint, q.Caches, trainRows, testRows)
	rows.Train, rows.Test = trainRows, testRows
	return rows, nil
}

// Folder is the folder of a cache, below that of the data or of the runs.
const Folder = ".features"

func paths(cache string, fingerprint store.Fingerprint) (train, test string) {
	base := filepath.Join(cache, Folder, hex.EncodeToString(fingerprint[:8]))
	return base + ".train", base + ".test"
}

// cached is what is kept of both sets, or nil. A file that is damaged or of other pictures is as
// good as none.
func cached(fingerprint store.Fingerprint, caches []string) *data.Split {
	for _, cache := range caches {
		trainPath, testPath := paths(cache, fingerprint)
		train, err := store.Open(trainPath, fingerprint)
		if err != nil {
			continue
		}
		test, err := store.Open(testPath, fingerprint)
		if err != nil {
			continue
		}
		return &data.Split{Train: train, Test: test}
	}
	return nil
}

// keep keeps both sets in the first folder that takes them.
func keep(fingerprint store.Fingerprint, caches []string, train, test *data.Features) {
	for _, cache := range caches {
		trainPath, testPath := paths(cache, fingerprint)
		if os.MkdirAll(filepath.Dir(trainPath), 0o700) != nil {
			continue
		}
		if store.Save(trainPath, fingerprint, train) == nil && store.Save(testPath, fingerprint, test) == nil {
			return
		}
	}
}
