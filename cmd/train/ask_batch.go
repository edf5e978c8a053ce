package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"

	"github.com/spf13/cobra"
)

// batchHelp is for the help of the commands that read questions from standard input.
const batchHelp = `With --batch: one JSON object a line from standard input, as in the last example, answered in order by
the same object with the answer, lower, upper and seconds added, or error. Its keys: id, accountant, relation (with - or _),
group_size, phases or ledger ([{"event":…,"count":n}]), delta. lower is 0 where an accountant bounds from above only.`

// longestLine bounds what one question may take in memory.
const longestLine = 16 << 20

// answerLines answers the questions on standard input until it ends. A wrong line is answered too,
// with its error.
func answerLines(a *shell.App, c *cobra.Command, args []string, unknown account.Unknown) error {
	extra := shell.GivenFlag(c, func(name string) bool { return name != "batch" && name != "json" })
	if len(args) > 0 {
		extra = args[0]
	}
	if extra != "" {
		return shell.Usagef("found %s beside --batch, expected nothing: the lines say everything", extra)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	batch := account.Lines{Unknown: unknown}
	lines := inputLines(ctx, c.InOrStdin())
	for {
		select {
		case <-ctx.Done():
			return shell.Stopped(c.Context())
		case l, ok := <-lines:
			switch {
			case !ok && batch.Failed > 0:
				return fmt.Errorf("found %d lines without an answer, expected none: their error says why", batch.Failed)
			case !ok:
				return nil
			case l.err != nil:
				return fmt.Errorf("cannot read standard input: %w", l.err)
			}
			a.Printed()
			if _, err := a.Out.Write(append(batch.Answer(l.text), '\n')); err != nil {
				return fmt.Errorf("cannot write the answer: %w", err)
			}
		}
	}
}

// line is one line of the input, or the error that ended it.
type line struct {
	text []byte
	err  error
}

// inputLines reads ahead by one line until the input or ctx ends, so that a signal stops a program
// that waits for input.
func inputLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			text, err := readLine(r)
			if errors.Is(err, io.EOF) {
				return
			}
			select {
			case lines <- line{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine returns the next line in memory of its own, cut after longestLine bytes: what is left is
// no JSON then. The last line needs no end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := longestLine - len(text); room > 0 {
			text = append(text, part[:min(len(part), room)]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0, err == nil:
			return bytes.TrimSuffix(text, []byte("\n")), nil
		}
		return nil, err
	}
}
