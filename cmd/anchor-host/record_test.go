package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// asksAllModule moves into a folder with the plugin that asks the host for everything, and returns
// its module.
func asksAllModule(t *testing.T) string {
	t.Helper()
	t.Chdir(write(t, nil))
	if err := os.CopyFS("asks-all", os.DirFS(testbuild.Guest(t, "testdata/guests/asks-all"))); err != nil {
		t.Fatal(err)
	}
	return "asks-all/plugin.wasm"
}

// texts returns all files of a folder as one text, and their number.
func texts(t *testing.T, dir string) (string, int) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(f.Name())
		all.Write(b)
	}
	return all.String(), len(files)
}

// A recorded call is a case that needs no network, and nothing of it is a secret.
func TestRecordAndReplay(t *testing.T) {
	t.Setenv("ANCHOR_HOST_PLUGINS_CACHE_DIR", testbuild.CacheDir(t))
	module := asksAllModule(t)
	const key, pass, added = "key-d41d8cd98f00", "pass-b204e9800998", "added-ecf8427e"
	t.Setenv("RECORDED_KEY", key)
	t.Setenv("RECORDED_HEADER", added)
	var sent atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", r.Header.Get("X-Mine")+r.Header.Get("X-Added"))
		fmt.Fprintf(w, "%s and %s", body, r.URL)
	}))
	defer s.Close()
	call := []string{"plugin", "call", module, "anchor_retrieve", "--input", `{"query": {"query_str": "a b"}, "top_k": 3}`, "--config", "key=${env:RECORDED_KEY}",
		"--set", "pass=" + pass, "--set", "server=" + s.URL, "--allow-host", s.URL, "--allow-kv", "--allow-service", "count_tokens"}
	code, _, stderr := run(t, "", append(call, "--record", "asks-all/tests", "--repeat", "2")...)
	if code != 0 || !strings.Contains(stderr, "recorded 2 calls in asks-all/tests") || strings.Contains(stderr, key) {
		t.Fatalf("code %d: %s", code, stderr)
	}
	config := fmt.Sprintf(`plugins:
  dir: .
  instances:
    notes:
      plugin: asks-all
      config: {key: "${env:RECORDED_KEY}"}
      grants:
        kv: {}
        services: [count_tokens]
        http: {hosts: [%q], methods: [POST], private: true, headers: {%q: {X-Added: "Bearer ${env:RECORDED_HEADER}"}}}
steps:
  - {name: ask, operation: retrieve, use: notes, settings: {server: %q, pass: %s}}
`, s.URL, s.URL, s.URL, pass)
	if err := os.WriteFile("anchor.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "", "build", "--config", "anchor.yaml", "--strict", "--record", "asks-all/tests", "what is new")
	if code != 0 || !strings.Contains(stderr, "recorded 1 calls") {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	plain := strings.NewReplacer(`      config: {key: "${env:RECORDED_KEY}"}`+"\n", "", fmt.Sprintf(`, headers: {%q: {X-Added: "Bearer ${env:RECORDED_HEADER}"}}`, s.URL), "", ", pass: "+pass, "").Replace(config)
	if err := os.WriteFile("plain.yaml", []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "build", "--config", "plain.yaml", "--strict", "--record", "plain", "what is new"); code != 0 || sent.Load() != 4 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	all, n := texts(t, "asks-all/tests")
	for _, secret := range []string{key, pass, added, key[4:14], "d41d8cd98f", "a2V5LWQ0MW"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in the recording:\n%s", secret, all)
		}
	}
	for _, want := range []string{`"body": "{\"key\": \"***\", \"pass\": \"***\"}"`, `"X-Mine": "key ***"`, "&k=***", `"x-echo": "key ***`, `"info: the key is ***"`, `"config": {`, `"text": "one two three"`, `"value": "xx"`} {
		if !strings.Contains(all, want) {
			t.Errorf("the recording lacks %s:\n%s", want, all)
		}
	}
	s.Close()
	before := sent.Load()
	code, stdout, stderr = run(t, "", "plugin", "test", "--short", module, "--set", "server="+s.URL)
	if code != 0 || n != 4 || before != 4 || sent.Load() != before || strings.Count(stdout, "\nown/") != 3 {
		t.Errorf("%d files, %d requests, then %d; code %d: %s%s", n, before, sent.Load(), code, stdout, stderr)
	}
	// The whole build is repeated without the server, and with other secrets. This plugin makes ids of
	// an answer with a secret, which is named.
	t.Setenv("RECORDED_KEY", "another-key-8f00")
	t.Setenv("RECORDED_HEADER", "another-7e")
	code, stdout, stderr = run(t, "", "replay", "asks-all/tests", "--config", "anchor.yaml")
	if lines := strings.Split(stdout, "\n"); code != codeFailure || len(lines) < 3 || !strings.HasPrefix(lines[0], `step "ask": place 1 of the list has item "notes:`) ||
		!strings.Contains(stdout, "note: the answer of POST "+s.URL+"/notes had a secret") || strings.Contains(stdout, "not in the recording") || sent.Load() != before {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	// Without secrets the replay is the same, though the server is gone.
	if code, stdout, stderr := run(t, "", "replay", "plain", "--config", "plain.yaml"); code != codeOK || stdout != "the same, byte for byte\n" || sent.Load() != before {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	// Other settings are named first.
	if err := os.WriteFile("other.yaml", []byte(strings.Replace(config, "pass: "+pass, "pass: other", 1)+"window: {max_tokens: 100}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = run(t, "", "replay", "asks-all/tests", "--config", "other.yaml", "-o", "json")
	for _, want := range []string{`"where": "setting"`, `"steps[0].settings.pass"`, `"window.max_tokens"`} {
		if code != codeFailure || !strings.Contains(stdout, want) {
			t.Errorf("code %d, lacks %s: %s", code, want, stdout)
		}
	}
	t.Setenv("RECORDED_KEY", key)
	t.Setenv("RECORDED_HEADER", added)
	// A failure leaves no secret behind either, and its command needs no server.
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.RemoveAll("asks-all/tests"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = run(t, "", "plugin", "test", "--short", module, "--set", "server="+s.URL, "--allow-host", s.URL, "--set", "pass="+pass, "--allow-kv", "--allow-service", "count_tokens")
	if want := "it was refused (list one; record one with anchor-host plugin call " + module + " anchor_retrieve --input-file FILE --allow-host " + s.URL + " --record tests"; code == 0 || !strings.Contains(stdout, want) {
		t.Errorf("code %d, lacks %q: %s%s", code, want, stdout, stderr)
	}
	repeat := clitest.RepeatCommand(t, stdout)
	kept, _ := texts(t, filepath.Dir(repeat[5]))
	if strings.Contains(kept+stdout, pass) || !strings.Contains(kept, `"pass": "***"`) {
		t.Errorf("the password was kept: %s", kept)
	}
	if code, _, stderr = run(t, "", repeat...); code == 0 || !strings.Contains(stderr, "no response is listed for this request") || sent.Load() != before {
		t.Errorf("%q: code %d: %s", repeat, code, stderr)
	}
}
