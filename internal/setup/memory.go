package setup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"dpsgd/configs"
	"dpsgd/features"
	"dpsgd/features/encoder"
	"dpsgd/internal/gradients"
	"dpsgd/model"
)

// ErrTooLarge is matched where a configuration needs more memory than there is.
var ErrTooLarge = errors.New("train: too little memory")

// Memory is an estimate of what training takes at its peak, in whole bytes.
type Memory struct {
	Graph      float64 `json:"graph"`      // the buffers of a physical batch, of predictions, and of gradients that workers form
	Parameters float64 `json:"parameters"` // parameters, their sums, the memory of the update rule, and copies for saving
	Examples   float64 `json:"examples"`   // examples and their features, with what reading them leaves behind
	Program    float64 `json:"program"`    // the program itself

	batch   int             // rows of the graph at once
	largest model.LayerInfo // the layer with the most parameters
}

// Total returns the sum of the parts.
func (e Memory) Total() float64 { return e.Graph + e.Parameters + e.Examples + e.Program }

// Sizes of values, in bytes.
const (
	float16Bytes = 2
	float32Bytes = 4
	float64Bytes = 8
)

// program is what the smallest run takes: code, the runtime, and garbage not collected yet.
const program = 48 << 20

// MemoryOf estimates what training on examples of this outline takes.
func MemoryOf(c *configs.Config, o Outline) (Memory, error) { return of(c, o, PicturesHeld(c, o)) }

// of estimates what training takes if held bytes of decoded pictures are kept in memory.
func of(c *configs.Config, o Outline, held int64) (Memory, error) {
	e := Memory{Program: program, Examples: math.Ceil(examples(c, o, held)), batch: min(c.Training.PhysicalBatchSize, o.Examples)}
	m, err := Sketch(c, o.Shape, o.Classes)
	if err != nil {
		return e, err
	}
	views, err := Views(c, o.Shape)
	if err != nil {
		return e, err
	}
	s, err := gradients.NewSketch(m, views, e.batch, c.Performance.Engine, Threads(c))
	if err != nil {
		return e, err
	}
	e.Graph = math.Ceil(s.Training + s.Prediction + s.Formed)
	trained, frozen := m.Sizes()
	slots, err := Slots(c)
	if err != nil {
		return e, err
	}
	// Values, the part of a sum, and two copies while a model is written; slots; the sum.
	perValue := float64(float32Bytes*(4+slots) + float64Bytes)
	e.Parameters = perValue*float64(trained) + 2*float32Bytes*float64(frozen)
	if bands := Bands(c); bands > 1 {
		e.Parameters += float64(Remembered(bands, trained))
	}
	if c.Federated.Any() && trained > 0 {
		// The clients' changes, and for each worker a model, a sum, a copy of it, and a sum of changes
		// in float64. Graphs come on top.
		threads := Threads(c)
		e.Parameters += float32Bytes * float64(trained) * float64(ClientsAtOnce(c, trained, threads)+5*threads)
	}
	for _, l := range m.Layers() {
		if l.Parameters >= e.largest.Parameters && l.Parameters > 0 {
			e.largest = l
		}
	}
	if held < AllPictures(o) {
		e.Program += float64(garbagePercent(e.Total())) / 100 * e.Total() // decoding leaves that behind, again and again
	}
	return e, nil
}

// MostChosenBands is the most bands of correlated noise that a run chooses itself: with more, little
// is gained and memory grows.
const MostChosenBands = 16

// Bands returns over how many steps the noise of the configuration is correlated, at most; 1 is
// independent noise.
func Bands(c *configs.Config) int {
	switch c.Privacy.Correlation {
	case configs.Banded:
		return c.Privacy.Bands
	case configs.Independent:
		return 1
	}
	return MostChosenBands
}

// Remembered returns the bytes of what correlated noise of so many bands remembers of sums of values:
// the sums of so many steps, and the estimates of one step less.
func Remembered(bands, values int) int { return (2*bands - 1) * float64Bytes * values }

// examples returns the bytes of the data set and its features. While it is read, files and what is
// made of them are there together, but for pictures that are read when they are needed.
func examples(c *configs.Config, o Outline, held int64) float64 {
	n := float64(o.Examples) + float64(o.Tests)
	stored := float64(o.Shape.Bytes())
	if c.Data.Vectors != "" {
		stored = float16Bytes * float64(o.Shape.Values())
	}
	bytes, pictures := 1.5*n*stored, n*stored
	if held < AllPictures(o) {
		pictures = float64(held) + placeBytes*n
		bytes = pictures
	}
	if c.Features.Any() {
		width := float64(c.Features.Width(o.Shape))
		bytes = pictures + float16Bytes*n*width
		if c.Features.MeanNoise > 0 {
			bytes += float16Bytes * n * width // with the mean subtracted, beside those without
		}
		// Drawn pictures, their rows, a copy of these and the products of all pairs.
		bytes += float32Bytes * float64(c.Features.Pictures) * (float64(o.Shape.Values()) + 2*width + float64(c.Features.Pictures))
		if c.Features.Encoder > 0 {
			bytes += float64(Threads(c)) * encoder.Bytes(o.Shape)
		}
		if b, ok := c.Features.Transform.(*features.Backbone); ok {
			network, _ := b.Bytes(o.Shape) // whoever makes the network says what is wrong
			bytes += network
		}
	}
	return bytes
}

