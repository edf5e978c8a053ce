package rdp

import (
	"slices"
	"strings"

	"dpsgd/accountant"
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
func methodOf(entries []accountant.Entry) string {
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

func sourceOf(e accountant.Event) string {
	switch e := e.(type) {
	case accountant.Laplace:
		return sourceLaplace
	case accountant.ZCDP:
		return sourceZCDP
	case accountant.ApproxDP, accountant.RandomizedResponse:
		return sourcePure
	case accountant.TreeAggregation:
		return sourceTree
	case accountant.PoissonSampled:
		if _, ok := e.Event.(accountant.Laplace); ok {
			return sourceSampled
		}
	case accountant.PoissonSampledGroup:
		return sourceGroup
	case accountant.FixedSizeSampled:
		return sourceFixedSize
	case accountant.TruncatedPoissonSampled:
		return sourceTruncated
	case accountant.RepeatAndSelect:
		return sourceSelection
	}
	return sourceGaussian
}
