// Package ordinary trains without noise on gradients, as a job that package run carries out, like that of package
// train:
//
//   - privacy.none: a baseline, which is NOT PRIVATE. Bar, result, statement and model say so. It has no
//     ledger, because there is nothing to count.
//   - privacy.unit label: the labels are the private part. They are told by randomised response (package
//     labels) ahead of the first step, which is the only release; pictures are public.
//
// [Create] makes the folder of a run, [Open] goes on with one, [Run.Fit] carries it out.
//
// # Labels, told once
//
// The event of all answers is in the ledger before the first label is drawn, and the answers are in
// labels.told.bin before the first step. A run that is killed in between has paid for answers that
// nobody has; it cannot ask again within its budget. With two stages (LP-2ST) a second entry of the
// ledger, which costs nothing, stands for the answers of the second half of the examples: without it
// an older copy of the file would let the same labels be asked twice.
//
// Examples stand in an order that tells nothing of their labels ([data.Unlabelled]), however their files
// are sorted: which label is asked first, where its answer stands and who shares a minibatch are
// functions of public content. Training and prediction see no label but the answers.
package ordinary
