// Package sgd takes steps of SGD without noise, with a [Trainer], on the kernels of private
// training. What they make is NOT PRIVATE with respect to the examples that the trainer sees. Four
// things use it:
//
//   - the baseline of `privacy.none`: run, result, statement and model say NOT PRIVATE, and it has no
//     ledger, because there is nothing to count;
//   - training on labels that were told by randomised response ahead of the first step, the only
//     release of `privacy.unit: label`; pictures are public;
//   - teachers, whose votes leave through the door and who do not leave at all;
//   - the steps that a client takes on its own examples, of which the clipped sum leaves.
//
// The first two are a [Run], a job that package run carries out: [Create] makes its folder, [Open]
// goes on with it, [Run.Fit] carries it out.
//
// # Labels, told once
//
// Label differential privacy (Chaudhuri, Hsu, COLT 2011) comes from randomised response with a prior
// (Ghazi, Golowich, Kumar, Manurangsi, Zhang, Deep Learning with Label Differential Privacy,
// NeurIPS 2021, arXiv:2102.06062v2, Algorithms 1 and 2). Each label is told once, by a [Response]:
// for any two labels of one example and every answer, the chances of the answer differ by at most a
// factor e^ε, whatever the other labels are. So the vector of answers is ε-label-private, and
// everything that is computed from it and from the pictures is, too. [LabelsTold] describes the
// vector to an accountant, once, whatever the number of examples and stages.
//
// A prior may depend on the answers of other examples, never on a label itself: that is the second
// stage of LP-2ST, which asks the second half of the examples with what the first half taught.
//
// The event of all answers is in the ledger before the first label is drawn, and the answers are in
// labels.told.bin before the first step. A run that is killed in between has paid for answers that
// nobody has; it cannot ask again within its budget. With two stages a second entry of the ledger,
// which costs nothing, stands for the answers of the second half of the examples: without it an
// older copy of the file would let the same labels be asked twice.
//
// Examples stand in an order that tells nothing of their labels ([data.Unlabelled]), however their
// files are sorted: which label is asked first, where its answer stands and who shares a minibatch
// are functions of public content. Training and prediction see no label but the answers.
package sgd
