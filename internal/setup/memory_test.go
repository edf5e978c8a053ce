package setup

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/tiny"
)

// config is a preset with keys overridden.
func config(t *testing.T, preset string, set ...string) (*configs.Config, Outline) {
	t.Helper()
	c := tiny.Must(configs.Load(preset, set))(t)
	o := tiny.Must(OutlineOf(c, 60_000))(t)
	return c, o
}

// What would take terabytes is refused by a line that says what to change, and asking takes next to
// nothing.
func TestCheckRefusesBeforeAnythingIsTaken(t *testing.T) {
	for _, test := range []struct {
		name, advice string
		layers       string
	}{
		{"parameters", "choose a smaller network: layer 1 (conv2d) has 38654771200 parameters", "{conv2d: {out_channels: 65536, kernel_size: 3, padding: 1}}, {conv2d: {out_channels: 65536, kernel_size: 3, padding: 1}}, global_avg_pool2d, {linear: {out_features: 10}}"},
		{"standardised", "choose a smaller network: layer 1 (standardised_conv2d) has 38654771200 parameters", "{standardised_conv2d: {out_channels: 65536, kernel_size: 3, padding: 1}}, {standardised_conv2d: {out_channels: 65536, kernel_size: 3, padding: 1}}, global_avg_pool2d, {linear: {out_features: 10}}"},
		{"activations", "choose a training.physical_batch_size below 128", "{conv2d: {out_channels: 65536, kernel_size: 1}}, {dropout: {p: 0.5}}, {max_pool2d: {kernel_size: 2}}, global_avg_pool2d, {linear: {out_features: 10}}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := "data: {name: mnist}\nmodel: {layers: [" + test.layers + "]}\nprivacy: {noise_multiplier: 1, clip_norm: 1}\ntraining: {physical_batch_size: 128}\nperformance: {max_memory: 2GiB}\n"
			c := tiny.Must(configs.Parse("test.yaml", []byte(source), nil))(t)
			o := tiny.Must(OutlineOf(c, 0))(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := CheckMemory(c, o)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), test.advice) || strings.Contains(err.Error(), "\n") {
				t.Errorf("found %v, expected one line with %q", err, test.advice)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 16<<20 {
				t.Errorf("asking took %d bytes", taken)
			}
		})
	}
}

// The limit is performance.max_memory, or what the machine has free.
func TestCheckKnowsTheLimit(t *testing.T) {
	defer func(f func() float64) { available = f }(available)
	available = func() float64 { return 64 << 20 }
	c, o := config(t, "digits")
	if err := CheckMemory(c, o); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "at most the 64 MiB that are free") {
		t.Errorf("on a machine with 64 MiB: found %v", err)
	}
	c, o = config(t, "digits", "performance.max_memory=1GiB")
	if err := CheckMemory(c, o); err != nil {
		t.Errorf("with a limit of its own: %v", err)
	}
	available = func() float64 { return math.Inf(1) }
	c, o = config(t, "digits", "performance.max_memory=10MB")
	if err := CheckMemory(c, o); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "at most the 10 MiB of performance.max_memory") {
		t.Errorf("with too small a limit: found %v", err)
	}
}

// Estimates are within a factor of two of the peak resident memory of real runs of a few steps,
// which /usr/bin/time measured on Linux with 2 cores (in MiB).
func TestEstimatesArePeaksOfRealRuns(t *testing.T) {
	for _, run := range []struct {
		preset    string
		peak      float64
		side, of  int // of so many pictures of one's own, in each part
		overrides []string
	}{
		{"digits", 101, 0, 0, nil},
		{"mnist-cnn", 190, 0, 0, nil},
		{"vit-tiny", 612, 0, 0, nil},
		{"digits", 1094, 0, 0, []string{"performance.threads=400", "training.physical_batch_size=64",
			"model.layers=[{conv2d: {out_channels: 64, kernel_size: 3, stride: 5}}, tanh, {conv2d: {out_channels: 512, kernel_size: 3, stride: 2}}, global_avg_pool2d, {linear: {out_features: classes}}]"}},
		{"own-pictures", 541, 64, 80, []string{"data.size=64", "data.classes=[a, b]"}},
		{"own-pictures", 500, 224, 40, []string{"data.size=224", "data.classes=[a, b]", "features.name=model", "features.file=resnet18.safetensors", "features.network=resnet18",
			"features.encoder=0", "features.pictures=100", "features.directions=4"}},
	} {
		preset, peak := run.preset, run.peak
		c, _ := config(t, preset, append([]string{"performance.threads=2"}, run.overrides...)...)
		o := Declared(c)
		if c.Data.Folder != "" {
			o = Outline{Name: "own", Examples: run.of, Tests: run.of, Shape: data.Shape{Height: run.side, Width: run.side, Channels: 3}, Classes: 2}
		}
		e := tiny.Must(MemoryOf(c, o))(t)
		found := e.Total() / (1 << 20)
		t.Logf("%s: estimated %.0f MiB, peak %.0f MiB: graph %.0f, parameters %.0f, examples %.0f", preset, found, peak, e.Graph/(1<<20), e.Parameters/(1<<20), e.Examples/(1<<20))
		if found > 2*peak || found < peak/2 {
			t.Errorf("%s: estimated %.0f MiB, expected %.0f within a factor of two", preset, found, peak)
		}
	}
}

