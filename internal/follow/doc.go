// Package follow shows a job at work in a browser: the page of package report, brought up to date by
// server-sent events while a run or a sweep goes on.
//
// The trainer never waits for a reader. It leaves its newest state behind ([Page.Run] and
// [Page.Sweep] store one pointer a step); everything else happens in goroutines of their own, which
// read that state once a second. A reader who is slow misses states in between and is dropped when he
// takes nothing for ten seconds. Drawing the page anew takes milliseconds of a processor that trains,
// so it is drawn at most when that costs less than half a hundredth of the time, and only while somebody
// looks.
//
// The page shows what the files of the job say that are public, and how far the job has come. It has
// no times, no examples a second, no private diagnostics. Whoever watches it sees when steps are made,
// as whoever watches the folder does; docs/threat-model.md says why that is no part of the guarantee.
package follow
