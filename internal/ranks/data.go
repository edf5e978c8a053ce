package ranks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/mpi"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// call is the first message of rank 0. With it the others read their data while rank 0 reads its
// own.
type call struct {
	Config  []byte // of the run, as YAML
	Program string // SHA-256 of the executable
}

// sameProgram refuses to go on if this executable is not that of rank 0: its kernels may round
// otherwise, and its messages may mean something else.
func (c call) sameProgram() error {
	found, err := program()
	if err == nil && found != c.Program {
		err = fmt.Errorf("ranks: found a program with the SHA-256 %.12s…, expected that of rank 0, %.12s…; start the same file on every machine", found, c.Program)
	}
	return err
}

// tell broadcasts a value, as JSON, from rank 0 to the other ranks.
func tell(g mpi.Group, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("ranks: %w", err)
	}
	if err := g.Broadcast(bytesOf([]int64{int64(len(text))})); err != nil {
		return err
	}
	return g.Broadcast(text)
}

// hear stores the value that rank 0 tells at the pointer what.
func hear(g mpi.Group, what any) error {
	length := make([]int64, 1)
	if err := g.Broadcast(bytesOf(length)); err != nil {
		return err
	}
	text := make([]byte, length[0])
	if err := g.Broadcast(text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, what); err != nil {
		return fmt.Errorf("ranks: what rank 0 tells: %w", err)
	}
	return nil
}

// Find finds the data of a run on rank 0, and has the other ranks find theirs. If each rank has its
// own examples, source.Examples counts all of them and bounds holds the first of each rank, as
// [release.Ranks] wants it; else bounds is nil.
func Find(g mpi.Group, c *configs.Config, r setup.Request) (source *setup.Source, bounds []int, err error) {
	if g == nil || g.Size() == 1 {
		source, err = r.Find(c)
		return source, nil, err
	}
	program, err := program()
	if err != nil {
		return nil, nil, err
	}
	if err := tell(g, call{Config: c.YAML(), Program: program}); err != nil {
		return nil, nil, err
	}
	return find(g, c, r)
}

// find finds the data of this rank, rank 0 or another. Its results are those of [Find].
func find(g mpi.Group, c *configs.Config, r setup.Request) (*setup.Source, []int, error) {
	if !c.Performance.DataPerRank {
		source, err := r.Find(c)
		return source, nil, err
	}
	if c.Federated.Any() || c.Features.Any() || c.Privacy.Unit == configs.UnitPerson {
		return nil, nil, fmt.Errorf("%w: performance.data_per_rank is true, expected false with clients, features or persons: their records would be on several ranks", setup.ErrPlan)
	}
	if _, byPlace := c.Training.Sampling.(*release.Cyclic); byPlace {
		return nil, nil, fmt.Errorf("%w: performance.data_per_rank is true, expected false with training.sampling cyclic: other parts would have other places", setup.ErrPlan)
	}
	source, err := r.Find(c)
	if err != nil {
		return source, nil, err
	}
	bounds, err := boundsOf(g, source.Examples)
	if err == nil {
		source.Examples = bounds[g.Size()]
	}
	return source, bounds, err
}

// boundsOf returns the number of each rank's first example, and at the end the number of all
// examples. The argument is the number of this rank's own examples.
func boundsOf(g mpi.Group, examples int) ([]int, error) {
	counts := make([]int64, g.Size())
	counts[g.Rank()] = int64(examples)
	if err := g.Reduce(counts, Gathering); err != nil {
		return nil, err
	}
	if err := g.Broadcast(bytesOf(counts)); err != nil {
		return nil, err
	}
	bounds := make([]int, 1, len(counts)+1)
	for rank, n := range counts {
		bounds = append(bounds, bounds[rank]+int(n))
	}
	return bounds, nil
}

// apart refuses, on rank 0, an example that two ranks have: it would contribute twice. Every rank
// calls it with its own examples. It compares salted hashes of 64 bits of what the network sees,
// without labels; two different examples among n have the same hash with probability n²/2^65.
func apart(g mpi.Group, bounds []int, own data.Set, salt []byte, pool *kernel.Pool) error {
	rank := g.Rank()
	indices := make([]int, own.Len())
	for i := range indices {
		indices[i] = i
	}
	rows, err := rowsOf(own, indices, pool)
	if err != nil {
		return err
	}
	all := make([]int64, bounds[g.Size()])
	for i, row := range rows {
		h := hmac.New(sha256.New, salt)
		h.Write(row.values[:])
		all[bounds[rank]+i] = int64(binary.LittleEndian.Uint64(h.Sum(nil)))
	}
	if err := g.Reduce(all, Gathering); err != nil || rank != 0 {
		return err
	}
	has := make(map[int64]int, len(all)) // by hash of an example, the last rank that has it
	for rank := range g.Size() {
		for _, h := range all[bounds[rank]:bounds[rank+1]] {
			if other, found := has[h]; found && other != rank {
				return fmt.Errorf("ranks: found the same training example on rank %d and rank %d, expected each on one rank with performance.data_per_rank: it would contribute twice", other, rank)
			}
			has[h] = rank
		}
	}
	return nil
}

// ofRank contributes this rank's own records, which callers number among the records of all ranks.
type ofRank struct {
	release.Contributor
	first int   // number of its first record
	own   []int // numbers among its own; secret
}

// Contributions implements [release.Contributor].
func (r *ofRank) Contributions(indices []int) (clip.Batch, error) {
	r.own = r.own[:0]
	for _, i := range indices {
		r.own = append(r.own, i-r.first)
	}
	return r.Contributor.Contributions(r.own)
}
