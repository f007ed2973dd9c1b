// Package tracing sends traces of commands that build a window or assemble messages, and makes the
// telemetry of the service.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/telemetry"
)

// flushTime bounds how long a command waits at its end until its spans are sent.
const flushTime = 2 * time.Second

// New returns the telemetry of a configuration. An error is one of a variable, so it wraps
// [config.ErrInvalid].
func New(c *config.Config, log *slog.Logger) (*telemetry.Telemetry, error) {
	t, err := telemetry.New(telemetry.Options{Version: cli.ReadBuildInfo().Version, Logger: log, TenantClasses: c.Telemetry.TenantClasses})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	t.Know(names(c))
	return t, nil
}

// Begin returns a context under which the work of a command is traced, if the variables OTEL_* name a
// collector. The variable TRACEPARENT may have the trace that it continues. end sends the spans.
func Begin(ctx context.Context, c *config.Config, log *slog.Logger) (_ context.Context, end func(), err error) {
	t, err := New(c, log)
	if err != nil {
		return nil, nil, err
	}
	if !t.Tracing() {
		return ctx, func() {}, nil
	}
	return t.Continue(t.Context(ctx), os.Getenv("TRACEPARENT")), func() { Flush(ctx, t, log) }, nil
}

// Flush sends the spans that wait.
func Flush(ctx context.Context, t *telemetry.Telemetry, log *slog.Logger) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := t.Shutdown(limited); err != nil {
		log.Warn("spans are lost", "error", err)
	}
}

// names are the names of a configuration that metrics show.
func names(c *config.Config) telemetry.Names {
	n := telemetry.Names{
		Pipelines: append(slices.Collect(maps.Keys(c.Pipelines)), "default", "assemble"), Plugins: slices.Collect(maps.Keys(c.Plugins.Instances)),
		Embedders: slices.Collect(maps.Keys(c.AllEmbedders())), Collections: slices.Collect(maps.Keys(c.Collections)),
	}
	for i := range c.Steps {
		n.Steps = append(n.Steps, c.Steps[i].Name)
	}
	for name, m := range c.Models {
		n.Models = append(n.Models, name, m.Model)
	}
	return n
}
