// Package speed says how fast training steps are: [Measure] takes the time of steps on this machine, part by
// part, and [OnRanks] says from such parts and a model of the network how long steps take on many ranks.
package speed
