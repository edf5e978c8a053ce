package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
)

// epsilonOn answers lines until their end, or that of the context.
func epsilonOn(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	return executeOn(ctx, in, out, errs, "epsilon", "--batch")
}

// Every line gets one answer, in order, whether it is right or wrong, and the exit code is 0.
func TestBatchAnswersInOrder(t *testing.T) {
	const lines = 60
	var in strings.Builder
	for i := range lines {
		if i%7 == 3 {
			fmt.Fprintf(&in, "nonsense %d\n", i)
			continue
		}
		fmt.Fprintf(&in, `{"accountant":"rdp","phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":%d}],"delta":1e-5}`+"\n", 100+i)
	}
	r := commandOn(t, strings.TrimSuffix(in.String(), "\n"), "epsilon", "--batch")
	answers := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if r.code != shell.ExitFailed || r.err != "train: found 9 lines without an answer, expected none: their error says why\n" || len(answers) != lines {
		t.Fatalf("found exit code %d, error %q and %d answers", r.code, r.err, len(answers))
	}
	for i, text := range answers {
		var o struct {
			Phases  []struct{ Steps int }
			Epsilon float64
			Error   string
		}
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if i%7 == 3 {
			if !strings.Contains(o.Error, fmt.Sprintf("nonsense %d", i)) {
				t.Errorf("line %d: found %s", i, text)
			}
			continue
		}
		if want := golden(t, "rdp", accountant.ZeroOut, 1, 0.01, 1, 100+i, 1e-5); o.Phases[0].Steps != 100+i || o.Epsilon != want.Epsilon {
			t.Errorf("line %d: found %s, expected %v", i, text, want.Epsilon)
		}
	}
}

// Each command that reads lines adds its own answer to them.
func TestBatchOfEachCommand(t *testing.T) {
	for command, test := range map[string]struct{ line, key string }{
		"epsilon":   {`{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":1000}],"delta":1e-5}`, "epsilon"},
		"delta":     {`{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":1000}],"epsilon":2}`, "delta"},
		"calibrate": {`{"phases":[{"sampling_probability":0.01,"steps":1000}],"target_epsilon":2,"delta":1e-5}`, "noise_multiplier"},
		"steps":     {`{"phases":[{"sampling_probability":0.01,"noise_multiplier":1}],"target_epsilon":2,"delta":1e-5}`, "steps"},
	} {
		r := commandOn(t, test.line, command, "--batch")
		o := lastLine(t, r.out)
		if x, ok := o[test.key].(float64); r.code != 0 || !ok || x <= 0 {
			t.Errorf("%s: found exit code %d and %s%s", command, r.code, r.out, r.err)
		}
		help := succeed(t, "help", command)
		if joined := strings.ReplaceAll(help, "' \\\n    '", ""); !strings.Contains(joined, "'"+test.line+"' | train "+command+" --batch") {
			t.Errorf("the help of %s has no such example:\n%s", command, help)
		}
	}
}

// An answer is written before the next line is there: whoever asks may wait for it.
func TestBatchAnswersLineByLine(t *testing.T) {
	ask, in := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int)
	go func() { done <- epsilonOn(t.Context(), ask, out, io.Discard) }()
	lines := bufio.NewScanner(answers)
	for i := range 3 {
		fmt.Fprintf(in, `{"accountant":"rdp","phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":%d}],"delta":1e-5}`+"\n", i+1)
		if !lines.Scan() || !strings.Contains(lines.Text(), fmt.Sprintf(`"steps":%d`, i+1)) {
			t.Fatalf("found %q after question %d", lines.Text(), i+1)
		}
	}
	in.Close()
	same(t, "exit code", <-done, 0)
}

// A signal ends a program that waits for a line.
func TestBatchStops(t *testing.T) {
	ask, in := io.Pipe()
	defer in.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(shell.Interrupted{Signal: os.Interrupt})
	same(t, "exit code", epsilonOn(ctx, ask, io.Discard, io.Discard), shell.ExitSignal+2)
}

// Input that cannot be read is an error of the program, after the answers to what was read.
func TestBatchOfUnreadableInput(t *testing.T) {
	line := `{"accountant":"rdp","phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":9}],"delta":1e-5}` + "\n"
	var out, errs bytes.Buffer
	in := io.MultiReader(strings.NewReader(line), iotest.ErrReader(errors.New("the disk is gone")))
	code := epsilonOn(t.Context(), in, &out, &errs)
	if code != shell.ExitFailed || strings.Count(out.String(), "\n") != 1 || errs.String() != "train: cannot read standard input: the disk is gone\n" {
		t.Errorf("found exit code %d, %q and %q", code, out.String(), errs.String())
	}
}

// A line without end does not fill the memory, and the one after it is answered.
func TestBatchOfALongLine(t *testing.T) {
	long := `{"delta":` + strings.Repeat("1", 16<<20+1000) + "}\n"
	asked := `{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":1}],"delta":1e-5,"id":"` + strings.Repeat("x", 1<<20) + "\"}\n"
	r := commandOn(t, long+"{}\n"+asked, "epsilon", "--batch")
	answers := strings.Split(r.out, "\n")
	if r.code != shell.ExitFailed || !strings.Contains(r.err, "found 2 lines without an answer") || len(answers) != 4 || !strings.Contains(answers[2], `"epsilon":`) || !strings.Contains(answers[0], `"error":"line 1: found no JSON object`) || !strings.Contains(answers[1], `{"error":`) {
		t.Errorf("found exit code %d and %d answers: %.300s", r.code, len(answers)-1, r.out)
	}
}
