package train

import (
	"math"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/release"

	"gonum.org/v1/gonum/stat/distuv"
)

// likely fails a test unless the sum of the squares of n standard normal numbers is within what
// such a sum exceeds, to either side, with a probability of 2e-15.
func likely(t *testing.T, what string, squares float64, n int) {
	t.Helper()
	law := distuv.ChiSquared{K: float64(n)}
	if low, high := law.Quantile(1e-15), law.Quantile(1-1e-15); !(low <= squares && squares <= high) {
		t.Errorf("%s: found %v for the sum of %d squares, expected %v to %v", what, squares, n, low, high)
	}
}

// The mean of private features has the noise that ledger and statement say: the released value,
// less the mean of the clipped rows, is normal with deviation σ·C/n. False failure 2e-15 a run;
// without noise, or with half or twice of it, the test fails.
func TestMeanHasItsNoise(t *testing.T) {
	r := create(t, tiny.Parse(t, append(tiny.Features, "features.pictures=160", "features.directions=159", "features.mean_noise=10", "privacy.epsilon=8")...), featureOptions(t))
	defer r.Close()
	rows := r.Examples.Train.(*data.Features)
	width := rows.Shape().Values()
	batcher := tiny.Must(data.NewBatcher(rows, data.Normalisation{}))(t)
	sum, row, label := make([]float64, width), make([]float32, width), make([]float32, 1)
	for i := range tiny.Examples {
		tiny.Check(t, batcher.Fill(row, label, []int{i}))
		factor := min(1, 1/math.Sqrt(kernel.SumSquares(row)))
		for j, v := range row {
			sum[j] += factor * float64(v)
		}
	}
	tiny.Check(t, r.releaseMean())
	const sigma = 10
	squares := 0.0
	for j, v := range r.features.mean {
		z := (float64(v)*tiny.Examples - sum[j]) / sigma
		squares += z * z
	}
	if width < 159 {
		t.Fatalf("found %d values, expected enough to tell half of the noise from all of it", width)
	}
	likely(t, "the mean of the features", squares, width)
}

// Clients make the noise of the fewest who come: with all 60 of them where 50 are enough, its
// variance is 60/50 of that of one Gaussian, and something for the lattice. False failure 2e-15 a
// run; shares for 60 fail the test.
func TestSharesAreThoseOfTheFewestClients(t *testing.T) {
	const clients, least, sigma, coordinates = 60, 50, 20.0, 20000
	c := tiny.Parse(t, "federated.clients=60", "federated.noise=clients", "federated.min_clients=50", "privacy.delta=1e-3", "training.batch_size=30")
	m := tiny.Must(noiseOf(c).Mechanism(&release.ConstantNoise{}, sigma, 1, nil))(t)
	sum, err := clip.NewSum(clip.Flat{ClipNorm: 1}, coordinates, nil)
	tiny.Check(t, err)
	var squares float64
	err = m.Privatize(0, sum, random.New(), func(n release.Noisy) {
		for _, v := range n.Values() {
			squares += v * v
		}
	})
	tiny.Check(t, err)
	likely(t, "shares", squares/(sigma*sigma*clients/least), coordinates)
}
