package release

import (
	"slices"
	"sync"
	"testing"

	"dpsgd/clip"
)

// Before cuts a block and changes nothing else about it: no value, no place, no noise.
func TestBeforeCutsBlocks(t *testing.T) {
	const dim = 1500
	sum, err := clip.NewSum(clip.Flat{ClipNorm: 1}, dim, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	err = gaussian(t, 1, 1, nil).Privatize(0, sum, nil, func(n Noisy) {
		mu.Lock()
		defer mu.Unlock()
		for _, end := range []int{0, 1, n.From(), n.From() + 1, 700, dim - 1, dim, dim + 1} {
			cut := n.Before(end)
			want := n.Values()[:max(0, min(len(n.Values()), end-n.From()))]
			if !slices.Equal(cut.Values(), want) || cut.From() != n.From() || cut.Worker() != n.Worker() || cut.Deviation() != n.Deviation() {
				t.Errorf("the block of %d values from %d, before %d, has %d values from %d", len(n.Values()), n.From(), end, len(cut.Values()), cut.From())
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
