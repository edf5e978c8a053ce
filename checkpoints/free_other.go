//go:build !linux && !darwin

package checkpoints

// Free is not known here.
func Free(string) (bytes int64, ok bool) { return 0, false }
