//go:build ignore

// Mutants breaks the code on purpose, one fault at a time, and expects a test to notice each, from
// the root of a checkout:
//
//	go run .ci/mutants.go                   all of .ci/mutants.txt
//	go run .ci/mutants.go NAME...           these
//	go run .ci/mutants.go -changed COMMIT   those whose files or tests differ from the merge base with a
//	                                        commit; where git knows of none, the few named small
//
// It fails if a mutant survives its test or does not apply any more, and if a test does not pass
// without the mutant. The tree stays as it is: each worker has a copy.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutant is one fault: in a file, what stands there once is replaced.
type mutant struct {
	name, file, old, new string
	pkg, test            string // that must fail; the test "build" stands for code that must not compile
	fault                string // in words
	small                bool   // one of the few that stand for all
}

// equivalent stands in the place of the package where no test can notice; the words say why.
const equivalent = "EQUIVALENT"

// list reads .ci/mutants.txt. An entry is
//
//	NAME FILE PACKAGE TEST [small]
//	what is wrong
//	- old line
//	+ new line
//
// with as many lines of either as it takes.
func list(text string) (all []mutant, err error) {
	for _, entry := range strings.Split(text, "\n\n") {
		var m mutant
		var old, new []string
		for _, line := range strings.Split(strings.Trim(entry, "\n"), "\n") {
			head, rest, _ := strings.Cut(line, " ")
			switch {
			case strings.HasPrefix(line, "#"):
			case head == "-":
				old = append(old, rest)
			case head == "+":
				new = append(new, rest)
			case m.name == "":
				f := append(strings.Fields(line), "", "", "", "", "")
				m.name, m.file, m.pkg, m.test, m.small = f[0], f[1], f[2], f[3], f[4] == "small"
			default:
				m.fault = strings.TrimSpace(m.fault + " " + line)
			}
		}
		m.old, m.new = strings.Join(old, "\n"), strings.Join(new, "\n")
		if m.name == "" && len(old) == 0 {
			continue // comments
		}
		known := slices.ContainsFunc(all, func(o mutant) bool { return o.name == m.name })
		if known || m.name == "" || m.fault == "" || m.old == "" || m.test == "" && m.pkg != equivalent {
			return nil, fmt.Errorf("found the entry %q, expected a new name, a file, a test, a fault and what to replace", entry)
		}
		all = append(all, m)
	}
	return all, nil
}

// applied returns the file below root with the fault in it.
func (m mutant) applied(root string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, fmt.Errorf("%s does not apply: %w", m.name, err)
	}
	if n := bytes.Count(content, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s does not apply: found %q %d times in %s, expected it once", m.name, m.old, n, m.file)
	}
	return bytes.Replace(content, []byte(m.old), []byte(m.new), 1), nil
}

// chosen returns the mutants that flags and arguments ask for.
func chosen(all []mutant, changed string, names []string) ([]mutant, error) {
	if len(names) > 0 {
		return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !slices.Contains(names, m.name) }), nil
	}
	if changed == "" {
		return all, nil
	}
	base, err := exec.Command("git", "merge-base", changed, "HEAD").Output()
	var files []string
	if err == nil {
		var diff []byte
		diff, err = exec.Command("git", "diff", "--name-only", strings.TrimSpace(string(base))).Output()
		files = strings.Fields(string(diff))
	}
	if len(files) == 0 {
		fmt.Printf("git knows nothing that differs from %s; the small ones stand for all\n", changed)
		return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !m.small }), nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool {
		return !slices.ContainsFunc(files, func(f string) bool {
			return f == m.file || strings.HasSuffix(f, "_test.go") && path.Dir(f) == path.Clean(m.pkg)
		})
	}), err
}

// copyTree copies what git tracks, or would track, to a new folder.
func copyTree() (string, error) {
	root, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", err
	}
	files, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	for _, name := range strings.Split(strings.Trim(string(files), "\x00"), "\x00") {
		content, unread := os.ReadFile(name)
		if unread != nil {
			continue // deleted, or a link to what is not here
		}
		to := filepath.Join(root, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, content, 0o700))
	}
	return root, err
}

