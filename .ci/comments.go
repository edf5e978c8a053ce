//go:build ignore

// Comments finds comments that name what does not exist, from the root of a checkout: `go run
// .ci/comments.go`. A link in brackets has to be declared in its package or in the one that it
// names, tests included. A doc comment that begins with a small letter, or with a name such as
// TheOther, begins with the name of what it is about; those of tests are sentences.
package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// link matches a link in brackets: a name with a capital letter, or with dots.
var link = regexp.MustCompile(`\[\*?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,2})\](?:[^(\w\[]|$)`)

// sources are the files of a folder and what they declare: T, T.Method, T.Field.
type sources struct {
	files    []*ast.File
	declared map[string]bool
}

func main() {
	places, folders := token.NewFileSet(), map[string]*sources{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		f, err := parser.ParseFile(places, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		if folders[dir] == nil {
			folders[dir] = &sources{declared: map[string]bool{}}
		}
		folders[dir].files = append(folders[dir].files, f)
		for _, d := range f.Decls {
			folders[dir].declare(d)
		}
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	found := false
	report := func(at token.Pos, format string, args ...any) {
		found = true
		fmt.Printf("%s: %s\n", places.Position(at), fmt.Sprintf(format, args...))
	}
	for _, s := range folders {
		for _, f := range s.files {
			for _, group := range f.Comments {
				for _, m := range link.FindAllStringSubmatch(group.Text(), -1) {
					if !s.resolves(m[1], f, folders) {
						report(group.Pos(), "a comment links [%s], expected something that is declared", m[1])
					}
				}
			}
			for _, d := range f.Decls {
				name, doc := documented(d)
				first, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
				if first = strings.TrimRight(first, ",.:;"); name != "" && first != name && isName.MatchString(first) && !strings.HasPrefix(name, "Test") {
					report(doc.Pos(), "the comment of %s begins with %s", name, first)
				}
			}
		}
	}
	if found {
		os.Exit(1)
	}
}

// isName matches a word that begins no sentence: small, or with a capital behind a small letter.
var isName = regexp.MustCompile(`^([a-z]\w*|\w*[a-z]\w*[A-Z]\w*)$`)

// documented returns the name that a declaration's comment is about, and the comment.
func documented(d ast.Decl) (string, *ast.CommentGroup) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name, d.Doc
	case *ast.GenDecl:
		if len(d.Specs) == 1 {
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				return s.Name.Name, d.Doc
			case *ast.ValueSpec:
				return s.Names[0].Name, d.Doc
			}
		}
	}
	return "", nil
}

func (s *sources) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		s.declared[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					s.declared[n.Name] = true
				}
			case *ast.TypeSpec:
				s.declared[spec.Name.Name] = true
				fields := new(ast.FieldList)
				switch t := spec.Type.(type) {
				case *ast.StructType:
					fields = t.Fields
				case *ast.InterfaceType:
					fields = t.Methods
				}
				for _, f := range fields.List {
					for _, n := range f.Names {
						s.declared[spec.Name.Name+"."+n.Name] = true
					}
					if len(f.Names) == 0 { // what an embedded type brings is not looked up
						s.declared[spec.Name.Name+".*"] = true
					}
				}
			}
		}
	}
}

// receiver returns the name of a method's type, without its pointer and its parameters.
func receiver(e ast.Expr) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(e), "*"), "[")
	return name
}

func (s *sources) has(name string) bool {
	owner, _, _ := strings.Cut(name, ".")
	return s.declared[name] || s.declared[owner+".*"] && owner != name
}

// resolves reports whether a link leads somewhere: to a declaration, or to a package outside the
// module that is of the standard library or that its file imports.
func (s *sources) resolves(name string, f *ast.File, folders map[string]*sources) bool {
	first, rest, dotted := strings.Cut(name, ".")
	if s.has(name) || !dotted && (!ast.IsExported(name) || len(name) < 2 || strings.Contains(name, "_")) {
		return true // or a set, a letter of a formula
	}
	if _, err := os.Stat(filepath.Join(build.Default.GOROOT, "src", first)); dotted && err == nil {
		return true
	}
	for _, i := range f.Imports {
		at, _ := strconv.Unquote(i.Path.Value)
		if base := path.Base(at); base != first && (i.Name == nil || i.Name.Name != first) {
			continue
		} else if !strings.HasPrefix(at, "dpsgd/") {
			return true
		}
	}
	for dir, other := range folders {
		if path.Base(dir) == first && (!dotted || other.has(rest)) {
			return true
		}
	}
	return false
}
