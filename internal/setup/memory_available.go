package setup

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// available returns how many bytes this machine can give without pressing others out, +Inf where
// the system does not say. A variable, so that tests can have a machine of any size.
var available = func() float64 {
	return free(func(name string) string {
		content, err := os.ReadFile(name)
		if err != nil {
			return ""
		}
		return string(content)
	})
}

// free asks Linux: MemAvailable of proc(5), what a limit on the address space leaves (ulimit -v),
// and what the control group and those above it leave (version 2: memory.max and memory.current;
// version 1: the limit and usage of the memory group). Pages of files count as used there, but can
// be had: inactive_file is taken off.
func free(read func(name string) string) float64 {
	least := math.Inf(1)
	if kib, ok := number(field(read("/proc/meminfo"), "MemAvailable:")); ok {
		least = 1024 * kib
	}
	if most, limited := number(field(read("/proc/self/limits"), "Max address space")); limited {
		taken, _ := number(field(read("/proc/self/status"), "VmSize:"))
		least = min(least, max(0, most-1024*taken-threadSpace))
	}
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, limit, usage := "/sys/fs/cgroup", "memory.max", "memory.current"
		switch parts[1] {
		case "memory":
			root, limit, usage = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		case "":
		default:
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			dir := root + strings.TrimSuffix(group, "/")
			most, limited := number(read(dir + "/" + limit))
			used, known := number(read(dir + "/" + usage))
			if limited && known {
				files, _ := number(field(read(dir+"/memory.stat"), "inactive_file"))
				least = min(least, max(0, most-used+files))
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// threadSpace is address space for the stacks of threads that come later.
const threadSpace = 256 << 20

// field returns the word behind a name at the beginning of a line, "" if there is none.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name); found {
			if words := strings.Fields(rest); len(words) > 0 {
				return words[0]
			}
		}
	}
	return ""
}

// number parses a count. It returns false for "max" and for what is missing.
func number(text string) (float64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return float64(n), err == nil
}