// A control group may leave less than the machine has, and pages of files can be had.
func TestFree(t *testing.T) {
	const meminfo = "MemTotal: 9000 kB\nMemAvailable:    4096 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"no limits":   {map[string]string{"/proc/meminfo": meminfo}, 4096 << 10},
		"no Linux":    {nil, math.Inf(1)},
		"unlimited":   {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n", "/sys/fs/cgroup/a/memory.current": "5\n"}, 4096 << 10},
		"a group":     {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "1000\n", "/sys/fs/cgroup/a/memory.current": "900\n", "/sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 300\n"}, 400},
		"one above":   {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/memory.max": "1000\n", "/sys/fs/cgroup/a/memory.current": "900\n"}, 100},
		"version 1":   {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "3:memory:/a\n", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n", "/sys/fs/cgroup/memory/a/memory.usage_in_bytes": "100\n"}, 900},
		"overdrawn":   {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1000\n", "/sys/fs/cgroup/memory.current": "1001\n"}, 0},
		"a container": {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "2000\n", "/sys/fs/cgroup/memory.current": "500\n"}, 1500},
	} {
		if found := free(func(path string) string { return test.files[path] }); found != test.want {
			t.Errorf("%s: found %v, expected %v", name, found, test.want)
		}
	}
	if _, err := os.Stat("/proc/meminfo"); err == nil {
		if found := available(); !(found > 0 && found < 1<<50) {
			t.Errorf("this machine has %v bytes free", found)
		}
	}
}

// All pictures stay in memory where they fit, or where they are drawn or unpacked there in any
// case; otherwise as many as were asked for, or as half of what is left holds, and what is refused
// is what is too large without a picture.
func TestPicturesThatStayInMemory(t *testing.T) {
	defer func(f func() float64) { available = f }(available)
	const mega = 1 << 20
	o := Outline{Name: "own", Examples: 1_000_000, Tests: 10_000, Shape: data.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10}
	all := AllPictures(o)
	for name, test := range map[string]struct {
		free      float64
		overrides []string
		low, high int64
		refused   bool
	}{
		"much memory":     {math.Inf(1), nil, all, all, false},
		"asked for less":  {math.Inf(1), []string{"performance.data_memory=100MiB"}, 100 * mega, 100 * mega, false},
		"asked for more":  {math.Inf(1), []string{"performance.data_memory=4GiB"}, all, all, false},
		"little memory":   {600 * mega, nil, 100 * mega, 290 * mega, false},
		"told so":         {math.Inf(1), []string{"performance.max_memory=600MiB"}, 100 * mega, 290 * mega, false},
		"too little":      {100 * mega, nil, 0, 0, true},
		"asked too much":  {600 * mega, []string{"performance.data_memory=700MiB"}, 700 * mega, 700 * mega, true},
		"not in a folder": {600 * mega, nil, all, all, true},
	} {
		t.Run(name, func(t *testing.T) {
			available = func() float64 { return test.free }
			overrides := append([]string{"data.folder=own", "data.classes=[a, b]", "data.size=28", "data.channels=1"}, test.overrides...)
			if name == "not in a folder" {
				overrides = nil
			}
			c := tiny.Must(configs.Load("mnist-cnn", append(overrides, "training.physical_batch_size=16")))(t)
			if held := PicturesHeld(c, o); held < test.low || held > test.high {
				t.Errorf("found %d bytes, expected %d to %d", held, test.low, test.high)
			}
			if err := CheckMemory(c, o); (err != nil) != test.refused {
				t.Errorf("found %v, expected it to be refused: %t", err, test.refused)
			}
		})
	}
}
