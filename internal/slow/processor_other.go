//go:build !unix

package slow

import "time"

var start = time.Now()

// processorTime returns how long this process has run by now, as there is no way in the standard
// library to ask how long it has computed.
func processorTime() time.Duration { return time.Since(start) }
