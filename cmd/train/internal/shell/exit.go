package shell

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/attack"
	"dpsgd/internal/books"
	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/selftest"
	"dpsgd/internal/setup"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"
	"dpsgd/internal/web"
)

// Exit codes. A run that was stopped by a signal and saved ends with 128 + the number of the
// signal.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitData    = 3
	ExitDamaged = 4
	ExitRefused = 5
	ExitInUse   = 6
	ExitFailing = 7
	ExitFalse   = 8
	ExitSignal  = 128
)

// ExitHelp documents the exit codes for the help.
const ExitHelp = `Exit codes:
  0    done, also when the privacy budget ended the run after some steps
  1    something failed while working
  2    the command line or the configuration is wrong; nothing was started
  3    training or test examples are missing or not what they should be
  4    the folder is no run, or a file in it is damaged
  5    refused: a ledger was rolled back or is gone, or configuration, data or sweep are not those of the run; or what a killed run released has spent its budget before it had a step
  6    another process is at work on the run
  7    a check of the self-test does not hold
  8    an audit has falsified a claim
  130  stopped by SIGINT (143 by SIGTERM, 131 by SIGQUIT, 129 by SIGHUP, 141 when nobody reads its output any more); a run has saved: go on with train resume or the same train sweep`

// exits maps errors to codes; the first match counts.
var exits = []struct {
	code   int
	errors []error
}{
	{ExitInUse, []error{checkpoints.ErrLocked}},
	{ExitFailing, []error{selftest.ErrFailed}},
	{ExitFalse, []error{attack.ErrFalsified}},
	{ExitRefused, []error{checkpoints.ErrRollback, checkpoints.ErrMoved, books.ErrOtherPlan, sweep.ErrOtherSweep, run.ErrUntrained}},
	{ExitUsage, []error{configs.ErrInvalid, setup.ErrPlan, books.ErrLimit, folder.ErrRunExists, train.ErrExtension, books.ErrSame, books.ErrWitnessKey, accountant.ErrUnreachable, account.ErrNoGuarantee, setup.ErrTooLarge, trained.ErrInput, exchange.ErrTarget, web.ErrAddress}},
	{ExitData, []error{data.ErrMissing, data.ErrInvalid}},
	{ExitFailed, []error{run.ErrDiverged}},
	{ExitDamaged, []error{folder.ErrNoRun, checkpoints.ErrCorrupt, checkpoints.ErrUnfinished, checkpoints.ErrNoCheckpoint, checkpoints.ErrNotRegular, checkpoints.ErrNotFinite}},
}

// usageError is an error of the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef returns an error of the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// AsUsage marks err as an error of the command line, which names something wrong, such as a
// configuration that is not there. It returns nil for nil.
func AsUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Interrupted is the error of work that a signal ended, and the cause by which its context ended.
type Interrupted struct{ Signal os.Signal }

func (i Interrupted) Error() string { return "stopped by " + i.Signal.String() }

// failure is what a command that fails prints with --json, unless it has printed an object already.
type failure struct {
	Error    string `json:"error"` // a line for each problem
	ExitCode int    `json:"exit_code"`
}

// Fail prints an error, one line for each problem, with --json also as an object, and returns the
// exit code. It prints no line about a signal, and nothing for nil.
func (a *App) Fail(err error) int {
	if err == nil {
		return ExitDone
	}
	code := codeOf(err)
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		lines = append(lines, strings.TrimPrefix(line, "train: "))
	}
	if !errors.As(err, new(Interrupted)) {
		for _, line := range lines {
			fmt.Fprintln(a.Err, "train:", Plain(line))
		}
	}
	if !a.printed {
		_ = a.PrintJSON(failure{strings.Join(lines, "\n"), code}) // the exit code says it, too
	}
	return code
}

func codeOf(err error) int {
	var stopped Interrupted
	if errors.As(err, &stopped) {
		return ExitSignal + number(stopped.Signal)
	}
	if errors.As(err, new(usageError)) {
		return ExitUsage
	}
	for _, e := range exits {
		for _, known := range e.errors {
			if errors.Is(err, known) {
				return e.code
			}
		}
	}
	return ExitFailed
}

// number returns the number of a signal; 2, that of SIGINT, where the system has none.
func number(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}
