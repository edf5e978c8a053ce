package optimizer

// A vector is worked on in chunks, which are handed out to threads and own a stream of noise each, and within a chunk in
// blocks, whose noise and noisy values stay in the first-level cache until the update has used them.
const (
	// chunkLen coordinates have a stream of noise of their own: enough that handing them out costs nothing, few enough
	// that the networks of this project occupy every processor. Changing it changes the noise that a seed gives.
	chunkLen = 1 << 12
	// blockLen values take 4 KiB, and their random words 5 KiB. It is a multiple of kernel.NormalsBlock.
	blockLen = 512
)

// chunks returns the number of chunks of n coordinates.
func chunks(n int) int { return (n + chunkLen - 1) / chunkLen }
