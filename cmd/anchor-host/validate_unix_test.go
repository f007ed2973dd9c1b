//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	goodPrices = "date: 2026-11-27\nsource: a test\nmodels: {small-1: {input: 1, output: 2}, free-1: {input: 0, output: 0}}\n"
	// oneModel is a configuration with a model and prices.
	oneModel = "counting: {tokenizer: words}\nstore: {path: s.db}\ntelemetry: {prices: prices.yaml}\nmodels: {m: {api: openai, model: %s}}\n"
)

// serveUntil starts serve, and returns its log and what ends it and gives its exit code.
func serveUntil(t *testing.T, args ...string) (log *stderrLog, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log, exit := &stderrLog{}, make(chan int, 1)
	go func() {
		exit <- doMain(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), nil, io.Discard, log)
	}()
	end = func() int {
		cancel()
		select {
		case code := <-exit:
			return code
		case <-time.After(patience):
			t.Fatalf("still running: %s", log)
			return 0
		}
	}
	return log, end
}

// What stops serve at its start stops "config validate" too: with the same exit code and the same message,
// which names the file, the field and the remedy.
func TestValidateIsWhatServeDoes(t *testing.T) {
	t.Setenv("ANCHOR_HOST_SERVER_ADMIN_LISTEN", "none")
	t.Chdir(write(t, map[string]string{
		"prices.yaml": goodPrices, "bad.yaml": "models: {", "keys.yaml": "garbage: 1\n", "torn.jsonl": "no line\n", "torn.pem": "no PEM\n",
		"broken.db": strings.Repeat("no store ", 1000),
	}))
	if err := os.Chmod("keys.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		code int
		text string
	}{
		"telemetry: {prices: bad.yaml}":                                               {codeInvalid, "telemetry.prices: "},
		"telemetry: {prices: none.yaml}":                                              {codeNotFound, "telemetry.prices: read prices: open "},
		"server: {keys: keys.yaml}":                                                   {codeInvalid, "garbage"},
		"server: {keys: none.yaml}":                                                   {codeNotFound, "anchor-host keys add --tenant NAME"},
		"server: {keys: none.yaml, listen: '0.0.0.0:0'}":                              {codeNotFound, "none.yaml"},
		"server: {listen: '0.0.0.0:0'}":                                               {codeInvalid, "listen on 127.0.0.1, or set server.keys"},
		"server: {tls: {cert: none.pem, key: none.pem}}":                              {codeNotFound, "server.tls.cert: open "},
		"server: {tls: {cert: torn.pem, key: torn.pem}}":                              {codeInvalid, "torn.pem"},
		"server: {audit: {path: none/a.jsonl}}":                                       {codeNotFound, "none/a.jsonl.key"},
		"server: {audit: {path: torn.jsonl}}":                                         {codeInvalid, "the last line of "},
		"server: {audit: {path: new.jsonl, key: torn.pem}}":                           {codeInvalid, "want PEM"},
		"models: {m: {api: openai, model: x, key: '${env:REACH_NONE}'}}":              {codeInvalid, "models.m.key: environment variable REACH_NONE is not set"},
		"models: {m: {api: openai, model: x, key: '${file:none}'}}":                   {codeInvalid, "models.m.key: "},
		"telemetry: {prices: prices.yaml}\nmodels: {m: {api: openai, model: smal-1}}": {codeInvalid, `models.m.model: "smal-1" has no price in `},
		"store: {path: broken.db}":                                                    {codeFailure, "broken.db"},
	} {
		if !strings.Contains(text, "store:") {
			text += "\nstore: {path: s.db}"
		}
		if err := os.WriteFile("anchor.yaml", []byte("counting: {tokenizer: words}\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, message := run(t, "", "config", "validate")
		if code != want.code || !strings.Contains(message, want.text) {
			t.Errorf("%s\nvalidate: code %d, want %d: %s", text, code, want.code, message)
		}
		var flags []string
		if !strings.Contains(text, "listen") {
			flags = []string{"--listen", "127.0.0.1:0"}
		}
		if served, _, says := run(t, "", append([]string{"serve"}, flags...)...); served != code || says != message {
			t.Errorf("%s\nserve: code %d, not %d: %s", text, served, code, says)
		}
	}
	for _, name := range []string{"s.db", "new.jsonl", "new.jsonl.key", "new.jsonl.lock", "torn.jsonl.lock"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// A plugin that is not there stops both, or neither: then both warn of it.
func TestValidateAndServeOfAbsentPlugins(t *testing.T) {
	t.Setenv("ANCHOR_HOST_SERVER_ADMIN_LISTEN", "127.0.0.1:0")
	t.Chdir(write(t, map[string]string{"anchor.yaml": ""}))
	for text, starts := range map[string]bool{
		"steps: [{name: s, use: gone}]":                                                     true,
		"steps: [{name: s, use: gone, must: false}]\nplugins: {must: all}":                  true,
		"steps: [{name: s, use: gone, must: true}]":                                         false,
		"steps: [{name: s, use: gone}]\nplugins: {must: all}":                               false,
		"steps: [{name: s, use: i}]\nplugins: {instances: {i: {plugin: gone}}}":             true,
		"steps: [{name: s, use: i, must: true}]\nplugins: {instances: {i: {plugin: gone}}}": false,
		"plugins: {instances: {i: {plugin: gone, must: true}}}":                             false,
		"pipelines: {p: {steps: [{name: s, use: gone, must: true}]}}":                       false,
		"memory: {use: gone}":                true,
		"format: {use: gone}":                false,
		"format: {use: gone, must: false}":   true,
		"counting: {tokenizer: {use: gone}}": false,
	} {
		if !strings.Contains(text, "tokenizer") {
			text += "\ncounting: {tokenizer: words}"
		}
		if err := os.WriteFile("anchor.yaml", []byte(text+"\nserver: {drain_delay: none}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, message := run(t, "", "config", "validate")
		if (code == codeOK) != starts || !strings.Contains(message, `"gone": not_found: `) || strings.Contains(message, "warning: ") != starts {
			t.Errorf("%s\nvalidate: code %d: %s", text, code, message)
		}
		if !starts {
			if code, _, message := run(t, "", "serve", "--listen", "127.0.0.1:0"); code == codeOK || !strings.Contains(message, "not_found: ") {
				t.Errorf("%s\nserve: code %d: %s", text, code, message)
			}
			continue
		}
		log, end := serveUntil(t)
		log.wait(t, `level=WARN msg="plugin is not ready".* not_found: `)
		log.wait(t, `the API is at`)
		end()
	}
}

// config validate runs beside the service, and takes nothing from it. A change that names a variable that is
// not set, or a model without a price, is not reloaded: the configuration before stays.
func TestValidateBesideTheService(t *testing.T) {
	t.Setenv("ANCHOR_HOST_SERVER_ADMIN_LISTEN", "127.0.0.1:0")
	text := strings.Replace(oneModel, "%s", "small-1", 1) + "server: {audit: {path: a.jsonl}, drain_delay: none}\nbuilds: {records: {}}\n"
	t.Chdir(write(t, map[string]string{"anchor.yaml": text, "prices.yaml": goodPrices}))
	log, end := serveUntil(t)
	addresses := log.wait(t, `the API is at (http://\S+), and health and reload at (http://[^; ]+)`)
	if code, out, message := run(t, "", "config", "validate"); code != codeOK || !strings.Contains(out, "ok") {
		t.Errorf("validate: code %d: %s", code, message)
	}
	for _, c := range [][2]string{
		{"model: small-1", "model: small-1, key: '${env:REACH_NONE}'"}, {"model: small-1", "model: smal-1"},
	} {
		if err := os.WriteFile("anchor.yaml", []byte(strings.Replace(text, c[0], c[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(addresses[2]+"/admin/v1/reload", "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		code, _, message := run(t, "", "config", "validate")
		says := strings.TrimSpace(message[strings.LastIndex(message, "models.m."):])
		if resp.StatusCode == http.StatusOK || code != codeInvalid || !strings.Contains(strings.ReplaceAll(string(body), `\"`, `"`), says) {
			t.Errorf("%s: %d %s; validate: code %d: %s", c[1], resp.StatusCode, body, code, message)
		}
	}
	resp, err := http.Post(addresses[1]+"/v1/builds", "application/json", strings.NewReader(`{"query": "q"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a build after the refused reloads: %d", resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	if code := end(); code != codeOK {
		t.Errorf("exit code %d: %s", code, log)
	}
	must(t, "", "audit", "verify", "--key", "a.jsonl.key.pub", "a.jsonl")
}

// doctor looks for collections in all tenants of the keys and of the store. --tenant narrows it.
func TestDoctorLooksAtAllTenants(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\nstore: {path: s.db}\nserver: {keys: keys.yaml}\nretrievers: {docs: {collection: docs}}\nsteps: [{name: find, use: docs}]\n",
		"d/a.md":      "# Ferry\n\nIt sails.",
	}))
	for _, tenant := range []string{"acme", "initech"} {
		must(t, "", "keys", "add", "--tenant", tenant, "--scopes", "build")
	}
	must(t, "", "ingest", "d", "--collection", "docs", "--tenant", "acme")
	look := func(args ...string) string {
		t.Helper()
		out := must(t, "", append([]string{"doctor", "-o", "json", "--cache-dir", filepath.Join(t.TempDir(), "c")}, args...)...)
		for _, useless := range []string{"stacks hold", "test data", "ANCHOR_DATA_DIR", "tenant default"} {
			if strings.Contains(out, useless) {
				t.Errorf("%v: %s:\n%s", args, useless, out)
			}
		}
		return out
	}
	const there, missing = "tenant acme, collection docs: 1 document", "the collection docs of the tenant initech is not there (make it with anchor-host ingest PATH --collection docs --tenant initech)"
	if out := look(); !strings.Contains(out, there) || !strings.Contains(out, missing) || !strings.Contains(out, "2 keys of 2 tenants in ") {
		t.Errorf("doctor:\n%s", out)
	}
	shared, err := os.ReadFile("anchor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("anchor.yaml", append(shared, "collections: {docs: {owner: house, shared: true}}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := look(); strings.Count(out, "--tenant house") != 1 {
		t.Errorf("a shared collection that is not there is one warning, whoever may read it:\n%s", out)
	}
	if err := os.WriteFile("anchor.yaml", shared, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := look("--tenant", "acme"); !strings.Contains(out, there) || strings.Contains(out, "initech") {
		t.Errorf("--tenant acme:\n%s", out)
	}
}