// CheckMemory refuses a configuration that needs more than performance.max_memory, or than the
// machine has free. The check itself takes next to no memory. It accepts a configuration that
// cannot be estimated: whoever makes the network says what is wrong.
func CheckMemory(c *configs.Config, o Outline) error {
	e, err := MemoryOf(c, o)
	if err != nil {
		return nil
	}
	return e.check(c)
}

// CheckMemoryOfExamples does what [CheckMemory] does, for a program that reads the examples and
// trains nothing.
func CheckMemoryOfExamples(c *configs.Config, o Outline) error {
	return Memory{Program: program, Examples: math.Ceil(examples(c, o, PicturesHeld(c, o)))}.check(c)
}

func (e Memory) check(c *configs.Config) error {
	limit, whose := limitOf(c)
	if e.Total() <= limit {
		return nil
	}
	return fmt.Errorf("%w: the configuration needs about %s (graph %s, parameters %s, examples %s), expected at most the %s %s; %s", ErrTooLarge,
		Bytes(e.Total()), Bytes(e.Graph), Bytes(e.Parameters), Bytes(e.Examples), Bytes(limit), whose, e.advice(c, limit))
}

// advice returns a sentence that says what to make smaller so that c fits into limit: the network,
// the physical batch, or the examples or features. It names the one that takes most of the memory,
// or the network if no smaller batch would help.
func (e Memory) advice(c *configs.Config, limit float64) string {
	switch most := max(e.Graph, e.Parameters, e.Examples); {
	case most == e.Parameters, most == e.Graph && (e.batch == 1 || e.Parameters > limit):
		return fmt.Sprintf("choose a smaller network: layer %s (%s) has %d parameters and an output of %v", e.largest.Name, e.largest.Kind, e.largest.Parameters, e.largest.Output)
	case most == e.Graph:
		return fmt.Sprintf("choose a training.physical_batch_size below %d, which costs time and no privacy, or a smaller network", e.batch)
	case c.Features.Any():
		return "choose fewer features or examples"
	}
	return "choose fewer or smaller examples"
}

// Bytes returns a size for people, in MiB rounded up, GiB or TiB.
func Bytes(bytes float64) string {
	switch {
	case bytes >= 1<<40:
		return fmt.Sprintf("%.1f TiB", bytes/(1<<40))
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", math.Ceil(bytes/(1<<20)))
}

// placeBytes is what a picture that can be decoded again takes beside its decoded values, in bytes.
const placeBytes = 32

// garbagePercent returns how much garbage may gather, in percent of what is in use, where pictures
// are decoded all the time: about 64 MiB, but 20 to 100 % (Go's default). Collecting it is cheap:
// next to all memory is numbers, which are not searched.
func garbagePercent(used float64) int { return int(min(100, max(20, 100*(64<<20)/used))) }

// AllPictures returns what all examples, of training and test, take when decoded, in bytes.
func AllPictures(o Outline) int64 {
	return int64(min((float64(o.Examples)+float64(o.Tests))*float64(o.Shape.Bytes()), math.MaxInt64/2))
}

// PicturesHeld returns how many bytes of decoded pictures training keeps in memory. Pictures in a
// folder are decoded again when they are needed, so it keeps no more of them than
// performance.data_memory says, and half of what everything else leaves where memory is short. All
// other pictures are kept.
func PicturesHeld(c *configs.Config, o Outline) int64 {
	all := AllPictures(o)
	if c.Data.Folder == "" {
		return all
	}
	if c.Performance.DataMemory > 0 {
		return min(all, c.Performance.DataMemory)
	}
	limit, _ := limitOf(c)
	if e, err := of(c, o, all); err != nil || e.Total() <= limit {
		return all
	}
	e, _ := of(c, o, 0) // which fails as that of all does
	return min(all-1, int64(max(0, limit-e.Total())/2))
}

// TidyUp makes this process collect garbage more often if held is less than all pictures take.
func TidyUp(c *configs.Config, o Outline, held int64) {
	if e, err := of(c, o, held); err == nil && held < AllPictures(o) {
		debug.SetGCPercent(garbagePercent(e.Total()))
	}
}

// limitOf returns how many bytes a run of c may take, performance.max_memory or what is free, and
// the words for an error message that say which of the two it is.
func limitOf(c *configs.Config) (limit float64, whose string) {
	if most := c.Performance.MaxMemory; most > 0 {
		return float64(most), "of performance.max_memory"
	}
	return available(), "that are free; another performance.max_memory lets it try"
}

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
