// Package warn logs failures that a caller does not return.
package warn

import (
	"context"
	"errors"
	"log/slog"
)

// Log logs a failure at the level WARN. The error is logged by its message, because handlers
// print errors with %+v and may turn the detail of a plugin error into many lines. Only a
// panic, which is a bug, brings its stack.
func Log(ctx context.Context, logger *slog.Logger, msg string, err error, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("error", err.Error()))
	var p interface{ Trace() string }
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", p.Trace()))
	}
	logger.LogAttrs(ctx, slog.LevelWarn, msg, attrs...)
}
