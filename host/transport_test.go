package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// tripper is a transport of an embedder.
type tripper func(req *http.Request) (*http.Response, error)

func (f tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// CloseIdleConnections is for the embedder to call.
func (tripper) CloseIdleConnections() { panic("the host closes connections that are not its own") }

func reply(body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// getter loads the foreign guest that sends requests, and returns what has it send one.
func getter(t *testing.T, rt http.RoundTripper, grant host.HTTPGrant, limits host.Limits) (*host.Plugin, func(url string) (string, error)) {
	t.Helper()
	p := load(t, newHost(t, host.Config{HTTPTransport: rt}), "foreign-http", host.PluginConfig{Grants: host.Grants{HTTP: &grant}, Limits: limits})
	return p, func(url string) (string, error) {
		r, err := p.Call(host.WithTenant(t.Context(), "acme"), "get", fmt.Appendf(nil, `{"url":%q,"headers":{"Authorization":"secret","Host":"evil"}}`, url))
		if err != nil {
			return "", err
		}
		return string(r.Output), nil
	}
}

// Bodies and headers of a transport are bounded, and what it does wrong ends the call, in
// time, and nothing else.
func TestHostileHTTPTransport(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	broken := errors.New("no proxy")
	var do atomic.Value
	good := tripper(func(*http.Request) (*http.Response, error) { return reply("good"), nil })
	rt := tripper(func(req *http.Request) (*http.Response, error) { return do.Load().(tripper)(req) })
	limits := host.Limits{HTTPBody: 100, Instances: 1, Timeout: badLimit, BreakAfter: -1}
	patient, askPatient := getter(t, rt, host.HTTPGrant{Hosts: []string{"api.test"}}, limits)
	limits.Timeout = badTime
	hasty, askHasty := getter(t, rt, host.HTTPGrant{Hosts: []string{"api.test"}}, limits)
	for _, tt := range []struct {
		name   string
		do     tripper
		reason abi.Reason
		text   string
	}{
		{"error", func(*http.Request) (*http.Response, error) { return nil, broken }, abi.ReasonTrap, "no proxy"},
		{"panic", func(*http.Request) (*http.Response, error) { panic("transport") }, abi.ReasonTrap, "panicked: transport"},
		{"goexit", func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil }, abi.ReasonTrap, "ended its goroutine"},
		{"nothing", func(*http.Request) (*http.Response, error) { return nil, nil }, abi.ReasonTrap, "nil"},
		{"large body", func(*http.Request) (*http.Response, error) { return reply(strings.Repeat("x", 101)), nil }, abi.ReasonInputTooLarge, "more than 100 bytes"},
		{"large header", func(*http.Request) (*http.Response, error) {
			r := reply("")
			r.Header.Set("X-Large", strings.Repeat("x", 1<<20))
			return r, nil
		}, abi.ReasonTrap, "headers of"},
		{"broken body", func(*http.Request) (*http.Response, error) {
			r := reply("")
			r.Body = io.NopCloser(iotest.ErrReader(broken))
			return r, nil
		}, abi.ReasonTrap, "no proxy"},
		{"slow", func(*http.Request) (*http.Response, error) { <-release; return nil, broken }, abi.ReasonTimeout, "not done within 100ms"},
		{"slow body", func(*http.Request) (*http.Response, error) {
			r := reply("")
			r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) { <-release; return 0, io.EOF }))
			return r, nil
		}, abi.ReasonTimeout, "not done within 100ms"},
	} {
		get := askPatient
		if tt.reason == abi.ReasonTimeout {
			get = askHasty
		}
		do.Store(tt.do)
		began := time.Now()
		_, err := get("https://api.test/")
		if perr := checkReason(t, err, tt.reason); !strings.Contains(perr.Error(), tt.text) || time.Since(began) > badLimit {
			t.Errorf("%s: %v after %v", tt.name, perr, time.Since(began))
		}
		do.Store(good)
		var got string
		until(t, "the next request has time enough", func() bool {
			got, err = get("https://api.test/")
			return tt.reason != abi.ReasonTimeout || !errors.Is(err, context.DeadlineExceeded)
		})
		if got != "good" {
			t.Errorf("after %s: %q, error %v", tt.name, got, err)
		}
	}
	if p, h := patient.Stats(), hasty.Stats(); p.InUse != 0 || h.InUse != 0 || p.OK != 7 || h.OK != 2 {
		t.Errorf("%+v, %+v", p, h)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
