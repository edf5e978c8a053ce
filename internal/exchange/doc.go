// Package exchange carries models out of the trainer and weights into it.
//
// [Export] writes the model of a run as an ONNX file, as a safetensors file or as a Python file,
// each with its privacy guarantee. [Match] finds out how the tensors of another program's file fit
// a network of this one.
package exchange
