//go:build linux && !mpi

package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// A program without an interpreter is loaded by the kernel alone, on every Linux and in an empty
// image. What opens libraries has one, and so only the program with the tag may.
func TestOnlyTheProgramWithMPIIsDynamic(t *testing.T) {
	slow.Evidence(t)
	for tags, want := range map[string]bool{"": false, "mpi": true} {
		program := filepath.Join(t.TempDir(), "train")
		build := exec.Command("go", "build", "-tags", tags, "-o", program, "dpsgd/cmd/train")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		file, err := elf.Open(program)
		tiny.Check(t, err)
		dynamic := false
		for _, p := range file.Progs {
			dynamic = dynamic || p.Type == elf.PT_INTERP
		}
		if dynamic != want {
			t.Errorf("tags %q: found an interpreter: %v, expected %v", tags, dynamic, want)
		}
		file.Close()
	}
}

// The static program becomes the other one, with its arguments, or says that there is none.
func TestBecome(t *testing.T) {
	self := []byte(tiny.Read(t, os.Args[0]))
	dir := t.TempDir()
	static, other := filepath.Join(dir, "train"), filepath.Join(dir, mpiProgram)
	tiny.Write(t, static, string(self))
	become := func(file string) string {
		tiny.Check(t, os.Chmod(file, 0o700))
		c, out := program(t, "run", "digits")
		c.Path = file
		c.Env = append(c.Env, "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=0", "PATH=/bin:/usr/bin")
		c.Run() // what it says is checked
		return out.String()
	}
	const none = "found 2 ranks of Open MPI's mpirun, but this program speaks no MPI, expected `train-mpi` beside it or on PATH: start that one\n"
	if out := become(static); !strings.HasSuffix(out, none) {
		t.Errorf("found %q, expected %q", out, none)
	}
	tiny.Write(t, other, "#!/bin/sh\necho \"became $@\"\n")
	tiny.Check(t, os.Chmod(other, 0o700))
	if out := become(static); out != "became run digits\n" {
		t.Errorf("found %q", out)
	}
	// It does not become itself again and again, when somebody gives it the other one's name.
	tiny.Check(t, os.Rename(static, other))
	if out := become(other); !strings.HasSuffix(out, none) {
		t.Errorf("found %q, expected %q", out, none)
	}
}

// Only commands whose work can be shared are carried out by several ranks.
func TestRefuse(t *testing.T) {
	root := &cobra.Command{Use: "train"}
	commands := map[string]*cobra.Command{"train": root}
	for _, name := range []string{"run", "resume", "sweep", "describe", "version", "help", "completion", "data"} {
		c := &cobra.Command{Use: name}
		root.AddCommand(c)
		commands[name] = c
	}
	for parent, name := range map[string]string{"completion": "bash", "data": "fetch"} {
		c := &cobra.Command{Use: name}
		commands[parent].AddCommand(c)
		commands[name] = c
	}
	t.Setenv("OMPI_COMM_WORLD_RANK", "1")
	for size, refused := range map[string]string{"1": "", "2": "sweep describe data fetch"} {
		t.Setenv("OMPI_COMM_WORLD_SIZE", size)
		for name, c := range commands {
			want := strings.Contains(refused, name)
			if err := refuseRanks(c); (err != nil) != want {
				t.Errorf("%s as one of %s: found %v, expected an error: %v", name, size, err, want)
			}
		}
	}
}
