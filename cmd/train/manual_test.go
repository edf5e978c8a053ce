package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"dpsgd/internal/tiny"
)

// example is a command with everything that a page shows.
func example() *cobra.Command {
	top := &cobra.Command{Use: "top", Short: "Do things"}
	c := &cobra.Command{
		Use: "low RUN", Short: "Do one thing \\ at ε", Example: "  top low runs/a -x",
		Long: "First ε.\n.hidden is no request\n\nTable:\n  1    one\n  2    two\n\n'quoted' too.", Run: func(*cobra.Command, []string) {},
	}
	c.Flags().Int("count", 1, "how often")
	top.AddCommand(c, &cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}})
	return top
}

// Each command that can be seen has its page, and no text of it is taken for a request.
func TestPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	files, err := writeManual(example(), dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%q (%v), expected two pages", files, err)
	}
	content := []byte(tiny.Read(t, filepath.Join(dir, "top-low.1")))
	want := `.TH "TOP-LOW" 1 "" "" "top manual"
.SH NAME
top\-low \- Do one thing \e at ε
.SH SYNOPSIS
.B top low RUN [flags]
.SH DESCRIPTION
.PP
First ε.
\&.hidden is no request
.PP
Table:
.PP
.nf
  1    one
  2    two
.fi
.PP
\&'quoted' too.
.SH EXAMPLES
.PP
.nf
  top low runs/a \-x
.fi
.SH OPTIONS
.PP
.nf
      \-\-count int   how often (default 1)
  \-h, \-\-help        help for low
.fi
.SH SEE ALSO
.BR top (1)
`
	if string(content) != want {
		t.Errorf("the page is\n%s\nexpected\n%s", content, want)
	}
}

// groff, where it is there, has nothing to complain about.
func TestPagesAreClean(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff on this machine")
	}
	files, err := writeManual(example(), t.TempDir())
	tiny.Check(t, err)
	out, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-Kutf8", "-ww", "-z"}, files...)...).CombinedOutput()
	if err != nil && strings.Contains(string(out), "preconv") {
		t.Skip("groff is not whole on this machine")
	}
	if err != nil || len(out) > 0 {
		t.Errorf("groff says %s (%v)", out, err)
	}
}
