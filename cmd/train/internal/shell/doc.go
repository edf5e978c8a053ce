// Package shell is what every command of train shares: where it writes, its exit codes and errors,
// its arguments, and what a signal does to it.
package shell
