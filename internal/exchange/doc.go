// Package exchange carries models out of the trainer and weights into it.
//
// [Export] writes the model of a run as an ONNX file, as a safetensors file or as a Python file,
// each with its privacy guarantee. [Match] finds out how the tensors of another program's file fit
// a network of this one.
//
// # ONNX
//
// onnxruntime and most other inference programs read it: operator set 17 of
// https://onnx.ai/onnx/operators, encoded as protocol buffers by the few functions that this takes. The input
// is float32 and is called "pictures", (N, channels, height, width) with values from 0 to 1, or "rows",
// (N, columns) as they stand in the table, or "vectors", (N, width); N is free. The output is "logits",
// (N, classes). The graph holds the normalisation, the public features and their mean, so that a picture has
// only to be brought to its size. The file's metadata hold the names of the classes and the privacy guarantee.
//
// # PyTorch
//
// A Python file builds the same network of torch.nn and loads the weights from a safetensors file beside it. It
// needs PyTorch alone; to read pictures it takes Pillow.
//
// # Model cards
//
// [Card] writes the README.md of a model in the format of Hugging Face
// (https://huggingface.co/docs/hub/model-cards): what the model is, how well it does, and what its privacy
// guarantee says and does not say. Everything on it is public.
package exchange
