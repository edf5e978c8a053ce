package encoder

import _ "embed"

// The patches of [Dictionary]: how many there are, their side and channels.
const (
	DictionaryFilters  = 1536
	DictionarySize     = 6
	DictionaryChannels = 3
)

// dictionaryWeights holds the weights of every filter and then the biases, as halves.
//
//go:embed dictionary.bin
var dictionaryWeights []byte

// Dictionary returns whitened patches of the pictures that the network learnt from, as filters
// (filter, channel, row, column) and their biases: what package features takes from pictures it
// draws itself, from pictures that take a GPU to draw.
func Dictionary() (filters, biases []float32) {
	w := weightsReader{dictionaryWeights}
	filters = w.take(DictionaryFilters * DictionaryChannels * DictionarySize * DictionarySize)
	return filters, w.take(DictionaryFilters)
}
