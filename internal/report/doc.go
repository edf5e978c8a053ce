// Package report makes one HTML file of what runs and sweeps left behind: it needs nothing but
// itself, runs no script, and asks nobody for anything.
//
// A report holds what is public and nothing else, so it can be shown to whoever may see the model.
// With facts.Request.Private it says what private diagnostics say, too, and marks it: such a report is
// NOT private, and its file has to be named so ([Report.CheckName]).
//
// Names, classes and configurations come from people and files. All of them are text to the page,
// whatever they hold: html/template escapes them, and the page forbids scripts by its own policy.
package report
