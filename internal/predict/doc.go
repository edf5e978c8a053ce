// Package predict says what a trained model takes pictures and rows for. They are read, resized,
// normalised and turned into features exactly as the training examples were; the data of the run is
// not needed.
package predict
