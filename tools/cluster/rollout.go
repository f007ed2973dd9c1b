package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// steady is a configuration that hosts follow, and regressed the same with a step whose collection is not there.
const (
	steady = `counting: {tokenizer: cl100k_base}
window: {max_tokens: 4000, answer: 200}
pipelines: {main: {}}
builds: {records: {}}
`
	regressed = steady + `retrievers: {docs: {collection: nowhere}}
steps: [{name: find, use: docs}]
`
)

// desired is what "rollout status" says of what hosts follow.
type desired struct {
	Desired struct {
		Generation     int64
		Phase, Outcome string
		Why            string
	}
	Numbers *struct{ Stable, Candidate figures }
}

type figures struct{ Builds, Failed int64 }

// anchor runs the command beside a host and returns what it prints.
func (h *host) anchor(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, h.command, args...)
	cmd.Dir = h.dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("anchor-host %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

func (s *suite) status(ctx context.Context) (d desired, err error) {
	out, err := s.hosts[0].anchor(ctx, "rollout", "status", "-o", "json")
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	return d, err
}

// rollout gives all hosts a configuration, and then one with a regression, which must be taken back.
func (s *suite) rollout(ctx context.Context) error {
	for name, text := range map[string]string{"steady": steady, "regressed": regressed} {
		dir := filepath.Join(s.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "anchor.yaml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := s.hosts[0].anchor(ctx, "rollout", "start", "../steady/anchor.yaml"); err != nil {
		return err
	}
	if err := pause(ctx, 5*time.Second); err != nil { // hosts look every two seconds
		return err
	}
	load, stop := context.WithCancel(ctx)
	var failed, answered atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { s.ask(load, i, &answered, &failed) })
	}
	defer wg.Wait()
	defer stop()
	begin := time.Now()
	if _, err := s.hosts[0].anchor(ctx, "rollout", "start", "../regressed/anchor.yaml", "--steps", "10,50,100", "--every", "20s"); err != nil {
		return err
	}
	var d desired
	for time.Since(begin) < time.Minute {
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		var err error
		if d, err = s.status(ctx); err != nil {
			return err
		}
		if d.Desired.Phase == "settled" {
			break
		}
	}
	took := time.Since(begin)
	details := fmt.Sprintf("of %d builds in that time %d failed; %s", answered.Load(), failed.Load(), d.Desired.Why)
	s.row("a rollout with a regression", d.Desired.Outcome, "reverted", d.Desired.Outcome == "reverted", "after %.0f s at 10 %% of the conversations; %s", took.Seconds(), details)
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	failed.Store(0)
	answered.Store(0)
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	s.row("builds that fail afterwards", fmt.Sprint(failed.Load()), "0", failed.Load() == 0 && answered.Load() > 0, "of %d", answered.Load())
	return nil
}

// ask asks for builds of many conversations, and counts those that fail or go on without a step.
func (s *suite) ask(ctx context.Context, id int, answered, failed *atomic.Int64) {
	client := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	in := map[string]any{"query": "what may be of use?", "pipeline": "main", "items": []map[string]any{{"content": "something", "source": "tool"}}}
	for n := 0; ctx.Err() == nil; n++ {
		var doc struct {
			Diagnostics struct {
				Failures []json.RawMessage `json:"step_failures"`
			}
		}
		url := fmt.Sprintf("%s/v1/builds?conversation=asks-%d-%d", s.clients.url, id, n)
		err := call(client, http.MethodPost, url, s.clients.keys[tenants[n%2]], in, &doc)
		if ctx.Err() != nil {
			return
		}
		if answered.Add(1); err != nil || len(doc.Diagnostics.Failures) > 0 {
			failed.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(25 * time.Millisecond):
		}
	}
}
