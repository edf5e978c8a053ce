// Package terminal writes for people: tables, numbers, and work on its way, with a bar where there
// is a terminal.
package terminal
