// Package onnx writes a trained model as an ONNX file, which onnxruntime and most other inference
// programs read: operator set 17 of https://onnx.ai/onnx/operators, encoded as protocol buffers by
// the few functions that this takes.
//
// # The graph
//
// The input is float32 and is called "pictures", (N, channels, height, width) with values from 0 to
// 1, or "rows", (N, columns) as they stand in the table, or "vectors", (N, width); N is free. The
// output is "logits", (N, classes). Normalisation, public features and the mean that is taken off
// them are in the graph, so that nothing has to be done to a picture but to bring it to its size.
//
// The metadata of the file say what the classes are called and what the privacy guarantee is.
package onnx
