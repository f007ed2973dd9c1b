// Package telemetry tells what a program with anchor-host does: as traces of OpenTelemetry, as
// metrics for Prometheus, and as log lines. It serves "anchor-host serve" and programs that use
// package anchor.
//
//	t, err := telemetry.New(telemetry.Options{})
//	if err != nil { … }
//	defer t.Shutdown(ctx)
//	http.Handle("/metrics", t.Handler())
//	result, err := app.Build(t.Context(ctx), query, anchor.BuildOptions{})
//
// All work under the context that [Telemetry.Context] returns is observed: builds, stages, steps,
// calls of plugins, questions to models, texts that are embedded, searches, and reads and writes of
// the store.
//
// Traces are sent only if the variables OTEL_* name a collector. No text of a query, an item or a
// message is part of a trace unless [Options.CaptureContent] is set, and none is part of a metric or
// of a log line.
//
// Spans are sent by a client of this package. OpenTelemetry's own imports gRPC, which makes a
// program 5 MB larger. Metrics use the library of Prometheus alone for the same reason.
package telemetry
