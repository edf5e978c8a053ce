package accountant

// For the tests outside of the package.
const (
	MaxNesting    = maxNesting
	MinCalibrated = minCalibrated
	MinSampled    = minSampled
)

// PlainDivergence is plainDivergence.
var PlainDivergence = plainDivergence
