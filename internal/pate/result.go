package pate

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/noise"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/trained"
)

// Result holds what the terminal shows when a run ends. TeacherAccuracy and EpsilonDataDependent are
// NOT PRIVATE: they are written into private files only.
type Result struct {
	Status               run.Status `json:"status"`
	StudentAccuracy      *float64   `json:"student_accuracy"`                   // on the test examples outside the pool; null if the run was interrupted
	TeacherAccuracy      *float64   `json:"teacher_accuracy_not_private"`       // mean of the teachers
	Epsilon              float64    `json:"epsilon"`                            // of everything that was planned, for all data sets
	EpsilonDataDependent *float64   `json:"epsilon_data_dependent_not_private"` // null if Released stands for it
	Released             *float64   `json:"epsilon_released"`
	Delta                float64    `json:"delta"`
	Queries              int        `json:"queries"` // that were asked
	Answered             int        `json:"answered"`
	Seconds              float64    `json:"seconds"` // of this part of the run
	Run                  string     `json:"run"`

	Claimed    account.Claim      `json:"-"` // with what the releases cost that were made, if these are fewer than planned
	Aggregated float64            `json:"-"` // share of the answers that are the examples' classes
	Together   statement.Together `json:"-"`
}

// progress tells the watcher how far the run is, and both its ε: as spent, and data-dependent.
func (r *Run) progress(stage string, done, total int) error {
	if r.options.Progress == nil {
		return nil
	}
	spent, err := r.spent()
	dependent, released := r.dataDependent()
	run.Tell(r.options.Progress, Progress{
		Stage: stage, Done: done, Total: total, Answered: len(r.answers.class), Spent: spent,
		Dependent: dependent, Released: released, Accuracy: float64(r.evaluation.TestAccuracy),
	})
	return err
}

// spent returns the ε of the ledger at the budget's δ.
func (r *Run) spent() (account.Spent, error) {
	s, _, err := r.Plan.accounts.Spent(r.Books.Ledger(), r.Plan.Budget.Delta)
	return s, err
}

// dataDependent returns the released bound on the data-dependent ε, or else that ε itself, which is
// NOT PRIVATE.
func (r *Run) dataDependent() (epsilon float64, released bool) {
	if value := r.answers.released; value != nil {
		s := r.Plan.Release
		return s.Epsilon(max(0, *value)+r.Plan.Aggregation.Lost(r.Plan.lost.Checks, r.Plan.lost.Answers, s.Order), r.Plan.Budget.Delta), true
	}
	epsilon, _ = r.dependent.Epsilon(r.Plan.Budget.Delta)
	return epsilon, false
}

// Finish implements [run.Job]: it sets the result, and if the run has ended it writes model and
// statement.
func (r *Run) Finish(status run.Status) error {
	claimed, _, err := r.Plan.accounts.Claim(r.Books.Ledger(), r.Books.Planned(), r.Plan.Budget.Delta)
	if err != nil {
		return err
	}
	r.Result = Result{
		Claimed: claimed, Status: status, Epsilon: claimed.Epsilon, Delta: r.Plan.Budget.Delta, Queries: len(r.answers.asked),
		Answered: len(r.answers.class), Seconds: r.Seconds(), Run: r.Dir,
	}
	if status == run.Interrupted {
		return r.Books.Present()
	}
	if r.Result.Queries < r.Plan.Queries && r.Result.Answered >= r.Plan.Answers {
		r.Result.Status = run.BudgetExhausted
	}
	teachers := r.teacherAccuracy()
	student := float64(r.evaluation.TestAccuracy)
	r.Result.StudentAccuracy, r.Result.TeacherAccuracy, r.Result.Aggregated = &student, &teachers, r.aggregated()
	if dependent, released := r.dataDependent(); released {
		r.Result.Released = &dependent
	} else {
		r.Result.EpsilonDataDependent = &dependent
	}
	var beside []checkpoints.Tensor
	if r.mean != nil {
		beside = append(beside, checkpoints.Tensor{Name: trained.MeanOfFeatures, Shape: []int{len(r.mean)}, Data: r.mean})
	}
	if r.student != nil { // or it was written before
		if err := r.student.pool.Show(r.Examples.Test, setup.Normalisation(r.Config, r.Source.Shape.Channels)); err != nil {
			return err
		}
		if err := r.WriteModel(r.student.model, r.student.pool, r.student.begin, nil, beside...); err != nil {
			return err
		}
	}
	if r.Result.Together, err = r.Books.Together(); err != nil {
		return err
	}
	return r.Publish(r.statement())
}

