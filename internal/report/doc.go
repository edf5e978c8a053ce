// Package report reads the folders of runs and sweeps for people: as a list with a line for each run
// ([Lines]), as figures ([Plot]), and as one HTML file ([Read]) that needs nothing but itself, runs no
// script, and asks nobody for anything.
//
// It reads what is public, or computed from what was released and from test examples, so a report can be shown
// to whoever may see the model. With [Request.Private] it adds private diagnostics and marks them: such a
// report is NOT private, and its file has to be named so ([Report.CheckName]).
//
// Names, classes and configurations come from people and files. All of them are text to the page,
// whatever they hold: html/template escapes them, and the page forbids scripts by its own policy. Beside every
// drawing stands the table of its values, for those who would rather read numbers, or cannot see it.
package report
