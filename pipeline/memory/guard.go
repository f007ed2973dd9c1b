package memory

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/pipeline"
)

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &pipeline.PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return f()
}

// warn logs a failure that is not returned.
func warn(ctx context.Context, logger *slog.Logger, msg string, err error) {
	attrs := []slog.Attr{slog.String("error", err.Error())}
	var p *pipeline.PanicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	logger.LogAttrs(ctx, slog.LevelWarn, msg, attrs...)
}