// aggregated returns the share of the answers that are right. It is public: answers are released,
// and so are the classes of the test examples.
func (r *Run) aggregated() float64 {
	right := 0
	for question, class := range r.answers.class {
		if r.pool.Label(question) == class {
			right++
		}
	}
	return float64(right) / float64(len(r.answers.class))
}

// writeMetrics writes a line about a round of the student, from 0, into the file of metrics.
func (r *Run) writeMetrics(round int) error {
	spent, err := r.spent()
	if err != nil {
		return err
	}
	r.Step = round + 1
	return r.WriteMetrics(run.Metrics{
		Step: r.Step, Answer: spent.Answer(), Test: r.evaluation.Test, TestLoss: r.evaluation.Loss, LearningRate: r.Config.Optimizer.LearningRate,
	})
}

// statement returns the privacy statement of a run that has its result.
func (r *Run) statement() statement.Statement {
	c, p, result := r.Config.Pate, r.Plan, r.Result
	s := r.Statement(result.Status, result.Claimed, result.Together)
	s.System, s.Unit, s.Neighbours = "pate", "one training example", accountant.ZeroOut.Neighbours("one training example")
	s.Public = fmt.Sprintf("the number of places, %d, the pool and everything else in the configuration", s.Examples)
	s.Trusted = "whoever runs this program: it sees the training examples, the teachers and their votes"
	s.TargetEpsilon = p.Budget.Epsilon
	_, s.AddedDelta = noise.Excess(float64(r.Books.Len() * s.Classes))
	fact := func(name, format string, args ...any) {
		s.Facts = append(s.Facts, statement.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	fact("Teachers", "%d, trained without privacy on disjoint parts of the training examples; none of them is written", p.Teachers)
	which := "the first %d test examples"
	if r.drawn {
		which = "%d test examples that training.seed draws"
	}
	fact("Public pool", which+", without their labels; the student is measured on the other %d", p.Pool, r.rest.Len())
	switch c.Aggregation {
	case "lnmax":
		fact("Aggregation", "LNMax: the class with most votes after Laplace noise of scale %v", c.Noise)
	case "gnmax":
		fact("Aggregation", "GNMax: the class with most votes after Gaussian noise of deviation %v", c.Noise)
	default:
		fact("Aggregation", "Confident-GNMax: a check of the largest count against %d votes with noise of deviation %v, and if it passes the class with most votes after noise of deviation %v", c.Threshold, c.ThresholdNoise, c.Noise)
	}
	fact("Questions", "%d were asked and %d answered. Paid for are %d questions and %d answers, which were fixed ahead: how many pass depends on the votes", result.Queries, result.Answered, p.Queries, p.Answers)
	if result.Released != nil {
		fact("ε for this training set and its neighbours (data-dependent), released by its smooth sensitivity", "%s at δ = %v and Rényi order %v, with its release; in one run of a hundred it is too small. It is no guarantee for other training sets",
			accountant.RoundUp(*result.Released, 3), result.Delta, p.Release.Order)
	} else {
		fact("ε for this training set and its neighbours (data-dependent)", "not stated: it depends on the votes and was not released; pate.release_data_dependent releases it")
	}
	fact("Student", "trained on the answers and the pool; %d rounds of self-training", c.SelfTraining)
	s.NotPrivate = []string{
		fmt.Sprintf("the number of training examples, %d", s.Examples),
		"the names of the classes, the shape of the examples, and every value of the configuration; if they were chosen by looking at the training examples, that choice is not covered",
		"the test examples: those of the pool are public, and the accuracy of the student is computed on the others without protection",
		fmt.Sprintf("%s and %s: the votes of each teacher, its accuracy, and when which question was answered. Whoever sees those files has no guarantee", votesFile, answersFile),
		"the accuracy of the teachers and the data-dependent ε that was not released, where the program prints them",
		"how long the run took, and the times of its files",
	}
	r.Source.Sees(r.Config, &s)
	return s
}
