// Package pate trains a student on what private teachers answer (PATE; Papernot et al. 2017,
// arXiv:1610.05755, and 2018, arXiv:1802.08908).
//
//	examples ─► disjoint parts ─► teachers ─► votes on public pictures ─► Desk ─► answers ─► student
//
// Teachers learn without privacy, each from its own part, and never leave the program. Only the
// answers of package answer to questions about their votes leave it. The student sees public
// pictures and answers alone, so it may be published.
//
// # What is claimed
//
// One training example is in the part of one teacher. If its place is empty, one vote on each
// question may be different (accountant.ZeroOut). The partition is a function of places and of
// public numbers: if an example were taken out and those behind it moved up, most parts would
// change. The ledger has an event for each question that was asked, durable before its noise is
// drawn.
//
// How many questions pass their check depends on the votes. So the plan fixes, before the first
// question, how many checks and how many answers there are at most, and all of these are paid for
// in the end, asked or not. They are Gaussian releases with parameters that are fixed in advance,
// and each is chosen by what the earlier ones showed; they cost no more than one Gaussian release
// with the sum of their 1/σ² (fully adaptive composition: Smith, Thakurta 2022, arXiv:2210.17520,
// Theorem 1; Koskela, Tobaben, Honkela 2022, arXiv:2209.15596, Theorem 8). Without a check there is
// nothing to choose, and every accountant's composition holds.
//
// Until the payment is complete, answers lie in a private file.
package pate
