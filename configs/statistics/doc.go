// Package statistics reads files that ask for private statistics, and those that come with the
// program. This is a whole file of two statistics:
//
//	data: {name: digits}
//	privacy: {epsilon: 1}
//	statistics:
//	  - {statistic: histogram, column: label}
//	  - {statistic: mean, column: brightness, bounds: [0, 1], share: 2}
//
// The sections data and privacy are a configuration's, as far as they mean something here: [Parse]
// reads them as package configs does, and holds the statistics against the data that is declared.
// Nothing is read of the data itself.
//
// After another key was added, run
//
//	go test ./configs/statistics -update
package statistics
