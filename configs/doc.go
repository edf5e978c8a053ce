// Package configs reads configurations, sweeps and files of statistics: strict, typed and validated
// YAML, and those that come with the program.
//
// # A configuration
//
// A file has ten sections, and every key but the data and the privacy budget has a default
// (DefaultConfig). This is a whole configuration:
//
//	data:
//	  name: digits
//	privacy:
//	  epsilon: 3
//
// Load reads a preset or a file, Parse reads a source, and both apply overrides such as
// "privacy.clip_norm=0.5" first. What they return is complete and valid: nobody downstream has to
// ask what a missing key means. Config.YAML writes it out again with every key that counts, so that
// a run can be repeated after the defaults have changed.
//
// # Strictness
//
// A mistyped key that silently means "no noise" is a privacy failure, so nothing is guessed. A
// value is taken as it is spelled in the file: numbers are decimal and finite, and what some
// readers of YAML understand differently (010, 1_000, 0x1F, yes, "3", 2024-05-01 for a name) is
// refused, and so are nulls, anchors, tags, duplicate keys, second documents, and keys that have no
// effect beside the others. All problems are reported at once, one line each:
//
//	my.yaml:7:14: privacy.delta: found 1.5, expected a number of at least 1e-20 and less than 1
//	my.yaml:9:3: optimizer.lr: found an unknown key, expected one of name, … (did you mean learning_rate?)
//
// The error is a Problems and matches ErrInvalid.
//
// # Sweeps
//
// A sweep is one configuration, the base, with other values for some of its keys: every combination
// of a grid, or points that are drawn at random. This is a whole sweep of four trials:
//
//	name: clip
//	base: digits
//	grid:
//	  privacy.clip_norm: [0.1, 1]
//	seeds: [1, 2]
//
// [LoadSweep] reads a file, and [Sweep.Trials] resolves every configuration of it, so that nothing
// runs when one of them is invalid.
//
// # Statistics
//
// [LoadStatistics] reads a file that asks for private statistics. Its sections data and privacy are
// a configuration's, as far as they mean something here, and the statistics are held against the
// data that is declared. Nothing is read of the data itself. This is a whole file of two
// statistics:
//
//	data: {name: digits}
//	privacy: {epsilon: 1}
//	statistics:
//	  - {statistic: histogram, column: label}
//	  - {statistic: mean, column: brightness, bounds: [0, 1], share: 2}
//
// # How it is made
//
// A key stands in one table, with its format, when it means something, and its documentation. The
// table of configurations is in fields.go; sweeps and statistics list their arguments; layers,
// update rules and schedules do so in their own packages (model.Kinds, optimizer.UpdateRules,
// optimizer.Curves). Readers, writers, the JSON schemas and the reference walk these tables; what a
// value looks like is said by its format (package setting, and format_*.go). To add a key, add a
// field to Config, a row to the table and, where there is one, a default. Then run
//
//	go test ./configs/... -update
//
// which writes the schemas and reference.md anew.
package configs
