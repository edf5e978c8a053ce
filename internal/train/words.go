package train

import (
	"fmt"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/model"
	"dpsgd/release"
)

// ofRecords rewrites a statement about examples for a run whose records are clients or persons.
func ofRecords(c *configs.Config, o setup.Outline, mechanism release.Mechanism, s *statement.Statement) {
	record, outside := "", []string(nil)
	switch {
	case c.Federated.Any():
		record = "client"
		s.Facts = append(s.Facts, []statement.Fact{
			{Name: "Clients", Value: c.Federated.String()},
			{Name: "What a client does in a round", Value: fmt.Sprintf("%d steps of SGD at learning rate %v, each on %d of its examples, from the model of now; what it contributes is by how far that moved the parameters, and all clients count alike",
				c.Federated.LocalSteps, c.Federated.LocalLearningRate, c.Federated.LocalBatchSize)},
		}...)
		s.Trusted = "the server, which sees the clients' changes or their sum before it adds noise"
		if shares, ok := mechanism.(*release.Distributed); ok {
			s.Trusted = fmt.Sprintf("secure aggregation, which tells the server sums modulo 2^%d alone, of integers that have all noise; that %d clients who do not tell the server their noise take part in every round; who a round was computed from is known to the sampled clients alone",
				c.Federated.ModulusBits, c.Federated.Noisy())
			s.AddedDelta = min(1, s.AddedDelta+shares.Excess(float64(s.NoiseValues), s.Epsilon))
			s.Neighbours += "; its client takes part in both, and adds its share of the noise"
		}
		outside = []string{"which example belongs to which client: here that is simulated, where clients are real it counts as given"}
	case c.Privacy.Unit == configs.UnitPerson:
		record = "person"
		s.Facts = append(s.Facts, statement.Fact{Name: "Persons", Value: persons(c, o)})
		outside = []string{
			"whose an example is, which counts as given: of a person whose examples carry several names, each name is protected by itself",
			"test examples, also those of persons who have training examples",
		}
	default:
		return
	}
	for _, text := range []*string{&s.Sampling, &s.Bound, &s.FeatureMean} {
		*text = strings.ReplaceAll(*text, "example", record)
	}
	s.NotPrivate[0] = fmt.Sprintf("the number of %ss, %d, and of all their training examples, %d", record, setup.Records(c, o), o.Examples)
	s.NotPrivate = append(s.NotPrivate, outside...)
}

// persons returns the sentence of a statement that says how a person takes part in a step.
func persons(c *configs.Config, o setup.Outline) string {
	most := ""
	if k := c.Privacy.ExamplesPerPerson; k > 0 {
		most = fmt.Sprintf(", drawn among %d at most that a public rule keeps of theirs", k)
	}
	return fmt.Sprintf("%d; whoever is in a sample contributes one of their examples%s, drawn anew for every step", o.People, most)
}

// ofLoss adds to a statement by which loss is learnt, where that is not plain cross-entropy.
func ofLoss(c *configs.Config, s *statement.Statement) {
	how := c.Training.Loss.Name()
	if len(c.Data.Bounds) == 2 {
		how += fmt.Sprintf(", of numbers between the public bounds %g and %g, which the network calls -1 and 1; one beyond counts as the bound", c.Data.Bounds[0], c.Data.Bounds[1])
	}
	if w := c.Training.ClassWeights; w != nil {
		how += fmt.Sprintf(", with the public weights %v", w)
	}
	if loss, ok := c.Training.Loss.(*model.CrossEntropy); ok && loss.Smoothing > 0 {
		how += fmt.Sprintf(", with labels smoothed by %g", loss.Smoothing)
	}
	if how != (model.CrossEntropy{}).Name() {
		s.Facts = append(s.Facts, statement.Fact{Name: "Loss", Value: how})
	}
}

// ofRanks adds to a statement that at most so many processes added up sums and are trusted.
func ofRanks(most int, s *statement.Statement) {
	if most == 1 {
		return
	}
	s.Facts = append(s.Facts, statement.Fact{Name: "Ranks", Value: fmt.Sprintf("%d processes at most added up the sums; rank 0 added the noise, once, to the total", most)})
	trusted := "the machines of all ranks and the network between them, which see samples and sums before these have noise"
	if s.Trusted != "" {
		trusted = s.Trusted + "; " + trusted
	}
	s.Trusted = trusted
}

// notPrivate lists what the guarantee does not cover. vectors says that the network sees what
// another program computed, probability that of sampling an example, diagnosed that private
// diagnostics were written.
func notPrivate(source setup.Outline, sampler release.Sampler, probability float64, vectors, diagnosed bool) []string {
	shape, kept := source.Shape, "the size and channels of the pictures"
	if shape.IsRow() {
		kept = "the names of the columns"
	}
	if shape.IsText() {
		kept = "how texts are cut into tokens, and the greatest number of these"
	}
	if vectors {
		kept = "the width of the vectors"
	}
	number, time := "which fixes the sampling probability", "a step takes longer where its sample is larger"
	if !sampler.Varies() {
		time = "arithmetic may take longer for some numbers than for others"
		if probability == 1 {
			number = "all of which are in every step"
		}
	}
	list := []string{
		fmt.Sprintf("the number of training examples, %d, %s", source.Examples, number),
		fmt.Sprintf("the names of the classes, %s, and every value of the configuration; if they were chosen by looking at the training %s, that choice is not covered", kept, shape.Noun()),
		"the test " + shape.Noun() + ": the test accuracy and test loss are computed without protection",
		"how long the run and its steps took, and the times of its files: " + time + ". No file of the run holds such a time, but for private diagnostics",
	}
	if diagnosed {
		list = append(list, fmt.Sprintf("%s: training losses, gradient norms, clipped fractions, real batch sizes and times of steps, computed from the training examples without noise. Whoever sees that file has no guarantee", folder.Diagnostics))
	}
	return list
}
