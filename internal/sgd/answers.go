package sgd

import (
	"fmt"
	"path/filepath"
	"slices"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/release"
)

// untold stands where a label was not told yet.
const untold = 255

// stage returns the ledger entry that marks the second stage of answers. It costs nothing: the
// entry of the first stage covers the answers for all labels.
func (r *Run) stage() accountant.Event {
	return accountant.PoissonSampled{SamplingProbability: 0, Event: r.event()}
}

// tell records the release of labels in the ledger, and then draws the answers of the first stage.
// It does nothing where the run has answers, or no private labels.
func (r *Run) tell() error {
	if r.Books == nil || r.told != nil {
		return nil
	}
	if err := r.append(r.event()); err != nil {
		return err
	}
	r.told = slices.Repeat([]int32{untold}, len(r.whole))
	asked := r.whole
	if r.phases() > 1 {
		asked = r.half()
	}
	candidates := r.answers.Uniform()
	for _, i := range asked {
		r.told[i] = int32(r.ask(candidates, i))
	}
	if err := r.keepAnswers(); err != nil {
		return err
	}
	return r.Save() // which binds the run to them
}

// tellRest draws the answers of the second stage: for each label without an answer, among the
// classes that the model of the first stage takes for likely.
func (r *Run) tellRest() error {
	if r.Books == nil || r.stageOf() > 1 {
		return r.keepAnswers()
	}
	if err := r.append(r.stage()); err != nil {
		return err
	}
	err := r.Mean.InPlaceOf(r.Model.Values, func() error {
		return r.predictTrain(func(i int, logits []float32) {
			if r.told[i] != untold {
				return
			}
			chances := score.Softmax(logits)
			r.answers.OfLabels(chances) // the model learnt answers, and the prior is about labels
			r.told[i] = int32(r.ask(r.answers.Likely(chances), i))
		})
	})
	if err != nil {
		return err
	}
	return r.keepAnswers()
}

// append writes an entry into the ledgers of the run and of its data.
func (r *Run) append(e accountant.Event) error { return r.Books.Append(r.Books.Len(), e) }

// stageOf returns the stage to which the answers go: 2 if every label has one, else 1.
func (r *Run) stageOf() int {
	if slices.Contains(r.told, untold) {
		return 1
	}
	return r.phases()
}

// keepAnswers writes the answers, which are public now, and lets the network learn them.
func (r *Run) keepAnswers() error {
	if r.Books == nil {
		return nil
	}
	err := r.Keep(run.Saving{What: "the answers", File: folder.Labels, Bytes: len(r.told), Movable: true, Write: func(dir string) error {
		return checkpoints.WriteFileAtomic(filepath.Join(dir, folder.Labels), bytesOf(r.told), folder.FilePerm)
	}})
	if err != nil {
		return err
	}
	r.trainer.Learn(r.told) // what is untold is not among the examples of the first stage
	return nil
}

// asked returns how many stages of answers the ledger holds. It refuses a ledger with any other
// entry, such as answers with another ε, whose cost is not what this plan says.
func (r *Run) asked() (stages int, err error) {
	plan := []accountant.Event{r.event(), r.stage()}[:r.phases()]
	for _, e := range r.Books.Ledger().Entries() {
		for range e.Count {
			if stages == len(plan) || e.Event != plan[stages] {
				return 0, fmt.Errorf("%w: the ledger of %s holds %v as entry %d, expected at most the %d of %s", books.ErrOtherPlan, r.Dir, e.Event, stages+1, len(plan), folder.Config)
			}
			stages++
		}
	}
	return stages, nil
}

// fingerprint returns the hash that ties a checkpoint to one run. It is plan, the hash of the plan,
// if entries, the number of ledger entries, is 0 or the run has no noisy labels. Else it is the
// hash of plan together with the noisy labels that so many entries paid for. A checkpoint beside
// the labels of another run, maybe of a larger ε, is refused.
func (r *Run) fingerprint(plan string, entries int) string {
	told := r.told
	if entries < r.phases() && told != nil {
		told = told[:len(r.half())]
	}
	if entries == 0 || told == nil {
		return plan
	}
	return run.HashOf(plan + string(bytesOf(told)))
}

func bytesOf(answers []int32) []byte {
	content := make([]byte, len(answers))
	for i, answer := range answers {
		content[i] = byte(answer)
	}
	return content
}

func (r *Run) wrongAnswers(found, expected string) error {
	return fmt.Errorf("train: %s: found %s, expected %s: %w", r.Path(folder.Labels), found, expected, checkpoints.ErrCorrupt)
}

// readAnswers reads the answers that a run to be resumed has drawn, and checks them.
func (r *Run) readAnswers() error {
	if r.Books == nil || !folder.HoldsAny(r.Dir, folder.Labels) {
		return nil // which checkAnswers deals with
	}
	content, err := disk.ReadFile(r.Path(folder.Labels))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if len(content) != len(r.whole) {
		return r.wrongAnswers(fmt.Sprintf("%d answers", len(content)), fmt.Sprintf("one for each of the %d examples", len(r.whole)))
	}
	told := make([]int32, len(content))
	for i, b := range content {
		told[i] = int32(b)
		if first := r.phases() == 1 || i < len(r.half()); int(b) >= r.Source.Classes && (first || b != untold) {
			return r.wrongAnswers(fmt.Sprintf("the answer %d", b), fmt.Sprintf("one of the %d classes", r.Source.Classes))
		}
	}
	r.told = told
	return nil
}

// checkAnswers refuses answers that do not fit the ledger: lost ones, ones that it does not count,
// or of the first stage alone. The network learns the others.
func (r *Run) checkAnswers() error {
	stages, err := r.asked()
	switch {
	case err != nil:
		return err
	case r.told == nil && stages > 0:
		return fmt.Errorf("%w: the ledger of %s holds %d entries, and there is no %s with the answers; asking again would pass ε = %g. Start a new run; what was asked still counts in the ledger of the data: %w",
			run.ErrUntrained, r.Dir, stages, folder.Labels, r.Config.Privacy.Epsilon, release.ErrBudget)
	case r.told == nil:
		return nil
	}
	if stages == 0 { // of another run, whose ledger they are in
		return r.wrongAnswers("answers that the ledger does not count", "none before they are asked")
	}
	if r.stageOf() < stages {
		return r.wrongAnswers("answers of the first stage alone", "those of the second too, which the ledger counts; asking again would pass the budget")
	}
	r.trainer.Learn(r.told)
	return nil
}
