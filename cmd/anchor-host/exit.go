package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// The exit codes; the package comment and the help of the root command list
// them.
const (
	codeOK          = 0
	codeFailure     = 1
	codeUsage       = 2
	codeInvalid     = 3
	codeRefused     = 5
	codeNotFound    = 6
	codeLimit       = 7
	codeDegraded    = 8
	codeInterrupted = 130
)

// exitHelp is the table in the help of the root command.
const exitHelp = `Exit codes:
  0    ok
  1    failure
  2    wrong usage of the command line
  3    invalid configuration, request, manifest or ABI
  5    permission refused
  6    not found
  7    deadline or limit exceeded
  8    degraded: --strict was given and a step or another part was skipped
  130  interrupted`

// reasonCodes are the exit codes of the typed reasons; all others are
// codeFailure.
var reasonCodes = map[abi.Reason]int{
	abi.ReasonTimeout:        codeLimit,
	abi.ReasonFuel:           codeLimit,
	abi.ReasonMemory:         codeLimit,
	abi.ReasonOutputTooLarge: codeLimit,
	abi.ReasonInputTooLarge:  codeLimit,
	abi.ReasonBusy:           codeLimit,
	abi.ReasonRested:         codeLimit,
	abi.ReasonDenied:         codeRefused,
	abi.ReasonCancelled:      codeInterrupted,
}

// causeCodes are the exit codes of errors that callers decide on, in the order
// in which they are tried.
var causeCodes = []struct {
	cause error
	code  int
}{
	{errDegraded, codeDegraded},
	{errUsage, codeUsage},
	{context.DeadlineExceeded, codeLimit},
	{fs.ErrNotExist, codeNotFound},
	{store.ErrNotFound, codeNotFound},
	{memory.ErrNotFound, codeNotFound},
	{store.ErrBusy, codeLimit},
	{store.ErrInvalid, codeInvalid},
	{store.ErrVersion, codeInvalid},
	{config.ErrInvalid, codeInvalid},
	{host.ErrNoOperation, codeInvalid},
	{host.ErrNotWasm, codeInvalid},
	{spec.ErrABIVersion, codeInvalid},
	{spec.ErrManifest, codeInvalid},
	{host.ErrNoExport, codeInvalid},
	{host.ErrImport, codeInvalid},
	{host.ErrSignature, codeInvalid},
	{host.ErrConfig, codeInvalid},
	{spec.ErrDuplicate, codeInvalid},
	{host.ErrTooLarge, codeLimit},
	{host.ErrAddressSpace, codeLimit},
	{pipeline.ErrInvalid, codeInvalid},
	{pipeline.ErrBudget, codeInvalid},
}

var (
	// errDegraded ends a build whose steps were not all run under --strict.
	errDegraded = errors.New("degraded")
	// errUsage marks a mistake on the command line.
	errUsage = errors.New("usage")
)

// exitCode is the one place where errors become exit codes. ctx is the context
// that an interruption ends.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return codeOK
	}
	if ctx.Err() != nil {
		return codeInterrupted
	}
	var reasoner pipeline.Reasoner
	if errors.As(err, &reasoner) {
		if code, ok := reasonCodes[abi.Reason(reasoner.Reason())]; ok {
			return code
		}
	}
	var problems strict.Problems
	if errors.As(err, &problems) {
		return codeInvalid
	}
	for _, c := range causeCodes {
		if errors.Is(err, c.cause) {
			return c.code
		}
	}
	return codeFailure
}

// commandError is a mistake on the command line, with the command to get help
// for.
type commandError struct {
	command string
	err     error
}

func (e *commandError) Error() string {
	message := strings.Join(strings.Fields(e.err.Error()), " ")
	return fmt.Sprintf("%s (see: %s --help)", message, e.command)
}

func (e *commandError) Unwrap() []error { return []error{errUsage, e.err} }

// usageError marks err as a mistake on the command line of cmd.
func usageError(cmd *cobra.Command, err error) error {
	return &commandError{cmd.CommandPath(), err}
}

// usagef returns a mistake on the command line of cmd.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError(cmd, fmt.Errorf(format, args...))
}

// silentError has been reported already; only its code counts.
type silentError struct{ error }

func (e silentError) Unwrap() error { return e.error }

// report prints an error on stderr: a line for each mistake that it holds, each with the
// program's name. A line break within one is shown as an escape, so that nothing that an
// error repeats looks like a line of its own.
func (a *app) report(code int, err error) {
	var silent silentError
	if errors.As(err, &silent) {
		return
	}
	if code == codeInterrupted {
		a.say("interrupted")
		return
	}
	for _, line := range mistakes(err) {
		a.say("%s", line)
	}
}

// mistakes are the texts of the mistakes that an error joins.
func mistakes(err error) []string {
	text := err.Error()
	var problems strict.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		if before, ok := strings.CutSuffix(text, problems.Error()); ok {
			lines := make([]string, len(problems))
			for i, p := range problems {
				lines[i] = p.Error()
			}
			lines[0] = before + lines[0]
			return lines
		}
	}
	joined, ok := err.(interface{ Unwrap() []error }) // the parts of this error, not of one that it wraps
	if !ok || errors.Join(joined.Unwrap()...).Error() != text {
		return []string{text}
	}
	var lines []string
	for _, part := range joined.Unwrap() {
		lines = append(lines, mistakes(part)...)
	}
	return lines
}
