package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Finish reports the error of a command line and returns the exit code. cmd is the command
// that was found, and ctx the context that ends when the user interrupts.
func (a *App) Finish(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return CodeOK
	}
	if !a.started {
		err = UsageError(cmd, plainValue(err))
	}
	code := exitCode(ctx, err)
	a.report(code, err)
	return code
}

// report prints an error on stderr, with one line for each mistake in it. Each line begins
// with the program's name. Line breaks within a mistake become escapes, so that text quoted
// by an error cannot look like a line of its own.
func (a *App) report(code int, err error) {
	if _, ok := errors.AsType[silentError](err); ok {
		return
	}
	if code == CodeInterrupted {
		a.Say("interrupted")
		return
	}
	for _, line := range mistakes(err) {
		a.Say("%s", line)
	}
}

// mistakes returns the texts of the joined errors.
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
	joined, ok := err.(interface{ Unwrap() []error }) // only the parts of err itself, not those of an error that it wraps
	if !ok || errors.Join(joined.Unwrap()...).Error() != text {
		return []string{text}
	}
	var lines []string
	for _, part := range joined.Unwrap() {
		lines = append(lines, mistakes(part)...)
	}
	return lines
}
