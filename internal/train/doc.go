// Package train turns a configuration into a private training run: a plan that fixes everything the
// guarantee depends on, the loop that carries it out, and the folder that a run leaves behind.
//
// # One step
//
// A step is one release through the door of package release, whose plan is part of the [RunPlan]:
// budget, sample, durable event, contributions of the sampled examples, their exact bounded sum,
// noise. The run gives it the sampler, the clip norm and the mechanism of the configuration, the
// graph of the network gives it contributions, the two ledgers of the run record it, and what comes
// out, divided by the expected batch size, goes to the update rule.
//
// # Accounting
//
// How many steps fit the budget is fixed with the plan, before the first release, by the accountant
// of the configuration: exact, pld or rdp. Among these steps [RunPlan.Allows] takes no accountant,
// only a look at the ledger; a ledger that holds anything else, such as the steps that a killed run
// makes twice, is asked about as it is, with the next step included.
//
// RDP stands beside exact and pld in everything that a run reports. Where one of these cannot
// certify an answer, RDP, which is looser and whose numerics do not fail on DP-SGD, answers in its
// place, so that no run ends for want of digits: see package account.
//
// # What is remembered
//
// Every release is recorded twice: in the run's own ledger, and in the one of its data, which all
// runs in a folder share. Package books holds both against everything that speaks of them; a ledger
// that is shorter than one of these says, or gone, is refused, and a refused command changes
// nothing.
//
// # Around a run
//
// [Create] makes a run's folder and [Open] goes on with one; [Run.Fit] carries it out, and
// [Evaluate] measures its model. [Describe] plans a run without training it, package account
// answers what a ledger or planned steps cost, package speed measures steps, and package sweep
// makes one run for every combination of a grid.
//
// The file engines.json, which keeps how the norms of each parameter are computed, is public: the
// choice is made from the configuration and from the shapes of layers; no example takes part in it.
//
// # What is not private
//
// Training losses, gradient norms, the share of clipped examples and real batch sizes are functions
// of the training data without noise. They are written only when the configuration asks for them,
// to a file of their own that says so, and the privacy statement of the run then says so too. Which
// test examples exist and how well the model does on them is treated as public.
package train
