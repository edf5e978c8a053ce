package main

import (
	"archive/tar"
	"bufio"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/tiny"
)

// A million pictures in tar shards train for 200 steps in less than 1 GB of resident memory, by
// what the system says of the process: in memory, the pictures alone would take 784 MB, and 1.2 GB
// while they are read. `DPSGD_PICTURES=1000000 go test ./cmd/train -run TestMillionPictures -v
// -timeout 1h` draws them; DPSGD_PICTURES_DIR is where they stay.
func TestMillionPictures(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("DPSGD_PICTURES"))
	if err != nil {
		t.Skip("DPSGD_PICTURES says how many pictures to draw, such as 1000000")
	}
	dir := os.Getenv("DPSGD_PICTURES_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	pictures := filepath.Join(dir, fmt.Sprintf("digits-%d", n))
	if _, err := os.Stat(pictures); err != nil {
		start := time.Now()
		drawShards(t, pictures, n)
		t.Logf("drew %d pictures in %v", n, time.Since(start).Round(time.Second))
	}
	config := filepath.Join(dir, "million.yaml")
	tiny.Write(t, config, "data: {folder: "+pictures+", classes: [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"], size: 28, channels: 1}\n"+
		"model: {name: mnist-cnn}\nprivacy: {epsilon: 1, delta: 1e-7, clip_norm: 1}\noptimizer: {learning_rate: 0.5}\n"+
		"training: {steps: 200, batch_size: 2048}\nperformance: {data_memory: 256MiB, max_memory: 1GB}\n")
	start := time.Now()
	c, out := program(t, "run", config, "--runs-dir", filepath.Join(t.TempDir(), "runs"))
	tiny.Check(t, c.Start())
	peak, ended := 0, make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, highWater(c.Process.Pid))
		}
	}
	t.Logf("ended after %v with a peak of %d MB resident (VmHWM)\n%s", time.Since(start).Round(time.Second), peak/1e6, out)
	tiny.Check(t, err)
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = max(peak, int(usage.Maxrss)<<10)
	}
	if peak == 0 || peak >= 1e9 {
		t.Errorf("found a peak of %d bytes, expected less than 1 GB", peak)
	}
}

// highWater is the most memory that was resident of a process, in bytes; 0 where it has ended.
func highWater(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); found != nil {
		kib, _ := strconv.Atoi(string(found[1]))
		return kib << 10
	}
	return 0
}

// drawShards draws n digits to train on and a hundredth as many to test with, 10,000 in a shard.
func drawShards(t *testing.T, dir string, n int) {
	t.Helper()
	const inShard = 10_000
	tiny.Check(t, os.MkdirAll(dir, 0o700))
	for name, part := range map[string]int{"train": 0, "test": 1} {
		n := map[string]int{"train": n, "test": n / 100}[name]
		err := kernel.Each((n+inShard-1)/inShard, func(shard int) error {
			return drawShard(t, filepath.Join(dir, fmt.Sprintf("%s-%06d.tar", name, shard)), part, shard*inShard, min(n, (shard+1)*inShard))
		})
		tiny.Check(t, err)
	}
}

func drawShard(t *testing.T, path string, part, from, to int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewWriterSize(f, 1<<20)
	w := tar.NewWriter(buffered)
	var drawer data.DigitDrawer
	picture := image.NewGray(image.Rect(0, 0, data.DigitSide, data.DigitSide))
	for i := from; i < to; i++ {
		label := drawer.Draw(picture.Pix, 1, part, i)
		tiny.Member(t, w, fmt.Sprintf("%08d.png", i), tiny.Encode(t, picture))
		tiny.Member(t, w, fmt.Sprintf("%08d.cls", i), []byte(strconv.Itoa(int(label))))
	}
	if err := w.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}
