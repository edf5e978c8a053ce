// Package checkpoints keeps a training run on disk: the ledger of what was released, the checkpoints to go on
// from, and the finished weights.
//
// # Files of a run
//
//	runs/<name>/ledger.jsonl                  the ledger: Journal
//	runs/<name>/checkpoints/checkpoint-N.ckpt  the state after update N: Save, Load, Latest
//	runs/<name>/model.safetensors             the weights, for other programs: WriteSafetensors
//
// All of them are created with permissions 0600, directories with 0700, whatever the umask allows. Nothing is
// written through a symbolic link. Nothing that is read can execute code.
//
// # What survives a crash
//
// The ledger is written ahead. One update goes
//
//	err := journal.Append(step, event) // returns after fsync
//	noisy, err := mechanism.Privatize(sum)
//	err = update.Apply(parameters, noisy, …)
//
// and every few updates
//
//	path, err := checkpoints.Save(dir, &checkpoints.State{…, LedgerEntries: journal.Len(), LedgerHash: journal.Hash()})
//
// so that at every moment, also after kill -9 and power loss:
//
//   - the ledger holds at least one entry for every update whose noise was drawn, and at most one more
//     than that for each time the run was stopped;
//   - each checkpoint file is whole or absent, and the newest one that Save acknowledged can be read;
//   - a checkpoint never leads the ledger: its LedgerEntries is at most the ledger's length.
//
// A run resumes with [OpenJournal], [Latest] and [Verify]. The steps between the checkpoint and the end of the
// ledger are run again with fresh noise and are counted again, because both releases have happened. Neither
// noise nor the state of a random generator is ever stored ([State] says why).
//
// # What is detected
//
// Truncation and damage of every file, by SHA-256 or by the rules of the format; an older copy of the ledger,
// or that of another run, under a newer checkpoint ([ErrRollback]); a second process on the same run
// ([ErrLocked]). Not detected: a ledger and checkpoints that are replaced together by older copies of both, and
// deliberate forgery by somebody who may write the files. Only a copy of [Journal.Hash] kept elsewhere shows that.
package checkpoints
