package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"

	"github.com/anchor-host/anchor-host/tokens"
)

// foreverManifest is that of the fixture, and asks for everything.
const foreverManifest = `abi: 1
name: host-calls-forever
version: 0.1.0
operations: {filter: {reads: [score]}}
permissions:
  - {kind: files, guest: /m, mode: rw, reason: "reads a large file"}
  - {kind: kv, reason: "looks up long keys"}
  - {kind: http, hosts: ["http://localhost:*"], reason: "states long requests"}
  - {kind: service, service: count_tokens, reason: "counts long texts"}
`

// loadForever loads the guest that has the host work for it, with everything it
// asks for and a large sparse file.
func loadForever(t *testing.T, cfg host.Config, timeout time.Duration) *host.Plugin {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	wasm, err := os.ReadFile(filepath.Join(fixtures, "host-calls-forever", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read("host-calls-forever", wasm, []byte(foreverManifest))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newHost(t, cfg).Load(t.Context(), spec, host.PluginConfig{
		Limits: host.Limits{Timeout: timeout, InitTimeout: time.Minute, Memory: 128 << 20},
		Grants: host.Grants{
			Files: []host.FileGrant{{Host: dir, Guest: "/m", Mode: host.ModeRW}}, KV: &host.KVGrant{},
			HTTP: &host.HTTPGrant{Hosts: []string{"http://localhost:*"}}, Services: []string{manifest.ServiceCountTokens},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkStop calls a function that never ends by itself and checks that it ends
// with its time.
func checkStop(t *testing.T, p *host.Plugin, name string, timeout time.Duration) {
	t.Helper()
	began := time.Now()
	_, err := p.Call(t.Context(), name, nil)
	checkTime(t, time.Since(began), timeout, true)
	checkReason(t, err, abi.ReasonTimeout)
}

// What the host does for a guest counts: no function of the host holds a call
// up beyond its time.
func TestHostCallsEndWithTheTime(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
		p := loadForever(t, host.Config{Engine: engine}, timeout)
		for _, name := range []string{
			"anchor_filter", "alloc", "config_get", "var_get", "var_set", "error_set", "log_error", "count_tokens", "fd_read",
		} {
			t.Run(string(engine)+"/"+name, func(t *testing.T) {
				checkStop(t, p, name, timeout)
			})
		}
	}
}

// Tokens are counted by a tokenizer that takes its time.
func TestCountTokensEndsWithTheTime(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	encoding, err := tokens.Get("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	p := loadForever(t, host.Config{Tokenizer: encoding}, timeout)
	checkStop(t, p, "count_tokens", timeout)
}

// The same work ends with the fuel, too.
func TestHostCallsDrawFuel(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "host-calls-forever", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Fuel: 3_000_000}})
	_, err := p.Call(t.Context(), "anchor_filter", nil)
	if perr := checkReason(t, err, abi.ReasonFuel); !strings.Contains(perr.Error(), "allowed 3000000") {
		t.Errorf("error %v", perr)
	}
}

func TestHostCallsRefuseSizes(t *testing.T) {
	p := loadForever(t, host.Config{}, 10*time.Second)
	for _, tc := range []struct{ call, want string }{
		{"count_tokens_once", "input_too_large: anchor_count_tokens: text of 30000000 bytes, allowed 1048576 (count it in parts)"},
		{"kv_get_once", "trap: anchor_kv_get: the key has 30000000 bytes, allowed 4096 " + isAFault},
		{"kv_set_once", "trap: anchor_kv_set: the key has 30000000 bytes, allowed 4096 " + isAFault},
		{"var_set_once", "trap: var_set: the name has 30000000 bytes, allowed 4096 " + isAFault},
		{"http_request_once", "trap: http_request: URL and headers take 30000000 bytes, allowed 262144 " + isAFault},
		{"http_body_once", "input_too_large: http request body of 30000000 bytes, allowed 8388608 (raise limits.http_body)"},
		{"http_batch_once", "trap: anchor_http_batch: URLs and headers take 30000000 bytes, allowed 262144 " + isAFault},
		{"http_batch_wild", "trap: anchor_http_batch: the requests are not a block " + isAFault},
		{"http_batch_empty", "trap: anchor_http_batch: invalid character '\\x00' looking for beginning of value " + isAFault},
	} {
		t.Run(tc.call, func(t *testing.T) {
			_, err := p.Call(t.Context(), tc.call, nil)
			if want := `plugin "host-calls-forever": ` + tc.call + ": " + tc.want; err == nil || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}
