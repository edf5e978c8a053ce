package records

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/internal/statement"
)

// Facts returns what a privacy statement says of the rounds of these clients.
func Facts(r data.ClientSplit) []statement.Fact {
	return []statement.Fact{
		{Name: "Clients", Value: r.String()},
		{Name: "What a client does in a round", Value: fmt.Sprintf("%d steps of SGD at learning rate %v, each on %d of its examples, from the model of now; what it contributes is by how far that moved the parameters, and all clients count alike",
			r.LocalSteps, r.LocalLearningRate, r.LocalBatchSize)},
	}
}

// Trusted says who sees changes or sums that have no noise yet.
func Trusted(r data.ClientSplit) string {
	if r.Noise == data.ByClients {
		return fmt.Sprintf("secure aggregation, which tells the server sums modulo 2^%d alone, of integers that have all noise; that %d clients who do not tell the server their noise take part in every round; who a round was computed from is known to the sampled clients alone",
			r.ModulusBits, r.Noisy())
	}
	return "the server, which sees the clients' changes or their sum before it adds noise"
}
