//go:build mpi

package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dpsgd/internal/mpi"
	"dpsgd/internal/mpi/mpitest"
)

// task is the variable that makes the test binary a rank that does this.
const task = "DPSGD_TEST_RANK"

func TestMain(m *testing.M) {
	if name := os.Getenv(task); name != "" {
		if err := tasks[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tasks are what ranks do.
var tasks = map[string]func() error{
	"talk": func() error { return joined(mpitest.Talk) },
	"late": func() error {
		return joined(found(func(g mpi.Group) error { return mpitest.Late(g, time.Second) }))
	},
	"unequal": func() error { return joined(found(mpitest.Unequal)) },
	"stopped": func() error { return joined(found(stopped)) },
	"wait":    func() error { return joined(wait) },
	"panic":   func() error { return joined(panics) },
	"error":   func() error { return joined(mpi.Misdirect) },
	"library": func() error { _, err := mpi.Join(); return err },
}

// joined does something in the group, and leaves it.
func joined(do func(mpi.Group) error) error {
	g, err := mpi.Join()
	if err != nil {
		return err
	}
	return errors.Join(do(g), g.Close())
}

// found has rank 0 print whether it has found what it looks for, and end all ranks with status 3.
func found(find func(mpi.Group) error) func(mpi.Group) error {
	return func(g mpi.Group) error {
		err := find(g)
		if g.Rank() > 0 {
			time.Sleep(time.Minute)
			return errors.New("found that Abort of rank 0 has not ended this one")
		}
		fmt.Println("found:", err)
		g.Abort(3)
		return errors.New("found that Abort came back")
	}
}

// stopped has the last rank stop while it waits for rank 0, as a machine without memory does. Rank 0
// speaks, so long that somebody has to listen, or sums: others that the last one holds up are not lost.
func stopped(g mpi.Group) error {
	if err := g.Reduce([]int64{1}, time.Second); err != nil {
		return err
	}
	if g.Rank() == g.Size()-1 {
		time.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) })
	}
	if g.Rank() == 0 {
		time.Sleep(500 * time.Millisecond)
	}
	err := g.Broadcast(make([]byte, 1<<20))
	if err == nil {
		err = g.Reduce([]int64{1}, time.Second)
	}
	if g.Rank() > 0 {
		return err
	}
	return mpitest.NamesLast(g, err)
}

// wait says which process it is, waits for a signal that Go gets to see, and says that.
func wait(g mpi.Group) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("rank %d is process %d\n", g.Rank(), os.Getpid())
	fmt.Printf("rank %d heard %v\n", g.Rank(), <-signals)
	return g.Broadcast(nil)
}

// panics reads what is not there, which Go makes a panic of if the signal reaches it.
func panics(g mpi.Group) (err error) {
	defer func() { err = fmt.Errorf("found: %v", recover()) }()
	var nothing *int
	return fmt.Errorf("found %d", *nothing)
}

// launcher is a program that starts ranks.
type launcher struct {
	command string
	openMPI bool
}

// launchers are those of this machine, by Debian's names and by the usual one, or the one that a
// variable names, whose library DPSGD_MPI may.
func launchers(t *testing.T) map[string]launcher {
	t.Helper()
	commands := []string{"mpirun.openmpi", "mpirun.mpich", "mpirun"}
	if command := os.Getenv("DPSGD_TEST_MPIRUN"); command != "" {
		commands = []string{command}
	}
	found := map[string]launcher{}
	for _, command := range commands {
		text, err := exec.Command(command, "--version").CombinedOutput()
		name := "Open MPI"
		switch {
		case errors.Is(err, exec.ErrNotFound):
			continue
		case strings.Contains(string(text), "HYDRA"), strings.Contains(string(text), "Intel(R) MPI"):
			name = "MPICH"
		}
		if _, known := found[name]; !known {
			found[name] = launcher{command, name == "Open MPI"}
		}
	}
	if len(found) == 0 {
		t.Skipf("skipped: found none of %s", strings.Join(commands, ", "))
	}
	return found
}

// start is the command that runs a task as so many ranks.
func (l launcher) start(ctx context.Context, ranks int, name string) *exec.Cmd {
	arguments := []string{"-n", strconv.Itoa(ranks), os.Args[0]}
	if l.openMPI {
		arguments = append([]string{"--map-by", ":OVERSUBSCRIBE"}, arguments...)
	}
	c := exec.CommandContext(ctx, l.command, arguments...)
	c.Env = append(os.Environ(), task+"="+name, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	return c
}

// run is start to the end, with what ranks print.
func (l launcher) run(t *testing.T, ranks int, name string, environment ...string) (out string, status int) {
	t.Helper()
	c := l.start(t.Context(), ranks, name)
	c.Env = append(c.Env, environment...)
	text, err := c.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), c.ProcessState.ExitCode()
}

