package answer

import (
	"fmt"
	"slices"
	"sort"
)

// maxRank bounds the denominator of a quantile, so that scores fit into an int64.
const maxRank = 1 << 20

// NewRanks returns scores of candidates, given in ascending order: how near each is to a quantile
// of the records' values, the one that the share part/whole of the values lies below. The score of
// c is -|whole·#{values below c} - part·#values|. The candidates have to be public.
func NewRanks(values, candidates []int64, part, whole int) (*Scores, error) {
	if len(candidates) == 0 || !slices.IsSorted(candidates) {
		return nil, fmt.Errorf("answer: found %d candidates for a quantile, expected at least 1, in ascending order", len(candidates))
	}
	if !(whole >= 1 && whole <= maxRank && part >= 0 && part <= whole) {
		return nil, fmt.Errorf("answer: found the quantile %d/%d, expected a share in [0, 1] with a denominator of at most %d", part, whole, maxRank)
	}
	below := make([]int64, len(candidates)+1) // values from one candidate to the next
	for _, x := range values {
		below[sort.Search(len(candidates), func(i int) bool { return candidates[i] > x })]++
	}
	scores, sum := make([]int64, len(candidates)), int64(0)
	for i := range scores {
		sum += below[i]
		scores[i] = -magnitude(int64(whole)*sum - int64(part)*int64(len(values)))
	}
	// One record moves what stands between the bars by whole-part for some candidates and by -part
	// for the others, and every score by at most the larger of the two, up or down.
	return newScores(scores, 2*int64(max(part, whole-part))), nil
}

func magnitude(x int64) int64 { return max(x, -x) }
