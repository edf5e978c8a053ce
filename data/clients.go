package data

import (
	"cmp"
	"fmt"

	"dpsgd/internal/setting"
)

// ClientSplit says how examples are spread over clients, and what a client does in a round.
type ClientSplit struct {
	Clients int     // number of clients; public. 0 is a run that is not federated
	Split   string  // iid or dirichlet
	Alpha   float64 // of the Dirichlet split: the smaller, the fewer classes a client has
	Seed    uint64  // of the split, and of the order in which clients go through their examples; public

	LocalSteps        int     // of plain SGD that a client takes in a round
	LocalBatchSize    int     // examples in each of these steps
	LocalLearningRate float64 // of these steps

	Noise       string // who adds the noise: server or clients
	MinClients  int    // least number of clients whose noise a round has; 0 is all of them
	ModulusBits int    // the server sees sums modulo 2^ModulusBits
}

// The words of ClientSplit.Split and ClientSplit.Noise.
const (
	IID       = "iid"
	Dirichlet = "dirichlet"

	ByServer  = "server"
	ByClients = "clients"
)

// NoClients returns the settings of a run without clients. The other fields have their defaults.
func NoClients() ClientSplit {
	return ClientSplit{Split: IID, Alpha: 0.5, Seed: 1, LocalSteps: 5, LocalBatchSize: 20, LocalLearningRate: 0.1, Noise: ByServer, ModulusBits: 40}
}

// Any reports whether the run is federated.
func (r ClientSplit) Any() bool { return r.Clients > 0 }

// Noisy returns the least number of clients whose noise a round has: MinClients, or all if it is 0.
func (r ClientSplit) Noisy() int { return cmp.Or(r.MinClients, r.Clients) }

// Arguments lists the keys that a configuration can set, each with its field of r.
func (r *ClientSplit) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "clients", Also: []string{"num_clients"}, Format: setting.Integer{Min: 0, Max: 1e6}, Value: &r.Clients,
			Doc: "Clients that the training examples are spread over; a step is then a round, training.batch_size the expected number of clients in it, privacy.clip_norm the bound on one client's change of the model, and what is protected one client with all its examples. 0 is a run that is not federated."},
		{Name: "split", Also: []string{"partition"}, Format: setting.Choice{IID, Dirichlet}, Value: &r.Split,
			Doc: "How examples are spread: iid by chance alone, dirichlet so that clients have different shares of the classes (Hsu, Qi, Brown 2019)."},
		{Name: "alpha", Also: []string{"concentration"}, Format: setting.Number{Min: 0.01, Max: 10000}, Value: &r.Alpha,
			Doc: "Concentration of the dirichlet split: the smaller, the fewer classes each client has."},
		{Name: "seed", Format: setting.Integer{Min: 0, Max: 1<<53 - 1}, Value: &r.Seed,
			Doc: "Seed of the split, and of the order in which clients go through their examples. Noise and sampling are never seeded."},
		{Name: "local_steps", Also: []string{"local_iterations"}, Format: setting.Integer{Min: 1, Max: 1e5}, Value: &r.LocalSteps,
			Doc: "Steps of plain SGD that a client takes on its own examples in a round; 1 with a large local_batch_size is one gradient."},
		{Name: "local_batch_size", Format: setting.Integer{Min: 1, Max: 4096}, Value: &r.LocalBatchSize,
			Doc: "Examples in each local step; all where the client has fewer."},
		{Name: "local_learning_rate", Also: []string{"client_learning_rate"}, Format: setting.Number{Min: 0, Max: 1000, OpenMin: true}, Value: &r.LocalLearningRate,
			Doc: "Learning rate of the clients. optimizer is the server's: sgd with learning_rate 1 is FedAvg, momentum FedAvgM, adam FedAdam."},
		{Name: "noise", Format: setting.Choice{ByServer, ByClients}, Value: &r.Noise,
			Doc: "Who adds the noise: server, which has to be trusted with the sum, or clients, each its share of discrete Gaussian noise before secure aggregation (Kairouz, Liu, Steinke 2021), so that the server sees no more than is published."},
		{Name: "min_clients", Format: setting.Integer{Min: 0, Max: 1e6}, Value: &r.MinClients,
			Doc: "Fewest clients whose noise a round has: shares are as large as makes the noise of so many enough, and a round with fewer is not released. 0 is all of them."},
		{Name: "modulus_bits", Format: setting.Integer{Min: 24, Max: 52}, Value: &r.ModulusBits,
			Doc: "The server sees sums modulo 2 to this power: what a client sends for each parameter, in bits. A sum out of range wraps around, which costs accuracy and no privacy."},
	}
}

// Check refuses settings out of range, and more MinClients than Clients.
func (r ClientSplit) Check() error {
	if err := setting.Check("federated", &r); err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	if r.MinClients > r.Clients {
		return fmt.Errorf("clients: federated.min_clients is %d, expected at most the %d of federated.clients", r.MinClients, r.Clients)
	}
	return nil
}

// Division describes the clients in a few words. Any other split of the examples has other words.
func (r ClientSplit) Division() string {
	split := r.Split
	if r.Split == Dirichlet {
		split = fmt.Sprintf("%s %v", r.Split, r.Alpha)
	}
	return fmt.Sprintf("%d clients (%s, seed %d)", r.Clients, split, r.Seed)
}

// String says how the examples are spread over the clients, for statements.
func (r ClientSplit) String() string {
	how := "by chance alone"
	if r.Split == Dirichlet {
		how = fmt.Sprintf("with shares of the classes from a Dirichlet distribution of α = %v, by the labels", r.Alpha)
	}
	return fmt.Sprintf("%d clients, simulated: the examples are spread over them %s, by the public seed %d", r.Clients, how, r.Seed)
}
