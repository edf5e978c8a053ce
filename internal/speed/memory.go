package speed

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// peakMemory is the most memory in MiB that this process has had in use: what Linux counted as
// resident at once, or, on other systems, what the Go runtime has asked the system for.
func peakMemory() float64 {
	const kib, bytes = 1 << 10, 1 << 20 // of a MiB
	status, err := os.ReadFile("/proc/self/status")
	if peak, ok := residentPeak(string(status)); err == nil && ok {
		return peak / kib
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys) / bytes
}

// residentPeak finds the line "VmHWM:     12345 kB" of proc(5).
func residentPeak(status string) (kib float64, ok bool) {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return n, err == nil
		}
	}
	return 0, false
}
