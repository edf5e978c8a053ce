package perexample

// Settle is what [Measure] makes of two measurements.
var Settle = settle
