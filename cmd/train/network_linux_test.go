package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"dpsgd/internal/slow"

	"golang.org/x/sys/unix"
)

// sealedVariable makes the program die at the first socket that could reach a network.
const sealedVariable = "DPSGD_TEST_SEALED"

func init() {
	if os.Getenv(sealedVariable) != "" {
		seal()
	}
}

// seal refuses, with a signal to this process, every socket that is not one between processes of
// this machine (seccomp(2)).
func seal() {
	runtime.LockOSThread()
	const number, domain = 0, 16 // where struct seccomp_data has the system call, and its first argument's low half
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
	}
	answer := func(with uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with} }
	filter := []unix.SockFilter{
		load(number), unless(unix.SYS_SOCKET, 2), load(domain), unless(unix.AF_UNIX, 1), answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_TRAP),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		panic(errno)
	}
}

// Nothing but `data fetch` opens the network, whatever it is asked for. (A page of --serve listens, to
// whom it is told.)
func TestNothingElseOpensTheNetwork(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	run, model := filepath.Join(runs, "one"), "model.layers=[flatten, {linear: {out_features: classes}}]"
	sealed := func(args ...string) (string, error) {
		c, out := program(t, args...)
		c.Env = append(c.Env, sealedVariable+"=1")
		c.Dir = dir
		err := c.Run()
		return out.String(), err
	}
	commands := [][]string{
		{"run", "digits", "--runs-dir", runs, "--set", "run.name=one", "--set", "training.steps=2", "--set", model},
		{"ledger", "verify", "--runs-dir", runs}, {"describe", "mnist-cnn"},
	}
	if slow.Asked() {
		commands = append(commands, [][]string{
			{"extend", run, "--epsilon", "9"}, {"resume", run}, {"eval", run}, {"export", run, "--format", "onnx", "--output", filepath.Join(dir, "model.onnx")},
			{"report", run, "--output", filepath.Join(dir, "report.html")}, {"runs", "--runs-dir", runs}, {"ledger", "show", "--runs-dir", runs}, {"epsilon", run},
			{"steps", run, "--epsilon", "9"}, {"compare", run}, {"stats", "digits-statistics", "--runs-dir", runs}, {"data", "list"}, {"presets"}, {"version"},
		}...)
	}
	for _, args := range commands {
		if out, err := sealed(args...); err != nil {
			t.Errorf("train %s: found %v, expected that it works without a network:\n%s", strings.Join(args, " "), err, out)
		}
	}
	if out, err := sealed("data", "fetch", "mnist", "--data-dir", filepath.Join(dir, "data")); err == nil || !strings.Contains(out, "SIGSYS") {
		t.Errorf("data fetch: found %v, expected that the system stops it:\n%.2000s", err, out)
	}
}
