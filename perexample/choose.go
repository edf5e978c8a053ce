package perexample

// Choose returns the faster engine for each rule at the given physical batch size, by a count of
// the work: the same for the same shapes, whatever else the machine does. Both engines form each
// gradient once, and the rest of the ghost engine is its norm, the rest of the other one the
// memory. Stored gradients take at most budget bytes together, given out in the order of the rules;
// a rule that does not fit uses the ghost engine.
func Choose(rules []Rule, batch int, budget int64) []Engine {
	engines := make([]Engine, len(rules))
	for i, r := range rules {
		bytes := 4 * int64(batch) * int64(r.Size())
		if bytes <= budget && r.Cost().GhostNorm*float64(batch) > byteCost(bytes)*float64(bytes) {
			engines[i] = Materialise
			budget -= bytes
		}
	}
	return engines
}

// Cost counts multiply-adds per example.
type Cost struct {
	GhostNorm float64 // for the squared norm without the gradient
	Form      float64 // for the gradient itself
}

// byteCost returns how many multiply-adds of a norm take as long as storing a byte of a gradient
// and reading it back, for so many bytes in all. BenchmarkEngines took 9 to 18 on two cores with
// AVX-512 or AVX2, and 3 to 8 where the bytes are few enough for caches. Between these the engines
// differ little.
func byteCost(bytes int64) float64 {
	const cacheBytes = 8 << 20
	if bytes <= cacheBytes {
		return 4
	}
	return 12
}
