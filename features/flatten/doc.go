// Package flatten learns a normalisation of features from pictures that a program drew, and applies
// it to the features of any others.
//
// Features of natural pictures vary a thousand times as much along their first principal direction
// as along the thousandth, and a linear model that is trained for few, noisy steps learns little
// more than the first. [Fit] finds these directions on drawn pictures, which are nobody's data: what
// it learns costs no privacy, and every row that [Flattening.Apply] changes depends on nothing
// besides itself.
//
// # The map
//
// A row x is made of blocks; a block is of channels, each a group of consecutive columns, one for
// every position of a grid that its responses were pooled on. With the mean m of every column over
// the drawn rows and one scale s for each channel, the standard deviation of its columns averaged
// over the positions,
//
//	z = (x − m)/s, each block divided by its norm, then the row by its norm
//	z = z − Σᵢ (1 − √(eₖ/eᵢ))·uᵢ·(uᵢᵀz)
//	z = z/‖z‖
//
// where u₁ … uₖ are the first k principal directions of the drawn z, and e₁ ≥ … ≥ eₖ their variances:
// afterwards the variance is eₖ along all of them, and what it was along others. This is whitening
// that stops at the k-th direction, where drawn pictures say little about real ones. With k = 0 the
// second line is left out.
package flatten
