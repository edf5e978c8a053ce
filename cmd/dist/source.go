package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// checkout is a clone of the commit that packages are made from: Go stamps the commit into programs
// that are built in it, also where the original is a linked worktree or has changes.
type checkout struct {
	dir   string // the clone; a change in it would be in the stamp
	built string // what is built from the clone
}

func clone(of string) (checkout, error) {
	changed, err := output(of, nil, "git", "status", "--porcelain")
	if err != nil {
		return checkout{}, fmt.Errorf("dist: found no git repository, expected one, which says what version the packages are: %w", err)
	}
	if changed != "" {
		fmt.Fprintln(os.Stderr, "dist: WARNING: there are changes that are not committed, which the packages do not have")
	}
	root, err := output(of, nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return checkout{}, err
	}
	temporary, err := os.MkdirTemp("", "dpsgd-dist-")
	if err != nil {
		return checkout{}, err
	}
	c := checkout{filepath.Join(temporary, "source"), filepath.Join(temporary, "built")}
	if _, err := output(of, nil, "git", "clone", "--quiet", root, c.dir); err != nil {
		c.remove()
		return checkout{}, err
	}
	return c, nil
}

func (c checkout) remove() { os.RemoveAll(filepath.Dir(c.dir)) }

func (c checkout) common() (Contents, error) {
	var all Contents
	for name, content := range map[string]*[]byte{
		"LICENSE": &all.Licence, "README.md": &all.Readme, "python/README.md": &all.PythonGuide,
	} {
		var err error
		if *content, err = os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name))); err != nil {
			return all, err
		}
	}
	here := platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	program, err := c.build(here, here.Program())
	if err != nil {
		return all, err
	}
	if all.Version, err = c.version(program); err != nil {
		return all, err
	}
	if all.Completions, err = c.completions(program); err != nil {
		return all, err
	}
	if all.Manual, err = c.manual(program); err != nil {
		return all, err
	}
	all.Python, err = files(filepath.Join(c.dir, "python", "dpsgd"), "*.py", "py.typed")
	return all, err
}

// contents returns common with the programs and licences of platform p, if the version is the same.
func (c checkout) contents(common Contents, p platform) (Contents, error) {
	program, err := c.build(p, p.Program())
	if err != nil {
		return common, err
	}
	version, err := c.version(program)
	if err != nil {
		return common, err
	}
	if version != common.Version {
		return common, fmt.Errorf("dist: found the version %s of the program for %s, expected %s", version, p, common.Version)
	}
	common.Platform, common.Modules = p, nil
	if err := common.addModules(program); err != nil {
		return common, err
	}
	if common.Program, err = os.ReadFile(program); err != nil {
		return common, err
	}
	if common.MPI = nil; p.MPI() {
		mpi, err := c.build(p, mpiProgram, "-tags=mpi")
		if err != nil {
			return common, err
		}
		if common.MPI, err = os.ReadFile(mpi); err != nil {
			return common, err
		}
		if err := common.addModules(mpi); err != nil {
			return common, err
		}
	}
	common.Licences, err = c.licences(p)
	return common, err
}

// build builds the program for a platform, the same bytes on any machine, and returns its path.
func (c checkout) build(p platform, name string, flags ...string) (string, error) {
	program := filepath.Join(c.built, p.OS+"_"+p.Arch, name)
	arguments := append([]string{"build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w", "-o", program}, flags...)
	_, err := output(c.dir, environment(p), "go", append(arguments, "./cmd/train")...)
	return program, err
}

// environment returns what sets the variables that Go would take from the machine that builds.
func environment(p platform) []string {
	return []string{"CGO_ENABLED=0", "GOOS=" + p.OS, "GOARCH=" + p.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="}
}

// version returns the version that Go stamped into the program in a file, with the commit's time.
func (c checkout) version(program string) (version, error) {
	built, err := buildinfo.ReadFile(program)
	if err != nil {
		return version{}, err
	}
	text, err := output(c.dir, nil, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return version{}, err
	}
	commit, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return version{}, err
	}
	return parseVersion(built.Main.Version, commit)
}

// completions returns the files that shells source, with the names that shells look for.
func (c checkout) completions(program string) ([]file, error) {
	var all []file
	for shell, name := range map[string]string{"bash": "train.bash", "zsh": "_train", "fish": "train.fish", "powershell": "train.ps1"} {
		text, err := output(c.dir, nil, program, "completion", shell)
		if err != nil {
			return nil, err
		}
		all = append(all, file{Name: name, Content: []byte(text + "\n")})
	}
	return all, nil
}

// manual returns the man pages that the program writes, one for each command.
func (c checkout) manual(program string) ([]file, error) {
	dir := filepath.Join(c.built, "man")
	if _, err := output(c.dir, nil, program, "man", dir); err != nil {
		return nil, err
	}
	return files(dir, "*.1")
}

func files(dir string, patterns ...string) ([]file, error) {
	var all []file
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("dist: found no %s in %s, expected at least one", pattern, dir)
		}
		for _, path := range found {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			all = append(all, file{Name: filepath.Base(path), Content: content})
		}
	}
	return all, nil
}

// output runs a command in a folder and returns what it prints, without spaces around it.
func output(dir string, environment []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), environment...)
	var failed strings.Builder
	c.Stderr = &failed
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("dist: %s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(failed.String()))
	}
	return strings.TrimSpace(string(text)), nil
}

// version names the source of a package.
type version struct {
	module string    // as Go writes it, such as v0.2.0 or v0.0.0-20260102030405-0123456789ab
	Time   time.Time // of the commit; the time of every file in a package
}

// The version of a module is a tag, or is derived from a commit that has none (go.dev/ref/mod,
// "Pseudo-versions").
var (
	ofTag    = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(?:alpha|beta|rc)\.\d+)?$`)
	ofCommit = regexp.MustCompile(`^v(\d+\.\d+\.\d+)-(?:0\.)?(\d{14})-([0-9a-f]{12})$`)
)

// parseVersion reads the version that Go stamps into a program which is built from a commit.
func parseVersion(module string, commit time.Time) (version, error) {
	if !ofTag.MatchString(module) && !ofCommit.MatchString(module) {
		return version{}, fmt.Errorf("dist: found the version %q, expected that of a tag such as v0.2.0 or v0.2.0-rc.1, or of a commit", module)
	}
	return version{module, commit.UTC()}, nil
}

// String returns the version for archives: 0.2.0, 0.2.0-rc.1, 0.0.0-20260102030405-0123456789ab.
func (v version) String() string { return v.module[1:] }

// python returns the version by PEP 440: 0.2.0, 0.2.0rc1, 0.0.0.dev20260102030405+g0123456789ab.
func (v version) python() string {
	if ofCommit.MatchString(v.module) {
		return ofCommit.ReplaceAllString(v.module, "$1.dev$2+g$3")
	}
	return strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(v.String())
}

// debian returns the version by deb-version(7), where ~ sorts before nothing: 0.2.0, 0.2.0~rc.1,
// 0.0.0~20260102030405.0123456789ab.
func (v version) debian() string {
	if ofCommit.MatchString(v.module) {
		return ofCommit.ReplaceAllString(v.module, "$1~$2.$3")
	}
	return strings.Replace(v.String(), "-", "~", 1)
}
