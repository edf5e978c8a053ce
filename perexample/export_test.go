package perexample

// RuleOfViews is the rule that OfViews gives a use.
var RuleOfViews = ruleOfViews

// Settle is what [Measure] makes of two measurements.
var Settle = settle
