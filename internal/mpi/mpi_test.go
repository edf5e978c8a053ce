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
		return joined(found(func(g mpi.Group) error { return mpitest.Late(g, 3*time.Second) }))
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

// stopped has the last rank stop while it waits for rank 0, as a machine without memory does. Rank
// 0 speaks, so long that somebody has to listen, or sums: others that the last one holds up are not
// lost.
func stopped(g mpi.Group) error {
	if err := g.Reduce([]int64{1}, time.Minute); err != nil {
		return err
	}
	if g.Rank() == g.Size()-1 {
		time.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) })
	}
	if g.Rank() == 0 {
		time.Sleep(2 * time.Second)
	}
	err := g.Broadcast(make([]byte, 1<<20))
	if err == nil {
		err = g.Reduce([]int64{1}, 5*time.Second)
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

// start is the command that runs a task as so many ranks.
func start(ctx context.Context, l mpitest.Launcher, ranks int, name string) *exec.Cmd {
	c := l.Start(ctx, mpitest.Part{Ranks: ranks, Command: []string{os.Args[0]}})
	c.Env = append(c.Env, task+"="+name)
	return c
}

// run is start to the end, with what ranks print.
func run(t *testing.T, l mpitest.Launcher, ranks int, name string, environment ...string) (out string, status int) {
	t.Helper()
	c := start(t.Context(), l, ranks, name)
	c.Env = append(c.Env, environment...)
	text, err := c.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), c.ProcessState.ExitCode()
}

// each runs a test with each launcher of this machine.
func each(t *testing.T, test func(t *testing.T, l mpitest.Launcher)) {
	for _, l := range mpitest.Launchers(t) {
		t.Run(l.Name, func(t *testing.T) { test(t, l) })
	}
}

func TestTalk(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		for _, ranks := range []int{1, 2, 4} {
			if out, status := run(t, l, ranks, "talk"); status != 0 {
				t.Errorf("%d ranks: found status %d:\n%s", ranks, status, out)
			}
		}
	})
}

// Rank 0 says who does not bring a part, who brings another number of values, and who has stopped
// since; and ends everybody with its status.
func TestLost(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		for task, sizes := range map[string][]int{"late": {2, 4}, "unequal": {4}, "stopped": {4}} {
			for _, ranks := range sizes {
				if out, status := run(t, l, ranks, task); !strings.Contains(out, "found: <nil>\n") || status != 3 {
					t.Errorf("%s of %d: found status %d:\n%s", task, ranks, status, out)
				}
			}
		}
	})
}

// Go sees the signals that it lives by, also those that libraries like to take.
func TestSignals(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		if out, status := run(t, l, 1, "panic"); !strings.Contains(out, "nil pointer dereference") || status != 1 {
			t.Errorf("found status %d:\n%s", status, out)
		}
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			c, pids, out := waiting(t, l, 2, "wait")
			for _, pid := range pids {
				_ = syscall.Kill(pid, s)
			}
			if err := c.Wait(); err != nil || strings.Count(out.String(), "heard "+s.String()) != 2 {
				t.Errorf("found %v:\n%s", err, out)
			}
		}
	})
}

// Of a launcher that is killed no rank stays.
func TestOrphans(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		c, pids, out := waiting(t, l, 2, "wait")
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
func waiting(t *testing.T, l mpitest.Launcher, ranks int, name string) (c *exec.Cmd, pids []int, out *lines) {
	t.Helper()
	c, out = start(t.Context(), l, ranks, name), new(lines)
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
	all := mpitest.Launchers(t)
	files := map[string]string{"Open MPI": "libmpich.so.12", "MPICH": "libmpi.so.40"} // each other's
	each(t, func(t *testing.T, l mpitest.Launcher) {
		cases := map[string]string{
			"libnothing.so.1": "found no MPI library (libnothing.so.1: cannot open shared object file: No such file or directory), expected libnothing.so.1: mend DPSGD_MPI",
			"libm.so.6":       "mpi: libm.so.6: found no symbol MPI_",
		}
		if len(all) == 2 {
			cases[files[l.Name]] = "found a group of 1, expected the 2 ranks that " + map[string]string{"Open MPI": "Open MPI's mpirun", "MPICH": "MPICH's mpiexec"}[l.Name] + " started"
		}
		for file, want := range cases {
			out, status := run(t, l, 2, "library", "DPSGD_MPI="+file)
			if !strings.Contains(out, want) || status == 0 {
				t.Errorf("%s: found status %d and %q, expected %q", file, status, out, want)
			}
		}
	})
}

// An error of the library has its words.
func TestErrorOfMPI(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		out, status := run(t, l, 1, "error")
		if !strings.Contains(out, "mpi: MPI_Send of "+l.Name) || !strings.Contains(strings.ToLower(out), "invalid rank") || status != 1 {
			t.Errorf("found status %d:\n%s", status, out)
		}
	})
}
