package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"

	"github.com/spf13/cobra"
)

// pages are README.md and everything in docs, by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	root := os.DirFS("../..")
	files, err := fs.Glob(root, "docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d pages below docs (%v), expected some", len(files), err)
	}
	for _, name := range append(files, "README.md") {
		text, err := fs.ReadFile(root, name)
		tiny.Check(t, err)
		texts[name] = string(text)
	}
	return texts
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	inline     = regexp.MustCompile("`train ([^`]+)`")
	link       = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
)

// commandLines are those of the shell blocks of a page, without their comments.
func commandLines(page string) (lines []string) {
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		for _, line := range strings.Split(strings.ReplaceAll(block[1], "\\\n", " "), "\n") {
			line, _, _ = strings.Cut(line, " #")
			line = strings.Replace(strings.TrimSpace(line), "go run ./cmd/train", "train", 1)
			if line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// elsewhere begins command lines that this test does not run, because something else does or
// because they install what it must not.
var elsewhere = []string{"go ", "CGO_ENABLED=0 go ", "python ", "python3 ", "peers/", "benchstat ", "DPSGD_KERNEL=portable go ", "DPSGD_PICTURES=1000000 ", "./train-mpi ", "pip ", "docker ", "brew ", "sudo ", "make ", "tensorboard ", "cd ", "tar ", "source ", "mpirun ", "srun ", "sbatch ", "kubectl "}

// placeOfThePages makes the current folder one in which the commands of the pages find what they
// name.
func placeOfThePages(t *testing.T) {
	t.Helper()
	folder, err := filepath.Abs("../../configs")
	tiny.Check(t, err)
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Symlink(folder, "configs"))
	tiny.Write(t, "votes.csv", "241,1,1,1,1,1,1,1,1,1\n") // of 250 teachers
	texts := "text,label\n" + strings.Repeat("win a prize now,spam\nsee you at noon,ham\n", 1000)
	tiny.Check(t, os.Mkdir("my-texts", 0o755))
	tiny.Write(t, "my-texts/train.csv", texts)
	tiny.Write(t, "my-texts/test.csv", texts)
	tiny.Write(t, "new.txt", "win a prize\n")
	for _, folder := range []string{"pictures", "my-pictures"} {
		drawPictures(t, folder)
		for _, part := range []string{"train", "test"} { // the classes are cats and dogs here
			for from, to := range map[string]string{"up": "cat", "down": "dog"} {
				tiny.Check(t, os.Rename(filepath.Join(folder, part, from), filepath.Join(folder, part, to)))
			}
		}
	}
}

// standIn puts a script first on the path that is called train.
func standIn(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	tiny.Write(t, filepath.Join(bin, "train"), "#!/bin/sh\n"+script+"\n")
	tiny.Check(t, os.Chmod(filepath.Join(bin, "train"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// programLine is a line of a script that goes on as this program.
func programLine(t *testing.T) string {
	self, err := os.Executable()
	tiny.Check(t, err)
	return mainVariable + `=1 exec "` + self + `" "$@"`
}

// linesToTry are the commands of a page that nothing else tries.
func linesToTry(page string) []string {
	return slices.DeleteFunc(commandLines(page), func(line string) bool {
		return slices.ContainsFunc(elsewhere, func(p string) bool { return strings.HasPrefix(line, p) })
	})
}

// Every command of README.md and of the pages in docs is one that this program takes: the shell
// breaks it into words, there is such a command with such flags, arguments and values, and
// configurations that it trains by are valid. TestCommandsOfTheDocumentation carries them out.
func TestCommandsOfTheDocumentationAreTaken(t *testing.T) {
	skipWithoutSignals(t) // nor is there a shell
	said := filepath.Join(t.TempDir(), "said")
	standIn(t, `printf '%s\0' "$@" >>"`+said+`"; echo >>"`+said+`"`)
	texts := pages(t)
	placeOfThePages(t)
	tried := 0
	for name, page := range texts {
		for _, line := range linesToTry(page) {
			tiny.Check(t, os.RemoveAll(said))
			_ = exec.Command("sh", "-c", line).Run()
			content, err := os.ReadFile(said)
			if err != nil {
				t.Errorf("%s: %s: found no command of this program", name, line)
				continue
			}
			for words := range strings.SplitSeq(strings.TrimSuffix(string(content), "\x00\n"), "\x00\n") {
				tried++
				if err := taken(strings.Split(words, "\x00")); err != nil {
					t.Errorf("%s: %s: %v", name, line, err)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("found %d commands, expected more in so many pages", tried)
	}
}

// taken says why the program would not begin what a command line asks for.
func taken(words []string) error {
	if err := parses(words); err != nil {
		return err
	}
	c, err := parsed(words)
	if err != nil {
		return err
	}
	config := c.Flags().Arg(0)
	if usual, trains := trainsBy[c.Name()]; !trains {
		return nil
	} else if config == "" {
		config = usual
	} else if file, err := os.Stat(config); strings.HasSuffix(config, ".yaml") && (err != nil || file.Size() == 0) {
		return nil // an earlier command writes it
	}
	_, err = configs.Load(config, *c.Flags().Lookup("set").Value.(*overrides))
	return err
}

// parsed is the command of a command line, with its flags and arguments.
func parsed(words []string) (*cobra.Command, error) {
	c, rest, err := root(&shell.App{}).Find(words)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	return c, err
}

// trainsBy are commands that train by a configuration, with the one that each takes where none is
// named.
var trainsBy = map[string]string{"run": configs.DefaultPreset, "describe": configs.DefaultPreset, "federated": "federated-digits", "pate": "pate-digits"}

// Every command of README.md and of the pages in docs does what it is written for. Training is cut
// to a few steps, work without an end is interrupted once it has begun, and data sets that have to
// be downloaded may be missing; nothing else may fail.
func TestCommandsOfTheDocumentation(t *testing.T) {
	skipWithoutSignals(t)
	slow.Evidence(t)
	hearSignals(t)
	standIn(t, programLine(t))
	t.Setenv("DPSGD_DATA", filepath.Join(t.TempDir(), "no-datasets"))
	for name, page := range pages(t) {
		t.Run(name, func(t *testing.T) {
			placeOfThePages(t)
			succeed(t, "run", "digits", "--set", "training.steps=2")
			for _, line := range linesToTry(page) {
				runLine(t, line)
			}
		})
	}
}

// runLine runs one command line of a page.
func runLine(t *testing.T, line string) {
	t.Helper()
	line = strings.NewReplacer("HASH", headOfTheLedger(t), "RUN", "runs/digits-1").Replace(line)
	if strings.HasPrefix(line, "train serve") {
		line += " --address 127.0.0.1:0" // another program may listen on the usual port
	}
	endless := strings.HasPrefix(line, "train sweep") || strings.HasPrefix(line, "train serve") || strings.Contains(line, "--serve")
	switch {
	case (strings.HasPrefix(line+" ", "train run ") || strings.HasPrefix(line+" ", "train federated ")) && !strings.Contains(line, "training."):
		line += " --set training.steps=2"
	case strings.HasPrefix(line, "train pate ") && !strings.Contains(line, "--votes"): // which trains nothing
		line += " --set training.steps=2 --set pate.teachers=20 --set pate.threshold=10"
	case strings.Contains(line, "train bench"), strings.HasPrefix(line, "train plan"):
		line += " --seconds 0.1"
	}
	var out said
	c := exec.Command("sh", "-c", "exec "+strings.Replace(line, "DPSGD_KERNEL=avx2 ", "", 1))
	c.Stdout, c.Stderr = &out, &out
	if endless {
		out.first = func() { _ = c.Process.Signal(os.Interrupt) }
	}
	err := c.Run()
	code := c.ProcessState.ExitCode()
	// Data sets and the weights of other programs are not at hand here.
	missing := code == shell.ExitData && strings.Contains(out.text.String(), "train data fetch") || strings.Contains(out.text.String(), " resnet18.safetensors: no such file")
	switch {
	case err == nil, missing, endless && (code == 130 || code == shell.ExitDone):
	default:
		t.Errorf("%s: exit code %d (%v)\n%s", line, code, err, out.text.String())
	}
}

// said is what a command says, and what to do at its first word.
type said struct {
	text  strings.Builder
	first func() // nil for nothing
}

func (s *said) Write(b []byte) (int, error) {
	if s.first != nil && s.text.Len() == 0 {
		s.first()
	}
	return s.text.Write(b)
}

// headOfTheLedger is what `train ledger show` prints at its end.
func headOfTheLedger(t *testing.T) string {
	head, _ := lastLine(t, succeed(t, "ledger", "show", "--json"))["head"].(string)
	return head
}

// Every command that a page names in passing has its flags.
func TestCommandsInPassing(t *testing.T) {
	for name, page := range pages(t) {
		for _, found := range inline.FindAllStringSubmatch(page, -1) {
			if err := parses(strings.Fields(found[1])); err != nil {
				t.Errorf("%s: `train %s`: %v", name, found[1], err)
			}
		}
	}
}

// parses says whether there is such a command with such flags.
func parses(words []string) error {
	c, rest, err := root(&shell.App{}).Find(words)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	if !c.HasParent() && words[0] != "help" && !strings.HasPrefix(words[0], "-") {
		return fmt.Errorf("found %q, expected a command", words[0])
	}
	for _, word := range rest {
		flag, isFlag := strings.CutPrefix(word, "--")
		flag, _, _ = strings.Cut(flag, "=")
		if isFlag && c.Flags().Lookup(flag) == nil && c.InheritedFlags().Lookup(flag) == nil {
			return fmt.Errorf("found --%s, expected a flag of %s", flag, c.CommandPath())
		}
	}
	return nil
}

// Links between pages lead to files that are there.
func TestLinksOfTheDocumentation(t *testing.T) {
	for name, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(page, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target := filepath.Join("../..", filepath.Dir(name), found[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, found[1], err)
			}
		}
	}
}

// The ten questions have a page each, and a command whose help answers in one step.
func TestTenQuestions(t *testing.T) {
	questions := strings.Split(pages(t)["docs/faq.md"], "\n**")[1:]
	same(t, "number of questions", len(questions), 10)
	for _, q := range questions {
		title, _, _ := strings.Cut(q, "**")
		_, where, found := strings.Cut(q, "→")
		if !found || !link.MatchString(where) && !strings.Contains(where, "](#") || !strings.Contains(where, "--help`") {
			t.Errorf("%s: found %q, expected a page and a command with --help", title, where)
		}
	}
}
