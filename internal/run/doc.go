// Package run keeps the folder of a run: what every kind of training does around its steps, written
// once.
//
// What a run releases is made durable in one order, beside the computation of the next sum:
//
//	checkpoint after step k → event of step k+1 → noise of step k+1
//
// Each is durable before the next begins. The event stands before its noise because a ledger holds
// at least what was released (the door of package release sees to that). The checkpoint stands
// before the event because a step that is in the ledger and in no checkpoint is spent for nothing:
// so a run that is killed at any moment has lost one step at most, whatever the disk had been
// doing.
//
// Nothing is copied for it. Parameters, and what the update rule remembers, change with the noise
// and not before, and by then the checkpoint is written.
package run
