// Command train trains neural networks with differential privacy.
//
//	train run                          train on pictures of digits that the program draws
//	train run configs/mnist-cnn.yaml   train on MNIST
//	train describe digits              what a run would do, before it does it
//	train epsilon runs/digits-1        what a run has spent
//	train sweep clip-noise             a table of accuracy and ε over a grid of settings
//	train help                         everything else
//
// The package reads flags, calls the packages below dpsgd/internal, and prints. Commands of one
// subject share a file; what all share is in the package below it.
package main

import (
	"os"

	"dpsgd/cmd/train/internal/shell"
)

func main() {
	a := &shell.App{Out: os.Stdout, Err: os.Stderr, Hints: true}
	os.Exit(a.Execute(root, os.Args[1:]))
}
