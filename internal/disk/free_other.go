//go:build !linux && !darwin

package disk

// Free reports that this system does not say how many bytes are free.
func Free(string) (bytes int64, ok bool) { return 0, false }
