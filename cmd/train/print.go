package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// checkedWriter remembers the first error of standard output. Helps and progress are printed by code
// that has no use for errors; a command whose output is lost fails all the same, at its end, when a
// run has saved what it did.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("cannot write to standard output: %w", err)
	}
	return n, err
}

// printJSON writes a result as one object on one line of standard output, with --json alone.
func (a *app) printJSON(result any) error {
	if !a.json {
		return nil
	}
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", line)
	return err
}

// print writes a result: as one object with --json, else the text for people.
func (a *app) print(result any, text func(w io.Writer)) error {
	if a.json {
		return a.printJSON(result)
	}
	var b bytes.Buffer
	text(&b)
	_, err := a.out.Write(b.Bytes())
	return err
}

// warn writes one line about something that did not stop the command; nothing for "".
func (a *app) warn(message string) {
	if message != "" {
		fmt.Fprintln(a.err, "train: WARNING:", message)
	}
}

func isTerminal(w io.Writer) bool {
	if c, ok := w.(*checkedWriter); ok {
		w = c.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// duration writes seconds for people: 4s, 3m20s, 2h05m.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return d.String()
}

// count writes a number with thousands separated.
func count(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", count(n/1000), n%1000)
}

// short writes a rate in at most four characters or so.
func short(rate float64) string {
	if rate >= 10000 {
		return fmt.Sprintf("%.0fk", rate/1000)
	}
	return fmt.Sprintf("%.0f", rate)
}

// megabytes writes a size in MiB.
func megabytes(bytes int) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// cut shortens a text to a width, for lines that must not wrap.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}
