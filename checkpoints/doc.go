// Package checkpoints keeps a training run on disk: the ledger of what was released, the
// checkpoints to go on from, and the finished weights in files that other programs read. Nothing
// that ReadModel takes in can execute code. The safetensors format has no checksum: ReadModel
// refuses every file whose parts do not fit together, but not another finite weight.
//
// # Files of a run
//
//	runs/datasets.jsonl                       what all runs released, by data set: Datasets
//	runs/<name>/ledger.jsonl                  the ledger: Journal
//	runs/<name>/checkpoints/checkpoint-N.ckpt  the state after update N: Save, Load, Latest
//	runs/<name>/model.safetensors             the weights, for other programs: WriteModel, ReadModel
//
// All of them are created with permissions 0600, directories with 0700, even if the umask allows
// more. No file is written through a symbolic link in its place. Nothing that is read can execute
// code.
//
// # What survives a crash
//
// The ledger is written ahead. One update goes
//
//	err := journal.AppendWith(datasets, step, event) // returns after fsync of both ledgers
//	noisy, err := mechanism.Privatize(sum)
//	err = update.Apply(parameters, noisy, …)
//
// and, after every update or every few,
//
//	path, err := checkpoints.Save(dir, &checkpoints.State{…, LedgerEntries: journal.Len(), LedgerHash: journal.Hash()})
//
// so that at every moment, also after kill -9 and power loss:
//
//   - either ledger holds at least one entry for every update whose noise was drawn, and at most
//     one more than that for each time the run was stopped;
//   - each checkpoint file is whole or absent, and the newest one that Save acknowledged can be
//     read;
//   - a checkpoint never leads the ledger: its LedgerEntries is at most the ledger's length;
//   - with a Save after every update that returns before the next AppendWith is called, which may
//     be while the next sum is computed (package internal/run), the ledger leads the newest
//     checkpoint by one entry, and by one more for each time the run was stopped.
//
// A run resumes with [OpenJournal], [Journal.Check] of all that speaks of the ledger, [Latest], and
// then [Journal.Recover] and [Datasets.Register], which are the first to write. The steps between
// the checkpoint and the end of the ledger are run again with fresh noise and are counted again,
// because both releases have happened. Neither noise nor the state of a random generator is ever
// stored ([State] says why).
//
// # What is detected
//
//   - Every truncation and every changed bit of a checkpoint, by its SHA-256.
//   - Every changed bit of a ledger entry and every missing, repeated or foreign line, by its
//     hashes.
//   - An older or shorter copy of the ledger, or that of another run, beside a newer checkpoint, a
//     newer ledger of data sets, or any other [Claim] ([ErrRollback]).
//   - Two copies of a run that both go on ([ErrRollback]).
//   - A second process on the same run ([ErrLocked]).
//   - A ledger that is deleted, moved, replaced or cut off while a process writes it ([ErrMoved]).
//
// Not detected: a folder of runs that is replaced as a whole by an older copy of all its files;
// deliberate forgery by somebody who may write the files. A copy of the head of the ledger of data
// sets kept elsewhere shows both ([FindHash]).
package checkpoints
