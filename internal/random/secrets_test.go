package random_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// root is the module's folder.
const root = "../.."

// foreign are the files, or folders, that take random numbers from elsewhere, and what for. No
// guarantee rests on any of them.
var foreign = map[string]string{
	"checkpoints/files.go":           "names of temporary files, identifiers of data sets",
	"data/clients_split.go":          "clients of a public data set, drawn by its seed",
	"data/digits.go":                 "pictures drawn by a seed",
	"features/cache.go":              "names of temporary files",
	"features/drawn.go":              "pictures drawn by a seed",
	"features/drawn_leaves.go":       "pictures drawn by a seed",
	"features/drawn_shapes.go":       "pictures drawn by a seed",
	"features/flatten_eigen.go":      "where an iteration starts",
	"features/patches_dictionary.go": "which drawn pictures are taken",
	"internal/attack/membership.go":  "which pairs an attack compares",
	"internal/attack/shadow.go":      "which half a shadow model is trained on, by its seed",
	"internal/books/witness.go":      "keys that sign heads of ledgers",
	"data/owners.go":                 "which of a person's examples are kept, by a public seed",
	"internal/random/":               "this package",
	"internal/ranks/orders.go":       "which examples ranks compare, by their secret salt",
	"internal/run/save.go":           "names of temporary folders",
	"internal/web/server.go":         "the token of a page",
}

// sources are all files of the module but tests, by their paths from the root.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if hidden := strings.HasPrefix(d.Name(), ".") && path != root; hidden || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	return files
}

// calls are the places in a file where a function of this package is called, or its name said.
func calls(f *ast.File, function string) (at []*ast.SelectorExpr) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == function {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "random" {
				at = append(at, s)
			}
		}
		return true
	})
	return at
}

// faults are the ways in which a file that is no test draws from something else than the system's
// randomness, keyed here.
func faults(path string, content []byte) (found []string) {
	f, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	for _, i := range f.Imports {
		switch name, _ := strconv.Unquote(i.Path.Value); {
		case name == "dpsgd/internal/random" && i.Name != nil:
			found = append(found, path+" gives package random another name, under which nobody would find its secrets")
		case slices.Contains([]string{"crypto/rand", "math/rand", "math/rand/v2"}, name) && !isForeign(path):
			found = append(found, path+" imports "+name+", expected package random")
		}
	}
	if len(calls(f, "ForTest")) > 0 {
		found = append(found, path+" makes a secret of a seed, expected random.New")
	}
	if bytes.Contains(content, []byte("//go:linkname")) {
		found = append(found, path+" links to what it may not import")
	}
	return found
}

func isForeign(path string) bool {
	for name := range foreign {
		if path == name || strings.HasSuffix(name, "/") && strings.HasPrefix(path, name) {
			return true
		}
	}
	return false
}

// Secrets are drawn from the system's randomness, keyed here, and from nothing else. A [Source]
// that is no test's comes from New: see that Seeded returns another type, which no secret draw
// takes.
func TestSecretsComeFromTheSystem(t *testing.T) {
	files, used := sources(t), map[string]bool{}
	for path, content := range files {
		for _, fault := range faults(path, content) {
			t.Error(fault)
		}
		used[path], used[filepath.ToSlash(filepath.Dir(path))+"/"] = true, true
	}
	for name := range foreign {
		if !used[name] {
			t.Errorf("%s is in the list of files that take random numbers from elsewhere, and is gone", name)
		}
	}
	for name, broken := range map[string]string{
		"a seed":       "package p\nimport \"dpsgd/internal/random\"\nvar Src = random.ForTest(1)\n",
		"its name":     "package p\nimport \"dpsgd/internal/random\"\nvar source = random.ForTest\n",
		"another name": "package p\nimport r \"dpsgd/internal/random\"\nvar src = r.ForTest(1)\n",
		"no name":      "package p\nimport . \"dpsgd/internal/random\"\nvar src = ForTest(1)\n",
		"math/rand":    "package p\nimport \"math/rand/v2\"\nvar x = rand.Uint64()\n",
		"crypto/rand":  "package p\nimport \"crypto/rand\"\nvar x = rand.Text()\n",
		"a link":       "package p\nimport _ \"unsafe\"\n\n//go:linkname keyed dpsgd/internal/random.keyed\nfunc keyed(key [32]byte) int\n",
	} {
		if len(faults("internal/sgd/answers.go", []byte(broken))) == 0 {
			t.Errorf("nothing is wrong with a secret from %s", name)
		}
	}
}

// harmless are the files in which a repeated source gives nothing away: no type holds them to it.
var harmless = []string{
	"model/dropout.go",               // masks, which may be public
	"internal/attack/sensitivity.go", // people who are drawn to be attacked
}

// Every place that makes a secret source, one at a time, made of a seed in one of two ways: with
// the type for public draws it does not build, and the type of tests is refused above.
func TestSecretsOfASeedAreNoticed(t *testing.T) {
	slow.Evidence(t)
	places := 0
	for path, content := range sources(t) {
		fset := token.NewFileSet()
		f := tiny.Must(parser.ParseFile(fset, path, content, parser.SkipObjectResolution))(t)
		for _, s := range calls(f, "New") {
			from, to := fset.Position(s.Pos()).Offset, fset.Position(s.End()).Offset+len("()")
			replaced := func(by string) []byte { return slices.Concat(content[:from], []byte(by), content[to:]) }
			where := fset.Position(s.Pos()).String()
			places++
			if len(faults(path, replaced("random.ForTest(1)"))) == 0 {
				t.Errorf("%s: nobody notices a source of tests", where)
			}
			if output, built := builds(t, path, replaced("random.Seeded(1)")); built != slices.Contains(harmless, path) || !built && !strings.Contains(output, "random.Public") {
				t.Errorf("%s: builds with a public source: %t; %s", where, built, output)
			} else {
				t.Logf("%s: random.ForTest is refused; random.Seeded: %s", where, output)
			}
		}
	}
	if places < 12 {
		t.Errorf("found %d places that make secrets, expected at least 12", places)
	}
}

// builds reports whether a file's package builds with other content of it, and what the compiler
// says.
func builds(t *testing.T, path string, content []byte) (output string, built bool) {
	t.Helper()
	dir := t.TempDir()
	other, overlay := filepath.Join(dir, "other.go"), filepath.Join(dir, "overlay.json")
	absolute := tiny.Must(filepath.Abs(filepath.Join(root, path)))(t)
	replace := tiny.Must(json.Marshal(map[string]any{"Replace": map[string]string{absolute: other}}))(t)
	for name, b := range map[string][]byte{other: content, overlay: replace} {
		tiny.Check(t, os.WriteFile(name, b, 0o600))
	}
	build := exec.Command("go", "build", "-overlay", overlay, "./"+filepath.ToSlash(filepath.Dir(path)))
	build.Dir = root
	all, err := build.CombinedOutput()
	return fmt.Sprintf("%q", bytes.TrimSpace(all)), err == nil
}
