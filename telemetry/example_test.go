package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/telemetry"
)

// A program counts its builds. It sends traces too if the variables OTEL_* name a collector.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(file, []byte("counting: {tokenizer: words}\nwindow: {system_prompts: [{content: Be brief.}]}\n"), 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	t, err := telemetry.New(telemetry.Options{Version: "1.2.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Shutdown(ctx)
	app, err := anchor.Load(file, anchor.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close(ctx)
	if _, err := app.Build(t.Context(ctx), pipeline.Query{Text: "What is a context window?"}, anchor.BuildOptions{}); err != nil {
		log.Fatal(err)
	}

	// t.Handler is what a server has at /metrics.
	answer := httptest.NewRecorder()
	t.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "anchor_build_duration_seconds_count") {
			fmt.Print(line)
		}
	}
	// Output:
	// anchor_build_duration_seconds_count{outcome="ok",pipeline="default"} 1
}
