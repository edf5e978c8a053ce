// Package examples finds what a network is trained on or measured on: the data set of a
// configuration, where it lies now, and the features that it is seen in.
package examples
