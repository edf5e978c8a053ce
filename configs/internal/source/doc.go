// Package source reads the text of configurations: plain YAML whose values know their place, and a
// report of everything that is wrong with them.
//
// [Read] turns a source into a [Node] and refuses what readers of YAML understand differently or a
// configuration has no use for. It asks nothing about meaning; whoever does adds what it finds
// wrong to the same [Report], which becomes one error with a line for each [Problem]:
//
//	my.yaml:7:14: privacy.delta: found 1.5, expected a number of at least 1e-20 and less than 1
//
// Hints complete such a line: the traps of YAML (010, yes, 1e3 for a whole number) explained by the
// methods of Node, and the name that was probably meant by [dpsgd/internal/spelling.Nearest].
package source
