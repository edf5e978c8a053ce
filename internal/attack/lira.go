package attack

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// ownSpread is how many models on either side of an example suffice for a deviation of its own: with
// fewer, all examples have one in common, as the paper of [likelihoods] does.
const ownSpread = 32

// likelihoods returns for each example how much likelier its margin under the target is if the
// target was trained on it: the likelihood ratio attack, LiRA (Carlini, Chien, Nasr, Song, Terzis,
// Tramèr 2022, arXiv:2112.03570, Algorithm 1). Margins are taken for normal, with the mean of the
// shadow models that were trained on the example, or of those that were not. Offline uses the
// latter alone, as somebody who learns of the example after training the shadows (equation 4). An
// example that all or none of the shadows were trained on has the score 0, which says nothing.
func likelihoods(target []float64, shadows []model) (online, offline []float64) {
	in, out := side(shadows, len(target), true), side(shadows, len(target), false)
	online, offline = make([]float64, len(target)), make([]float64, len(target))
	for i, margin := range target {
		if in[i].Sigma == 0 || out[i].Sigma == 0 {
			continue
		}
		online[i] = in[i].LogProb(margin) - out[i].LogProb(margin)
		offline[i] = (margin - out[i].Mu) / out[i].Sigma
	}
	return online, offline
}

// side fits a normal law to each example's margins under the shadow models that were trained on it,
// or were not. Its deviation is 0 where there are none.
func side(shadows []model, examples int, trained bool) []distuv.Normal {
	laws := make([]distuv.Normal, examples)
	margins := make([][]float64, examples)
	var squares, freedom float64
	for i := range laws {
		for _, m := range shadows {
			if m.in[i] == trained {
				margins[i] = append(margins[i], m.margins[i])
			}
		}
		if n := float64(len(margins[i])); n > 0 {
			mean, variance := stat.PopMeanVariance(margins[i], nil)
			laws[i] = distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance * n / max(1, n-1))}
			squares, freedom = squares+variance*n, freedom+n-1
		}
	}
	common := math.Sqrt(squares / max(1, freedom))
	for i, of := range margins {
		if len(of) == 0 {
			continue
		}
		if len(of) < ownSpread {
			laws[i].Sigma = common
		}
		laws[i].Sigma = max(laws[i].Sigma, 1e-6*math.Abs(slices.Max(of)), 1e-12) // where all agree
	}
	return laws
}
