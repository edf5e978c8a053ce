package scattering

import "dpsgd/internal/kernel"

// groupNormEpsilon is added to variances; PyTorch's default.
const groupNormEpsilon = 1e-5

// GroupNorm normalises the features of one picture in place, as PyTorch's GroupNorm without gain
// and shift does. values is (channels, places). The channels, a multiple of groups, are cut into
// groups of channels/groups neighbours, and each value of a group becomes
//
//	(x - mean) / √(variance + 1e-5)
//
// with the mean and the biased variance of the whole group.
//
// In the mirror image of a picture, coefficients belong to other groups. So the normalised features
// of a mirrored picture are no exact mirror image: mirror the picture, not the features.
func GroupNorm(values []float32, groups int) {
	var inverse [1]float32
	for n := len(values) / groups; len(values) > 0; values = values[n:] {
		group := values[:n]
		kernel.GroupNormForward(group, inverse[:], group, n, 1, 1, groupNormEpsilon)
	}
}
