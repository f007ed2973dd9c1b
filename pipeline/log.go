package pipeline

import (
	"context"
	"errors"
	"log/slog"
)

// warn logs a failure that the caller does not return. The error is logged by its
// message, because handlers print errors with %+v and may turn the detail of a plugin
// error into many lines; only a panic, which is a bug, brings its stack.
func warn(ctx context.Context, logger *slog.Logger, msg string, err error, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("error", err.Error()))
	var p *PanicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	logger.LogAttrs(ctx, slog.LevelWarn, msg, attrs...)
}
