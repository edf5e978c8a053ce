package ranks

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"unsafe"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
)

// Orders holds what rank 0 tells the others before the first step, once it has its plan.
type Orders struct {
	Steps       int              // of the plan
	Physical    int              // examples in a physical batch
	Coordinates int              // of the contribution of every record
	Room        int              // number of contributions that a sum has room for
	Engines     gradients.Choice // so that no bit of a contribution depends on who computes it
	Initial     string           // SHA-256 of the file with the initial weights; "" if they are random

	Salt []byte // of all hashes of data; drawn for this start, and never stored
	Data []byte // hash of the training examples as the network sees them, where all ranks have the same
}

// sign draws the salt, and adds the hash of the training examples that the other ranks have to find
// too. If each rank has its own examples (bounds is not nil), there is no such hash.
func (o *Orders) sign(source *setup.Source, train data.Set, bounds []int, pool *kernel.Pool) error {
	salt := make([]uint64, 4)
	random.New().Fill(salt)
	o.Salt = bytesOf(salt)
	if bounds != nil {
		return nil
	}
	var err error
	o.Data, err = fingerprint(source.Own, train, o.Salt, pool)
	return err
}

// sameData refuses data of this rank that differ from the data of rank 0.
func (o Orders) sameData(source *setup.Source, train data.Set, pool *kernel.Pool) error {
	found, err := fingerprint(source.Own, train, o.Salt, pool)
	if err == nil && !bytes.Equal(found, o.Data) {
		err = fmt.Errorf("ranks: found other training examples (%d of %v) than rank 0, expected the same files on every machine", train.Len(), train.Shape())
	}
	return err
}

// program returns the SHA-256 of the executable, read once.
var program = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("ranks: %w", err)
	}
	return checkpoints.SHA256(path)
})

// mostHashed bounds the values that a fingerprint reads. Of larger sets it reads examples that the
// salt chooses. Tests set it to try that.
var mostHashed = 1 << 27

// fingerprint returns a salted hash of the examples of a set, or of a choice of them that nobody
// knows ahead, and of their owners: if an example had another owner elsewhere, a person could
// contribute twice.
func fingerprint(own [][]int, set data.Set, salt []byte, pool *kernel.Pool) ([]byte, error) {
	chosen := min(set.Len(), max(1, mostHashed/set.Shape().Values()))
	choice := rand.New(rand.NewChaCha8([32]byte(salt)))
	indices := make([]int, chosen)
	for i := range indices {
		if indices[i] = i; chosen < set.Len() {
			indices[i] = choice.IntN(set.Len())
		}
	}
	rows, err := rowsOf(set, indices, pool)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, salt)
	fmt.Fprintf(h, "%d %v %q %v", set.Len(), set.Shape(), set.Classes(), own)
	h.Write(bytesOf(rows))
	return h.Sum(nil), nil
}

// row holds hashes of what the network sees of an example and of what it learns about it.
type row struct{ values, learnt [sha256.Size]byte }

// rowsOf returns the hashes of each example with these indices.
func rowsOf(set data.Set, indices []int, pool *kernel.Pool) ([]row, error) {
	batcher, err := data.NewBatcher(set, noNormalisation(set))
	if err != nil {
		return nil, err
	}
	rows, problems := make([]row, len(indices)), make([]error, pool.Threads())
	pool.Run(len(indices), 64, func(worker, lo, hi int) {
		values, learnt := make([]float32, set.Shape().Values()), make([]float32, batcher.Targets())
		for i := lo; i < hi && problems[worker] == nil; i++ {
			problems[worker] = batcher.Fill(values, learnt, indices[i:i+1])
			rows[i] = row{sha256.Sum256(bytesOf(values)), sha256.Sum256(bytesOf(learnt))}
		}
	})
	return rows, cmp.Or(problems...)
}

// noNormalisation returns the normalisation that leaves the values of a set as they are.
func noNormalisation(set data.Set) data.Normalisation {
	if _, computed := set.(*data.Features); computed || set.Shape().IsText() {
		return data.Normalisation{}
	}
	channels := set.Shape().Channels
	return data.Normalisation{Mean: make([]float64, channels), Std: slices.Repeat([]float64{1}, channels)}
}

// message is the beginning of what rank 0 says in the course of a run.
type message struct {
	kind     int64
	step     int64
	length   int64  // of what follows
	clipNorm uint64 // bits of a float64, if the policy learns the clip norm
}

// The kinds of messages.
const (
	ofEnd int64 = 0x6470736764 + iota // numbers that do not come by chance
	ofStep
	ofMean
)

// bytesOf returns the memory of a slice as bytes, without a copy. All ranks run on machines of one
// kind.
func bytesOf[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}
