// Package facts reads what the folders of runs and sweeps say, for whoever shows it: a report, a page
// about a job at work. It writes
// nothing but features of pictures that have to be computed again, which it keeps where runs do.
//
// What it reads is public, or computed from what was released and from test examples, with one
// exception that has to be asked for: Request.Private adds what private diagnostics say.
package facts
