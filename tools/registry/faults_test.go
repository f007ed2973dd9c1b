package registrytest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/registry"
)

// cutting forwards connections to a server, and breaks each after some bytes. It returns its own
// address. limit says how many bytes pass; a negative number breaks nothing.
func cutting(t *testing.T, to string, limit func() int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go forward(in, to, limit())
		}
	}()
	return l.Addr().String()
}

func forward(in net.Conn, to string, limit int64) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, in)
		out.Close()
	}()
	if limit < 0 {
		_, _ = io.Copy(in, out)
		return
	}
	_, _ = io.CopyN(in, out, limit)
	_ = in.(*net.TCPConn).SetLinger(0) // the client sees a reset
}

// TestBrokenConnections pushes and pulls through a proxy that breaks connections at random
// places. Each attempt succeeds with the right bytes or fails with an error that has a name,
// and once the connections hold, what was begun is finished.
func TestBrokenConnections(t *testing.T) {
	s := dockerRegistry(t)
	random := rand.New(rand.NewPCG(1, 2))
	var calm atomic.Bool
	proxied := s
	proxied.host = cutting(t, s.host, func() int64 {
		if calm.Load() {
			return -1
		}
		return random.Int64N(1_500_000)
	})
	login(t, s.host, proxied.host)
	a := artifact(t, "1.0.0", 2_000_000)
	ref, err := s.client(t, registry.Options{}).Push(t.Context(), s.ref("acme/p", "1"), a, registry.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ref.Host = proxied.host
	failed := 0
	for range 15 {
		calm.Store(false)
		c := proxied.client(t, registry.Options{})
		p, err := c.Pull(t.Context(), ref)
		if err != nil {
			failed++
			if !errors.Is(err, registry.ErrUnreachable) {
				t.Errorf("pull: %v", err)
			}
			calm.Store(true)
			if p, err = c.Pull(t.Context(), ref); err != nil {
				t.Fatalf("pull when connections hold: %v", err)
			}
		}
		if !bytes.Equal(p.Module, a.Module) {
			t.Fatal("the module has other bytes")
		}
	}
	t.Logf("%d of 15 pulls failed while connections broke", failed)
	for i := range 10 {
		calm.Store(false)
		b := artifact(t, fmt.Sprintf("1.1.%d", i), 500_000)
		to := proxied.ref("acme/p", fmt.Sprintf("1.1.%d", i))
		c := proxied.client(t, registry.Options{})
		if _, err := c.Push(t.Context(), to, b, registry.PushOptions{}); err != nil {
			if !errors.Is(err, registry.ErrUnreachable) {
				t.Errorf("push: %v", err)
			}
			calm.Store(true)
			if _, err := c.Push(t.Context(), to, b, registry.PushOptions{}); err != nil {
				t.Fatalf("push when connections hold: %v", err)
			}
		}
		calm.Store(true)
		if p, err := proxied.client(t, registry.Options{}).Pull(t.Context(), to); err != nil || !bytes.Equal(p.Module, b.Module) {
			t.Fatalf("what was pushed: %v", err)
		}
	}
}

// TestChangedBytes pulls through a proxy that changes bytes, truncates bodies and answers with
// errors. No module with other bytes is ever accepted.
func TestChangedBytes(t *testing.T) {
	s := inProcess(t, true)
	a := artifact(t, "1.0.0", 300_000)
	if _, err := s.client(t, registry.Options{}).Push(t.Context(), s.ref("acme/p", "1"), a, registry.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.host})
	proxy.ModifyResponse = func(answer *http.Response) error {
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		switch random.IntN(12) {
		case 0:
			answer.StatusCode = http.StatusServiceUnavailable
		case 1:
			answer.StatusCode = http.StatusTooManyRequests
		case 2, 3:
			if len(body) > 0 {
				body[random.IntN(len(body))] ^= 1 << random.IntN(8)
			}
		case 4:
			body = body[:random.IntN(len(body)+1)]
			answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		answer.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	s.host = handler(t, proxy)
	pulled := 0
	for begin := time.Now(); time.Since(begin) < 10*time.Second; {
		p, err := s.client(t, registry.Options{}).Pull(t.Context(), s.ref("acme/p", "1").At(a.Digest))
		if err == nil {
			pulled++
			if !bytes.Equal(p.Module, a.Module) {
				t.Fatal("a module with other bytes was accepted")
			}
		} else if !errors.Is(err, registry.ErrDigest) && !errors.Is(err, registry.ErrUnreachable) && !errors.Is(err, registry.ErrBusy) {
			t.Errorf("pull: %v", err)
		}
	}
	if pulled == 0 {
		t.Error("no pull succeeded")
	}
	t.Logf("%d pulls succeeded", pulled)
}
