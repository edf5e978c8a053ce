// Command train trains neural networks with differential privacy.
//
//	train run                          train on pictures of digits that the program draws
//	train run configs/mnist-cnn.yaml   train on MNIST
//	train help                         everything else
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }
