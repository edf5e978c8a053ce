// Package local has randomizers for local differential privacy: every record is randomized by
// itself, by whoever holds it, and nobody else needs to be trusted. The reports give an estimate of
// how often each value occurs.
//
//	p, err := local.NewUnary(10, 1)       // ten values, ε = 1 for one report
//	report := p.Randomize(value, source)  // where the record is
//	tally := local.NewTally(p)
//	tally.Add(report)                     // where reports are collected
//	counts := tally.Counts()              // unbiased, with intervals
//
// # What is claimed
//
// A report r of a value is (ε, 0)-private: for all values v, w and every r
//
//	P[r | v] ≤ e^ε · P[r | w]
//
// (Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2011, arXiv:0803.0924, Definition 2.2). That
// holds for the probabilities that are drawn, not for nearby ones: all of them are multiples of
// 2^-63, drawn exactly, and rounded so that ε is not passed. A record that reports once is in one
// report: so all reports of a data set, too, are (ε, 0)-private for one record, whatever the others
// are.
//
// # Which one
//
// With n records of which n_v have the value v, and d values, the deviation of an estimated count
// is about √n times
//
//	randomized response  √(d-2+e^ε)/(e^ε-1)     the least for d < 3e^ε + 2
//	unary, optimised     2e^(ε/2)/(e^ε-1)       whatever d is; a report has d bits
//	local hashing        2e^(ε/2)/(e^ε-1)       whatever d is; a report has 18 bytes
//	unary, symmetric     e^(ε/4)/(e^(ε/2)-1)    RAPPOR without a filter
//
// for rare values (Wang, Blocki, Li, Jha 2017, "Locally Differentially Private Protocols for
// Frequency Estimation", USENIX Security, Table 1 and section 4), against √2/ε, without √n, where
// one trusts a curator. [Protocol.Variance] has the exact ones.
package local
