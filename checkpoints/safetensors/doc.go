// Package safetensors reads and writes the headers of safetensors files
// (https://github.com/huggingface/safetensors): which tensors a file holds, and where.
//
// It is strict where files have been used to confuse readers: no duplicate or differently spelled
// keys, no hole, overlap or trailing byte in the data, no overflow in a shape.
package safetensors
