package telemetry_test

import (
	"context"
	"log"
	"net/http"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/telemetry"
)

// A program serves metrics of its builds, and sends traces if the variables OTEL_* name a collector.
func ExampleNew() {
	ctx := context.Background()
	t, err := telemetry.New(telemetry.Options{Version: "1.2.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Shutdown(ctx)
	http.Handle("/metrics", t.Handler())

	app, err := anchor.Load("anchor.yaml", anchor.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close(ctx)
	result, err := app.Build(t.Context(ctx), pipeline.Query{Text: "What is a context window?"}, anchor.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(result.Output)
}
