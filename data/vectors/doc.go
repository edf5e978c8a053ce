// Package vectors reads vectors of features that another program computed, with their labels, from
// files that NumPy or safetensors wrote, from Parquet and from comma-separated values.
//
// Opening looks at headers alone and holds what they declare against the size of the file, so that
// nothing is allocated for numbers that are not there. Messages name files, tensors, columns, rows,
// shapes and types, never a number or a label.
//
// # Numbers
//
// Numbers of 16, 32 and 64 bits with a fraction, bfloat16 and integers are rounded to float32, in
// any order of bytes and of the sides of an array. Complex numbers, dates, times, decimals and, in
// Parquet, truth values are refused, and so are columns of Parquet that are packed with LZ4.
//
// # Columns
//
// In Parquet and comma-separated values one column holds the labels, and all others the vector, in
// their order: there are as many as are declared, or in Parquet one with a list of numbers for each
// row. A text for a label is the name of a class, or its number where no class has a number for a
// name; an integer is a number. Rows are counted from 0.
package vectors
