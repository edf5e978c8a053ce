package main

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
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/memory"
	"dpsgd/internal/setup"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"
)

// Exit codes. A run that was stopped by a signal and saved ends with 128 + the number of the
// signal.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitData    = 3
	exitDamaged = 4
	exitRefused = 5
	exitInUse   = 6
	exitSignal  = 128
)

// exitHelp documents them for the help.
const exitHelp = `Exit codes:
  0    done, also when the privacy budget ended the run after some steps
  1    something failed while working
  2    the command line or the configuration is wrong; nothing was started
  3    training or test examples are missing or not what they should be
  4    the folder is no run, or a file in it is damaged
  5    refused: a ledger was rolled back or is gone, or configuration, data or sweep are not those of the run;
       or what a killed run released has spent its budget before it had a step
  6    another process is at work on the run
  130  stopped by SIGINT (143 by SIGTERM, 129 by SIGHUP); a run has saved: go on with train resume or the same train sweep`

// exits maps errors to codes; the first match counts.
var exits = []struct {
	code   int
	errors []error
}{
	{exitInUse, []error{checkpoints.ErrLocked}},
	{exitRefused, []error{checkpoints.ErrRollback, books.ErrOtherPlan, sweep.ErrOtherSweep, train.ErrUntrained}},
	{exitUsage, []error{configs.ErrInvalid, setup.ErrPlan, train.ErrRunExists, accountant.ErrUnreachable, account.ErrNoGuarantee, memory.ErrTooLarge}},
	{exitData, []error{data.ErrMissing, data.ErrInvalid}},
	{exitDamaged, []error{folder.ErrNoRun, checkpoints.ErrCorrupt, checkpoints.ErrUnfinished, checkpoints.ErrNoCheckpoint, checkpoints.ErrNotRegular, checkpoints.ErrNotFinite}},
}

// usageError is an error of the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// asUsage takes an error about something that the command line names, such as a configuration that
// is not there.
func asUsage(err error) error { return usageError{err} }

// interrupted is the error, and the cause of the context, of work that a signal ended and that is
// saved.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return "stopped by " + i.signal.String() }

// fail prints an error, one line for each problem, and chooses the code.
func (a *app) fail(err error) int {
	if err == nil {
		return exitDone
	}
	var stopped interrupted
	if errors.As(err, &stopped) {
		return exitSignal + number(stopped.signal)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(a.err, "train:", strings.TrimPrefix(line, "train: "))
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	for _, e := range exits {
		for _, known := range e.errors {
			if errors.Is(err, known) {
				return e.code
			}
		}
	}
	return exitFailed
}

// number is that of SIGINT, 2, where a system has no numbers.
func number(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}