func TestTalk(t *testing.T) {
	for name, l := range launchers(t) {
		for _, ranks := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, ranks), func(t *testing.T) {
				if out, status := l.run(t, ranks, "talk"); status != 0 {
					t.Errorf("found status %d:\n%s", status, out)
				}
			})
		}
	}
}

// Rank 0 says who does not bring a part, who brings another number of values, and who has stopped
// since; and ends everybody with its status.
func TestLost(t *testing.T) {
	for name, l := range launchers(t) {
		for task, sizes := range map[string][]int{"late": {2, 4}, "unequal": {4}, "stopped": {4}} {
			for _, ranks := range sizes {
				t.Run(fmt.Sprintf("%s/%s/%d", name, task, ranks), func(t *testing.T) {
					began := time.Now()
					out, status := l.run(t, ranks, task)
					if !strings.Contains(out, "found: <nil>\n") || status != 3 {
						t.Errorf("found status %d after %v:\n%s", status, time.Since(began), out)
					}
				})
			}
		}
	}
}

// Go sees the signals that it lives by, also those that libraries like to take.
func TestSignals(t *testing.T) {
	for name, l := range launchers(t) {
		t.Run(name, func(t *testing.T) {
			if out, status := l.run(t, 1, "panic"); !strings.Contains(out, "nil pointer dereference") || status != 1 {
				t.Errorf("found status %d:\n%s", status, out)
			}
			for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
				c, pids, out := l.waiting(t, 2, "wait")
				for _, pid := range pids {
					_ = syscall.Kill(pid, s)
				}
				if err := c.Wait(); err != nil || strings.Count(out.String(), "heard "+s.String()) != 2 {
					t.Errorf("found %v:\n%s", err, out)
				}
			}
		})
	}
}

// Of a launcher that is killed no rank stays.
func TestOrphans(t *testing.T) {
	for name, l := range launchers(t) {
		t.Run(name, func(t *testing.T) {
			c, pids, out := l.waiting(t, 2, "wait")
			_ = c.Process.Kill()
			_ = c.Wait()
			for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
				alive := 0
				for _, pid := range pids {
					if running(pid) {
						alive++
					}
				}
				if alive == 0 {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("found %d of %d ranks alive:\n%s", alive, len(pids), out)
				}
			}
		})
	}
}

// running says whether a process is there and no zombie, whom its new parent may leave lying about.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// waiting starts a task and returns when all ranks have said which processes they are.
func (l launcher) waiting(t *testing.T, ranks int, name string) (c *exec.Cmd, pids []int, out *lines) {
	t.Helper()
	c, out = l.start(t.Context(), ranks, name), new(lines)
	c.Stdout, c.Stderr = out, out
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`is process (\d+)`)
	for deadline := time.Now().Add(3 * time.Minute); len(pids) < ranks; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("found %d of %d ranks:\n%s", len(pids), ranks, out)
		}
		pids = nil
		for _, found := range said.FindAllStringSubmatch(out.String(), -1) {
			pid, _ := strconv.Atoi(found[1])
			pids = append(pids, pid)
		}
	}
	return c, pids, out
}

// lines is what processes print while somebody reads it.
type lines struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// What does not fit is said in one line: what was found, what was expected, what to do.
func TestWrongLibrary(t *testing.T) {
	all := launchers(t)
	files := map[string]string{"Open MPI": "libmpich.so.12", "MPICH": "libmpi.so.40"} // each other's
	for name, l := range all {
		t.Run(name, func(t *testing.T) {
			cases := map[string]string{
				"libnothing.so.1": "found no MPI library (libnothing.so.1: cannot open shared object file: No such file or directory), expected libnothing.so.1: mend DPSGD_MPI",
				"libm.so.6":       "mpi: libm.so.6: found no symbol MPI_",
			}
			if len(all) == 2 {
				cases[files[name]] = "found a group of 1, expected the 2 ranks that " + map[string]string{"Open MPI": "Open MPI's mpirun", "MPICH": "MPICH's mpiexec"}[name] + " started"
			}
			for file, want := range cases {
				out, status := l.run(t, 2, "library", "DPSGD_MPI="+file)
				if !strings.Contains(out, want) || status == 0 {
					t.Errorf("%s: found status %d and %q, expected %q", file, status, out, want)
				}
			}
		})
	}
}

// An error of the library has its words.
func TestErrorOfMPI(t *testing.T) {
	for name, l := range launchers(t) {
		t.Run(name, func(t *testing.T) {
			out, status := l.run(t, 1, "error")
			if !strings.Contains(out, "mpi: MPI_Send of "+name) || !strings.Contains(strings.ToLower(out), "invalid rank") || status != 1 {
				t.Errorf("found status %d:\n%s", status, out)
			}
		})
	}
}
