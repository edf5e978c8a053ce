// Package sweeps reads sweep files, and the sweeps that come with the program.
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
// [Load] and [Parse] read a file as strictly as package configs reads configurations, and
// [Sweep.Trials] resolves every configuration of it, so that nothing runs when one of them is
// invalid. Where points are drawn, and where their number is, package sweep draws ([Sweep.Draw]),
// keeps what was drawn, and hands it back.
//
// After another key was added to configurations, run
//
//	go test ./configs/sweeps -update
package sweeps
