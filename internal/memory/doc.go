// Package memory estimates what a configuration takes, and refuses what the machine does not have
// before any of it is taken. A process that asks for more than there is is not told so: the system
// stands still, or kills it.
package memory