// test runs tests of a package in a copy and returns what they print.
func test(root, pkg, tests string) (string, error) {
	c := exec.Command("go", "test", "-vet=off", "-timeout=2m", "-v", "-run", "^("+tests+")$", pkg)
	c.Dir, c.Env = root, append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := c.CombinedOutput()
	return string(out), err
}

// passes returns an error unless the tests of the mutants pass, and are not skipped, without them.
func passes(root string, mutants []mutant) error {
	tests := map[string][]string{}
	for _, m := range mutants {
		if m.pkg != equivalent && m.test != "build" && !slices.Contains(tests[m.pkg], m.test) {
			tests[m.pkg] = append(tests[m.pkg], m.test)
		}
	}
	for pkg, names := range tests {
		out, _ := test(root, pkg, strings.Join(names, "|"))
		for _, name := range names {
			if !strings.Contains(out, "--- PASS: "+name+" ") {
				return fmt.Errorf("%s of %s does not pass without a mutant, or is skipped:\n%s", name, pkg, tail(out))
			}
		}
	}
	return nil
}

// try returns an error if the mutant survives.
func (m mutant) try(root string) error {
	path := filepath.Join(root, m.file)
	original, _ := os.ReadFile(path)
	broken, err := m.applied(root)
	if err == nil {
		err = os.WriteFile(path, broken, 0o700)
	}
	if err != nil {
		return err
	}
	defer os.WriteFile(path, original, 0o700)
	out, failed := test(root, m.pkg, m.test)
	built := !strings.Contains(out, "[build failed]")
	switch {
	case m.test == "build" && !built:
		return nil
	case m.test == "build":
		return fmt.Errorf("%s builds: %s", m.name, m.fault)
	case !built:
		return fmt.Errorf("%s does not build, which is no test:\n%s", m.name, tail(out))
	case failed == nil:
		return fmt.Errorf("%s SURVIVES %s of %s: %s", m.name, m.test, m.pkg, m.fault)
	}
	return nil
}

func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// report tries mutants in one copy, tells about each, and sends what survives.
func report(root string, next <-chan mutant, failures chan<- error) {
	for m := range next {
		begun := time.Now()
		if m.pkg == equivalent {
			fmt.Printf("equivalent    %-36s %s\n", m.name, m.file)
		} else if err := m.try(root); err != nil {
			fmt.Println(err)
			failures <- err
		} else {
			fmt.Printf("killed %5.1f s %-36s %s %s\n", time.Since(begun).Seconds(), m.name, m.pkg, m.test)
		}
	}
}

func run(changed string, workers int, names []string) error {
	text, err := os.ReadFile(".ci/mutants.txt")
	all, wrong := list(string(text))
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	for _, m := range all {
		if _, err := m.applied("."); err != nil {
			return err
		}
	}
	mutants, err := chosen(all, changed, names)
	if err != nil || len(mutants) == 0 {
		fmt.Printf("none of %d mutants was asked for; all of them apply\n", len(all))
		return err
	}
	fmt.Printf("%d of %d mutants\n", len(mutants), len(all))
	next, failures := make(chan mutant), make(chan error, len(mutants))
	var group sync.WaitGroup
	for worker := range min(workers, len(mutants)) {
		root, err := copyTree()
		defer os.RemoveAll(root)
		if err == nil && worker == 0 {
			err = passes(root, mutants)
		}
		if err != nil {
			return err
		}
		group.Go(func() { report(root, next, failures) })
	}
	for _, m := range mutants {
		next <- m
	}
	close(next)
	group.Wait()
	if n := len(failures); n > 0 {
		err = fmt.Errorf("%d of %d mutants were not killed", n, len(mutants))
	}
	return err
}

func main() {
	changed := flag.String("changed", "", "try those whose files or tests changed since the merge base with this `commit`")
	workers := flag.Int("workers", runtime.NumCPU(), "how many are tried at a time")
	flag.Parse()
	if err := run(*changed, *workers, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
