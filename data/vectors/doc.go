// Package vectors reads vectors of features that another program computed, with their labels, from
// files that NumPy or safetensors wrote.
//
// Opening looks at headers alone and holds what they declare against the size of the file, so that
// nothing is allocated for numbers that are not there. Messages name files, tensors, shapes and types,
// never a number.
package vectors
