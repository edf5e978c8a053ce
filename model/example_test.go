package model_test

import (
	"fmt"

	"dpsgd/model"
)

// A small convolutional network for 28×28 pictures in grey, and what it is made of.
func ExampleNew() {
	network := model.Sequential{
		model.Conv2D{Out: 8, Kernel: model.Both(5), Stride: model.Both(2), Padding: model.Both(2)},
		model.GroupNorm{Groups: 4},
		model.ReLU,
		model.Residual{Body: model.Sequential{
			model.Conv2D{Out: 8, Kernel: model.Both(3), Stride: model.Both(1), Padding: model.Both(1)},
			model.Tanh,
		}},
		model.MaxPool2D{Kernel: model.Both(2), Stride: model.Both(2)},
		model.Flatten{},
		model.Linear{Out: 10},
	}
	m, err := model.New(network, model.Input{Height: 28, Width: 28, Channels: 1}, 10, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range m.Layers() {
		fmt.Printf("%-8s %-10s %-9s %5d parameters %7d multiply-adds\n", l.Name, l.Kind, fmt.Sprint(l.Output), l.Parameters, l.MultiplyAdds)
	}
	fmt.Println(len(m.Values), "parameters")
	// Output:
	// 0        conv2d     [14 14 8]   208 parameters   39200 multiply-adds
	// 1        group_norm [14 14 8]    16 parameters       0 multiply-adds
	// 2        relu       [14 14 8]     0 parameters       0 multiply-adds
	// 3        residual   [14 14 8]   584 parameters       0 multiply-adds
	// 3.body.0 conv2d     [14 14 8]   584 parameters  112896 multiply-adds
	// 3.body.1 tanh       [14 14 8]     0 parameters       0 multiply-adds
	// 4        max_pool2d [7 7 8]       0 parameters       0 multiply-adds
	// 5        flatten    [392]         0 parameters       0 multiply-adds
	// 6        linear     [10]       3930 parameters    3920 multiply-adds
	// 4738 parameters
}
