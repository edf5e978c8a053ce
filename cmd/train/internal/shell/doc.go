// Package shell is what every command of train shares: where it writes, its exit codes and errors,
// its arguments, what a signal does to it, and how it writes for people: tables, numbers, and work on its way,
// with a bar where there is a terminal.
package shell
