package accountant

import (
	"slices"
	"strings"
)

// The theorems behind the divergence of an event.
const (
	sourceGaussian  = "Poisson-subsampled Gaussian; Mironov, Talwar, Zhang 2019"
	sourceGroup     = "groups of records in Poisson samples; Ganesh 2024"
	sourceFixedSize = "samples without replacement; Wang, Balle, Kasiviswanathan 2019, Theorem 27"
	sourceTruncated = "truncated Poisson samples; Ganesh, McKenna, McMahan, Smith, Wu 2025"
	sourceLaplace   = "Laplace; Mironov 2017"
	sourceSampled   = "Poisson-subsampled Laplace; Zhu, Dong, Wang 2022"
	sourcePure      = "randomized response; Mironov 2017"
	sourceZCDP      = "zCDP; Bun, Steinke 2016"
	sourceTree      = "tree aggregation; Kairouz et al. 2021"
	sourceSelection = "private selection; Papernot, Steinke 2022"
)

// methodOf names the theorems behind the cost of these releases.
func methodOf(entries []Entry) string {
	sources := make([]string, 0, 4)
	for _, entry := range entries {
		if source := sourceOf(entry.Event); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	if len(sources) == 0 {
		sources = append(sources, sourceGaussian)
	}
	return "RDP (" + strings.Join(sources, "; ") + "), conversion of Canonne, Kamath, Steinke 2020"
}

func sourceOf(e Event) string {
	switch e := e.(type) {
	case Laplace:
		return sourceLaplace
	case ZCDP:
		return sourceZCDP
	case ApproxDP, RandomizedResponse:
		return sourcePure
	case TreeAggregation:
		return sourceTree
	case PoissonSampled:
		if _, ok := e.Event.(Laplace); ok {
			return sourceSampled
		}
	case PoissonSampledGroup:
		return sourceGroup
	case FixedSizeSampled:
		return sourceFixedSize
	case TruncatedPoissonSampled:
		return sourceTruncated
	case RepeatAndSelect:
		return sourceSelection
	}
	return sourceGaussian
}
