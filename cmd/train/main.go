// Command train trains neural networks with differential privacy.
//
//	train run                          train on pictures of digits that the program draws
//	train run configs/mnist-cnn.yaml   train on MNIST
//	train describe digits              what a run would do, before it does it
//	train epsilon runs/digits-1        what a run has spent
//	train sweep clip-noise             a table of accuracy and ε over a grid of settings
//	train help                         everything else
//
// The package reads flags, calls the packages below dpsgd/internal, and prints. One command is one
// file; what commands share is in the packages below it.
package main

import (
	"io"
	"os"

	"dpsgd/cmd/train/internal/shell"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs one command line and returns its exit code.
func execute(args []string, out, err io.Writer) int { return shell.New(out, err).Execute(root, args) }
