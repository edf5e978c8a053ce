// Package federated is what clients contribute to the releases of a federated run: DP-FedAvg with a
// bound on each client (McMahan, Ramage, Talwar, Zhang, arXiv:1710.06963, Algorithm 1).
//
// A release is a round, and its records are clients. Every sampled client begins with the model of
// now, takes steps of plain SGD on its own examples, and contributes by how far it has moved the
// parameters. The door clips that to C, whatever the client made of it, adds it to the sum and adds
// noise; the sum divided by the expected number of clients, a public number, is a gradient to the
// server's update rule. Plain SGD with a learning rate of 1 there is federated averaging.
//
// Clients count alike, however many examples they have: weights by size, as in federated averaging
// without privacy, would have to be bounded and would tell the sizes.
//
// What a client contributes is a function of its own examples, of the model, and of public numbers.
// All clients are simulated in this process; each worker computes one at a time, on one thread.
package federated
