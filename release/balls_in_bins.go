package release

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/data"
)

// BallsInBins is the [Sampling] whose sampler is [data.BallsInBins], with the number of bins that
// makes batches of about the size asked for.
type BallsInBins struct{}

func (BallsInBins) Name() string { return "balls_in_bins" }
func (BallsInBins) Sized() bool  { return true }
func (BallsInBins) Sampler(batchSize float64, n int) Sampler {
	return ballsInBins{&data.BallsInBins{Bins: int(max(1, math.Round(float64(n)/batchSize)))}}
}

// Expected implements [Rounded].
func (b BallsInBins) Expected(batchSize float64, n int) float64 {
	return float64(n) / float64(b.Sampler(batchSize, n).(ballsInBins).Bins)
}

// Rounded is an optional interface of a [Sampling] that draws samples of another expected size than
// it is asked for: Expected returns it.
type Rounded interface {
	Expected(batchSize float64, n int) float64
}

// InEpochs is an optional interface of a [Sampler] of which Epoch samples in a row are drawn
// together. A run that goes on inside such an epoch has lost what was drawn, and begins a new one.
type InEpochs interface{ Epoch() int }

// sameInEpoch refuses an event that is not that of the last turn, inside an epoch. The accountant
// would charge an epoch for each of the two.
func sameInEpoch(s Sampler, turn int, last, next accountant.Event) error {
	epochs, ok := s.(InEpochs)
	if !ok || turn%epochs.Epoch() == 0 || next == last {
		return nil
	}
	return fmt.Errorf("release: turn %d, inside an epoch of %d, is %v, expected %v as in the turn before: noise changes between epochs alone: %w", turn, epochs.Epoch(), next, last, ErrPlan)
}

// ballsInBins is [data.BallsInBins] as a [Rotating] sampler.
type ballsInBins struct{ *data.BallsInBins }

func (b ballsInBins) At(turn int) Sampler { return ballsInBins{b.BallsInBins.At(turn)} }
