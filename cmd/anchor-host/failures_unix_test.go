//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// failing are plugins that fail in one way each: the module, how it is configured, and what a repetition
// must say as the service did.
var failing = []struct{ name, module, instance, step, reason, text string }{
	{"trap", "log-then-trap", "", "", "trap", "unreachable"},
	{"timeout", "spin-forever", "limits: {timeout: 150ms, fuel: 9000000000000}", "", "timeout", "not done within 150ms"},
	{"fuel", "spin-forever", "limits: {timeout: 60s, fuel: 1000000}", "", "fuel", "allowed 1000000"},
	{"memory", "memory-hog", "limits: {memory: 2MiB}", "", "memory", "needs more than 2MiB"},
	{"wrong", "row-twice", "", "", "invalid_output", "row 0"},
	{"denied", "kv-ungranted", "", "", "denied", "kv is not permitted"},
	{"message", "guest-error", "", "", "guest_error", ""},
	{"go-http", "allops", "grants: {http: {hosts: ['http://127.0.0.1:*'], private: true}}", "operation: retrieve, settings: {mode: http, url: 'http://127.0.0.1:1/x?api_key=the-secret'}", "guest_error", "connect"},
	{"go-panic", "allops", "", "operation: process, settings: {mode: panic}", "guest_error", "process went wrong"},
	{"go-spin", "allops", "limits: {timeout: 300ms, fuel: 9000000000000}", "operation: process, settings: {mode: spin}", "timeout", "not done within 300ms"},
	{"go-hog", "allops", "limits: {memory: 32MiB, timeout: 60s}", "operation: process, settings: {mode: hog}", "memory", "needs more than 32MiB"},
}

// A failure in a service is listed with its reason, its text and its log. What --save writes, plugin call
// repeats: the same reason and text, for all that a plugin can do wrong. A host that is started again lists them, too.
func TestFailuresAreRepeated(t *testing.T) {
	dir := t.TempDir()
	for _, f := range failing {
		folder := filepath.Join("..", "..", "testdata", "wasm", f.module)
		if f.module == "allops" {
			folder = testbuild.Guest(t, "testdata/guests/allops")
		}
		to := filepath.Join(dir, f.module)
		if err := os.CopyFS(to, os.DirFS(folder)); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	text := "counting: {tokenizer: words}\nstore: {path: s.db}\nplugins:\n  dir: " + dir + "\n  instances:\n"
	pipelines := "pipelines:\n"
	for _, f := range failing {
		text += fmt.Sprintf("    %s: {plugin: %s, %s}\n", f.name, f.module, f.instance)
		pipelines += fmt.Sprintf("  %s: {steps: [{name: the-step, use: %s, must: false, %s}]}\n", f.name, f.name, f.step)
	}
	t.Chdir(write(t, map[string]string{"anchor.yaml": strings.ReplaceAll(text+pipelines, ", }", "}")}))
	log, end := serveUntil(t, "--config", "anchor.yaml", "--admin-listen", "none")
	defer func() { end() }()
	base := log.wait(t, `the API is at (http://127\.0\.0\.1:\d+)`)[1]
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	for _, f := range failing {
		t.Run(f.name, func(t *testing.T) {
			for range 2 {
				resp, err := client.Post(base+"/v1/builds", "application/json", strings.NewReader(`{"query": "q", "pipeline": "`+f.name+`", "items": [{"content": "a b", "source": "retrieval", "score": 0.5}]}`))
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if want := "step=the-step;reason=" + f.reason; resp.StatusCode != http.StatusOK || resp.Header.Get("Anchor-Degraded") != want {
					t.Fatalf("status %d, lacks %s: %s\n%s", resp.StatusCode, want, body, log)
				}
			}
			if want := `level=WARN msg="step skipped" step=the-step plugin=` + f.name + ` reason=` + f.reason; !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s: %s", want, log)
			}
			code, out, stderr := run(t, "", "plugin", "failures", f.name, "--url", base, "-o", "json", "--save", f.name+".json")
			var list failures.List
			if err := json.Unmarshal([]byte(out), &list); err != nil || code != codeOK || len(list.Failures) != 1 {
				t.Fatalf("code %d, %v: %s%s", code, err, out, stderr)
			}
			got := list.Failures[0]
			if got.Reason != f.reason || !strings.Contains(got.Text, f.text) || got.Count != 2 || got.Step != "the-step" || got.Tenant != "default" || strings.Contains(out, "the-secret") {
				t.Errorf("%+v", got)
			}
			_, said, _ := strings.Cut(stderr, "anchor-host plugin call MODULE ")
			args := append([]string{"plugin", "call", filepath.Join(dir, f.module)}, strings.Fields(said)...)
			code, out, stderr = run(t, "", args...)
			want := f.reason + ": " + firstLine(got.Text)
			if f.name == "wrong" {
				want = "the answer breaks the rule rows/once: keep[1]: row 0" // plugin call shows the answer, and judges it
			}
			if code == codeOK || !strings.Contains(stderr, want) {
				t.Errorf("%q: code %d, %s%s\nlacks %s", args, code, out, stderr, want)
			}
			code, out, _ = run(t, "", "plugin", "failures", f.name, "--url", base, "--id", fmt.Sprint(got.ID))
			if code != codeOK || !strings.Contains(out, "reason     "+f.reason+"\n") || got.Log != "" && !strings.Contains(out, "log:\n") {
				t.Errorf("code %d, %s", code, out)
			}
		})
	}
	if code, out, _ := run(t, "", "plugin", "failures", "--url", base); code != codeOK || strings.Count(out, "the-step") != len(failing) {
		t.Errorf("code %d, %s", code, out)
	}
	if end() != codeOK {
		t.Error(log)
	}
	log, end = serveUntil(t, "--config", "anchor.yaml", "--admin-listen", "none")
	base = log.wait(t, `the API is at (http://127\.0\.0\.1:\d+)`)[1]
	if code, out, _ := run(t, "", "plugin", "failures", "--url", base); code != codeOK || strings.Count(out, "the-step") != len(failing) {
		t.Errorf("after a restart: code %d, %s", code, out)
	}
	if code, _, stderr := run(t, "", "plugin", "failures", "--url", base, "--id", "999"); code != codeNotFound {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "plugin", "failures", "--url", "http://127.0.0.1:1"); code == codeOK || !strings.Contains(stderr, `a single "build" prints its own to stderr`) {
		t.Errorf("code %d, %s", code, stderr)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
