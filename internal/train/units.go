package train

import (
	"fmt"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/federated"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// ofRecords lets a statement that speaks of examples speak of the records of the run, where those are
// clients or persons.
func ofRecords(c *configs.Config, o setup.Outline, s *statement.Statement) {
	record, outside := "", []string(nil)
	switch {
	case c.Federated.Any():
		record = "client"
		s.Facts, s.Trusted = federated.Facts(c.Federated), federated.Trusted(c.Federated)
		outside = []string{"which example belongs to which client: here that is simulated, where clients are real it counts as given"}
	case c.Privacy.Unit == configs.UnitPerson:
		record = "person"
		s.Facts = []statement.Fact{{Name: "Persons", Value: persons(c, o)}}
		outside = []string{"persons whose examples carry several names: each name is protected as a person of its own"}
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
