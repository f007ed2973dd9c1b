//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stderrLog is stderr of a command that runs.
type stderrLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *stderrLog) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func (g *stderrLog) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

// wait waits until a pattern matches, and returns its groups.
func (g *stderrLog) wait(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(5 * time.Millisecond) {
		if m := re.FindStringSubmatch(g.String()); m != nil {
			return m
		}
	}
	t.Fatalf("no %q in:\n%s", pattern, g)
	return nil
}

// states listens in the place of systemd. The function waits for the next state.
func states(t *testing.T) (next func(want string)) {
	dir, err := os.MkdirTemp("", "notify") //nolint:usetesting // the name of a socket has at most some 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		socket.Close()
		os.RemoveAll(dir)
	})
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "s"))
	return func(want string) {
		t.Helper()
		b := make([]byte, 64)
		if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if n, err := socket.Read(b); err != nil || string(b[:n]) != want {
			t.Errorf("systemd gets %q, %v; want %q", b[:n], err, want)
		}
	}
}

// serve takes requests, reloads on SIGHUP, and ends with code 0 when it is interrupted. systemd
// hears when it is ready and when it ends.
func TestServe(t *testing.T) {
	const text = "counting: {tokenizer: words}\nserver: {drain_delay: none, watch: false}\npipelines: {p: {window: {system_prompts: [{content: VERSION}]}}}\n"
	t.Chdir(write(t, map[string]string{"anchor.yaml": strings.Replace(text, "VERSION", "one", 1)}))
	t.Setenv("ANCHOR_HOST_SERVER_ADMIN_LISTEN", "127.0.0.1:0")
	systemd := states(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr, exit := &stderrLog{}, make(chan int, 1)
	go func() {
		exit <- doMain(ctx, []string{"serve", "--store", "s.db", "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug"}, nil, io.Discard, stderr)
	}()
	addresses := stderr.wait(t, `(?s)"msg":"loading the plugins.*the API is at (http://127\.0\.0\.1:\d+), and health and reload at (http://127\.0\.0\.1:\d+)`)
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	build := func(want string) {
		t.Helper()
		resp, err := client.Post(addresses[1]+"/v1/builds", "application/json", strings.NewReader(`{"query": "q", "pipeline": "p"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(want)) {
			t.Errorf("status %d, %v: %s, want %q", resp.StatusCode, err, body, want)
		}
	}
	systemd("READY=1")
	build("one")
	if err := os.WriteFile("anchor.yaml", []byte(strings.Replace(text, "VERSION", "two", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	stderr.wait(t, `"msg":"configuration is reloaded","why":"SIGHUP","generation":2`)
	build("two")
	resp, err := client.Get(addresses[2] + "/admin/v1/config")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !bytes.Contains(body, []byte(`"path":"server.admin_listen","value":"127.0.0.1:0","origin":"environment ANCHOR_HOST_SERVER_ADMIN_LISTEN"`)) {
		t.Errorf("configuration: %s", body)
	}
	stderr.wait(t, `"msg":"answered","request":"\w+","method":"POST","route":"/v1/builds","status":200`)
	cancel()
	systemd("STOPPING=1")
	select {
	case code := <-exit:
		if code != codeOK {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	case <-time.After(patience):
		t.Fatal("still running")
	}
}

// serve refuses what it cannot do, and says what to do.
func TestServeRefusals(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\n", "bad.yaml": "server: {listen: here}\n", "tls.yaml": "server: {tls: {cert: none.pem}}\n",
		"missing.yaml": "server: {tls: {cert: none.pem, key: none.pem}}\n", "small.yaml": "server: {max_body: 2MiB, max_bodies: 1MiB}\n",
	}))
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"serve --listen 0.0.0.0:0":    {codeInvalid, "listen on 127.0.0.1, or set server.keys"},
		"serve --admin-listen [::]:0": {codeInvalid, "server.admin_listen [::]:0"},
		"serve --listen here":         {codeUsage, "want a host and a port"},
		"serve -c bad.yaml":           {codeInvalid, "bad.yaml:1:18: server.listen: want a host and a port"},
		"serve -c tls.yaml":           {codeInvalid, "a certificate needs its key"},
		"serve -c missing.yaml":       {codeNotFound, "none.pem"},
		"serve -c small.yaml":         {codeInvalid, "want at least 4MiB, twice max_body"},
		"serve --log-format xml":      {codeUsage, "want text or json"},
		"serve -c nowhere.yaml":       {codeNotFound, "anchor-host init"},
	} {
		args := append(strings.Fields(line), "--store", "s.db")
		if !strings.Contains(line, "--listen") {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		if !strings.Contains(line, "--admin") {
			args = append(args, "--admin-listen", "none")
		}
		code, _, stderr := run(t, "", args...)
		if code != want.code || !strings.Contains(stderr, want.text) {
			t.Errorf("%s: code %d, want %d: %s", line, code, want.code, stderr)
		}
	}
}
