package perexample

// Settle combines two measurements as [Measure] does.
var Settle = settle
