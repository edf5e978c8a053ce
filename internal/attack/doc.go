// Package attack attacks what is released about drawn people, and the models of runs, to show what
// noise buys, and to check that it does.
//
// An attack that is weaker than it could be looks like privacy. So each is held against what is
// known of the best one: without noise it has to win, and with noise it may not win more often than
// the accountant allows, nor much less often where the best attack is known.
//
// The drawn people are nobody, so what is computed from them without noise may be shown. What
// [Tell] computes from a run's training examples may not.
package attack
