package train

import (
	"fmt"
	"strings"

	"dpsgd/configs"
	"dpsgd/data/clients"
	"dpsgd/internal/federated"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/release"
)

// mechanism makes noise with the first of these multipliers in the first step: on sums, or in shares by
// clients.
func mechanism(c *configs.Config, s release.NoiseSchedule, first float64, steps int, pool *kernel.Pool) (release.Mechanism, error) {
	if f := c.Federated; f.Any() && f.Noise == clients.ByClients {
		return release.NewDistributed(s, first, steps, release.Shares{Clients: f.Clients, Least: f.Noisy(), ModulusBits: f.ModulusBits}, random.New(), pool)
	}
	return release.NewScheduled(s, first, steps, random.New(), pool)
}

// ofRecords lets a statement that speaks of examples speak of the records of the run, where those are
// clients or persons.
func ofRecords(c *configs.Config, o setup.Outline, mechanism release.Mechanism, s *statement.Statement) {
	record, outside := "", []string(nil)
	switch {
	case c.Federated.Any():
		record = "client"
		s.Facts, s.Trusted = federated.Facts(c.Federated), federated.Trusted(c.Federated)
		if shares, ok := mechanism.(*release.Distributed); ok {
			s.AddedDelta = min(1, s.AddedDelta+shares.Excess(float64(s.NoiseValues), s.Epsilon))
			s.Neighbours += "; its client takes part in both, and adds its share of the noise"
		}
		outside = []string{"which example belongs to which client: here that is simulated, where clients are real it counts as given"}
	case c.Privacy.Unit == configs.UnitPerson:
		record = "person"
		s.Facts = []statement.Fact{{Name: "Persons", Value: persons(c, o)}}
		outside = []string{
			"whose an example is, which counts as given: of a person whose examples carry several names, each name is protected by itself",
			"test examples, also those of persons who have training examples",
		}
	default:
		return
	}
	words := strings.NewReplacer("every example", "every "+record, "one example", "one "+record, "all examples", "all "+record+"s")
	for _, text := range []*string{&s.Sampling, &s.Bound, &s.FeatureMean} {
		*text = words.Replace(*text)
	}
	s.NotPrivate[0] = fmt.Sprintf("the number of %ss, %d, and of all their training examples, %d", record, setup.Records(c, o), o.Examples)
	s.NotPrivate = append(s.NotPrivate, outside...)
}

// persons says how persons take part.
func persons(c *configs.Config, o setup.Outline) string {
	most := ""
	if k := c.Privacy.ExamplesPerPerson; k > 0 {
		most = fmt.Sprintf(", drawn among %d at most that a public rule keeps of theirs", k)
	}
	return fmt.Sprintf("%d; whoever is in a sample contributes one of their examples%s, drawn anew for every step", o.People, most)
}
