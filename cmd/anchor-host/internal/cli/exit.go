package cli

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
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/index"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
	"github.com/anchor-host/anchor-host/store"
)

// The exit codes. The comment of package main and the help of the root command list them.
const (
	CodeOK          = 0   // success
	CodeFailure     = 1   // any error without a code of its own
	CodeUsage       = 2   // a mistake on the command line
	CodeInvalid     = 3   // a mistake in a configuration, request or plugin
	CodeRefused     = 5   // a plugin lacks a permission
	CodeNotFound    = 6   // a file, plugin or record is not there
	CodeLimit       = 7   // a timeout or another limit was exceeded
	CodeDegraded    = 8   // under --strict: the answer lacks something
	CodeInterrupted = 130 // the user interrupted
)

// reasonCodes are the exit codes of machine-readable reasons. All other reasons have
// CodeFailure.
var reasonCodes = map[abi.Reason]int{
	abi.ReasonTimeout:        CodeLimit,
	abi.ReasonFuel:           CodeLimit,
	abi.ReasonMemory:         CodeLimit,
	abi.ReasonOutputTooLarge: CodeLimit,
	abi.ReasonInputTooLarge:  CodeLimit,
	abi.ReasonBusy:           CodeLimit,
	abi.ReasonCircuitOpen:    CodeLimit,
	abi.ReasonDenied:         CodeRefused,
	abi.ReasonCancelled:      CodeInterrupted,
}

// causeCodes are the exit codes of known errors. exitCode tests for them in this order.
var causeCodes = []struct {
	cause error
	code  int
}{
	{ErrDegraded, CodeDegraded},
	{errUsage, CodeUsage},
	{context.DeadlineExceeded, CodeLimit},
	{fs.ErrNotExist, CodeNotFound},
	{store.ErrNotFound, CodeNotFound},
	{retrieve.ErrNotFound, CodeNotFound},
	{frames.ErrNoFrame, CodeNotFound},
	{memory.ErrNotFound, CodeNotFound},
	{registry.ErrNotFound, CodeNotFound},
	{registry.ErrDenied, CodeRefused},
	{registry.ErrTooLarge, CodeLimit},
	{registry.ErrReference, CodeInvalid},
	{registry.ErrDigest, CodeInvalid},
	{registry.ErrNotPlugin, CodeInvalid},
	{registry.ErrArchive, CodeInvalid},
	{index.ErrInvalid, CodeInvalid},
	{lock.ErrInvalid, CodeInvalid},
	{lock.ErrDrift, CodeRefused},
	{trust.ErrUnsigned, CodeRefused},
	{trust.ErrKey, CodeRefused},
	{trust.ErrSignature, CodeRefused},
	{trust.ErrSubject, CodeRefused},
	{trust.ErrRevoked, CodeRefused},
	{trust.ErrPassword, CodeRefused},
	{trust.ErrFormat, CodeInvalid},
	{store.ErrBusy, CodeLimit},
	{store.ErrVersion, CodeInvalid},
	{config.ErrInvalid, CodeInvalid},
	{strict.ErrTooMany, CodeInvalid},
	{host.ErrNoOperation, CodeInvalid},
	{host.ErrNotWasm, CodeInvalid},
	{spec.ErrABIVersion, CodeInvalid},
	{spec.ErrManifest, CodeInvalid},
	{host.ErrNoExport, CodeInvalid},
	{host.ErrImport, CodeInvalid},
	{host.ErrSignature, CodeInvalid},
	{host.ErrConfig, CodeInvalid},
	{spec.ErrDuplicate, CodeInvalid},
	{host.ErrTooLarge, CodeLimit},
	{host.ErrAddressSpace, CodeLimit},
	{pipeline.ErrInvalid, CodeInvalid},
	{pipeline.ErrBudget, CodeInvalid},
}

var (
	// ErrDegraded is the error of a build under --strict that lacks something.
	ErrDegraded = core.ErrDegraded
	// errUsage means that there is a mistake on the command line.
	errUsage = errors.New("usage")
)

// exitCode returns the exit code of an error. No other code decides on exit codes. ctx is
// the context that ends when the user interrupts.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return CodeOK
	}
	if ctx.Err() != nil {
		return CodeInterrupted
	}
	var reasoner pipeline.Reasoner
	if errors.As(err, &reasoner) {
		reason := abi.Reason(reasoner.Reason())
		var cause pipeline.Reasoner
		if failed, ok := reasoner.(error); ok && reason == abi.ReasonInitFailed && errors.As(errors.Unwrap(failed), &cause) {
			reason = abi.Reason(cause.Reason()) // why init failed
		}
		if code, ok := reasonCodes[reason]; ok {
			return code
		}
	}
	if _, ok := errors.AsType[strict.Problems](err); ok {
		return CodeInvalid
	}
	for _, c := range causeCodes {
		if errors.Is(err, c.cause) {
			return c.code
		}
	}
	return CodeFailure
}

// commandError is a mistake on the command line, with the command whose help explains it.
type commandError struct {
	command string
	err     error
}

func (e *commandError) Error() string {
	message := strings.Join(strings.Fields(e.err.Error()), " ")
	return fmt.Sprintf("%s (see: %s --help)", message, e.command)
}

func (e *commandError) Unwrap() []error { return []error{errUsage, e.err} }

// UsageError marks err as a mistake on the command line of cmd.
func UsageError(cmd *cobra.Command, err error) error {
	return &commandError{cmd.CommandPath(), err}
}

// Usagef returns a mistake on the command line of cmd, worded as by [fmt.Errorf].
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return UsageError(cmd, fmt.Errorf(format, args...))
}

// silentError is an error that was already reported. Only its exit code counts.
type silentError struct{ error }

func (e silentError) Unwrap() error { return e.error }

// Silent marks an error as already reported: the program ends with its exit code and prints
// nothing more.
func Silent(err error) error { return silentError{err} }
