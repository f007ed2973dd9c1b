package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// tripper is a transport of an embedder.
type tripper func(req *http.Request) (*http.Response, error)

func (f tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// CloseIdleConnections is for the embedder to call.
func (tripper) CloseIdleConnections() { panic("the client closes connections that are not its own") }

func reply(body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// The grant holds with a transport of the embedder, hop by hop; the transport sees no
// request that is not granted, and no credential that must stay behind.
func TestTransportKeepsGrants(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sent []string
	rt := tripper(func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req.URL.String())
		if _, ok := req.Context().Deadline(); !ok {
			t.Error("no deadline")
		}
		if req.Header.Get("Host") != "" || (req.URL.Host == "other.test") == (req.Header.Get("Authorization") == "secret") {
			t.Errorf("%s: headers %v", req.URL, req.Header)
		}
		resp := reply("from " + req.URL.Host)
		if to, ok := strings.CutPrefix(req.URL.Path, "/to/"); ok {
			resp.StatusCode, resp.Header = http.StatusFound, http.Header{"Location": {"https://" + to}}
		}
		return resp, nil
	})
	c := newClient(t, rt, false, "api.test", "other.test", "10.0.0.1", "169.254.169.254")
	for _, tt := range []struct {
		url, want string
		sent      int
	}{
		{"https://api.test/", "from api.test", 1},
		{"https://api.test/to/other.test/", "from other.test", 2},
		{"https://api.test:8443/", "http to", 0},
		{"http://api.test/", "http to", 0},
		{"https://evil.test/", "http to", 0},
		{"https://api.test/to/evil.test/", "http to", 1},
		{"https://10.0.0.1/", "http to private address", 0},
		{"https://169.254.169.254/", "http to private address", 0},
		{"https://api.test/to/10.0.0.1/", "http to private address", 1},
	} {
		sent = nil
		answer, err := c.Send(ctx, fmt.Appendf(nil, `{"url":%q,"headers":{"Authorization":"secret","Host":"evil"}}`, tt.url), nil)
		got := string(answer.Body)
		var r *Refusal
		if errors.As(err, &r) {
			got = r.What
		}
		if !strings.HasPrefix(got, tt.want) || len(sent) != tt.sent {
			t.Errorf("%s: %q, error %v, requests %q", tt.url, got, err, sent)
		}
	}
}

// A transport reaches private addresses behind names, which is the embedder's matter.
func TestTransportResolves(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	t.Cleanup(s.Close)
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	rt := tripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(context.WithoutCancel(req.Context()))
		req.Host, req.URL.Scheme, req.URL.Host = req.URL.Host, "http", strings.TrimPrefix(s.URL, "http://")
		return base.RoundTrip(req)
	})
	c := newClient(t, rt, false, "internal.test")
	if got, err := c.Send(t.Context(), []byte(`{"url":"https://internal.test/"}`), nil); err != nil || string(got.Body) != "internal.test" {
		t.Errorf("%q, error %v", got.Body, err)
	}
}

// A connection has a file descriptor from before it is dialed until it is closed, or fails.
func TestConnectionsAreCounted(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	open, full := 0, errors.New("no more files")
	take := func() error {
		if open == 1 {
			return full
		}
		open++
		return nil
	}
	dial := countedDial(take, func() { open-- }, new(net.Dialer).DialContext)
	address := strings.TrimPrefix(s.URL, "http://")
	conn, err := dial(t.Context(), "tcp", address)
	if err != nil || open != 1 {
		t.Fatalf("%d open, error %v", open, err)
	}
	if _, err := dial(t.Context(), "tcp", address); !errors.Is(err, full) {
		t.Errorf("one too many: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	_ = conn.Close() // gives nothing back a second time
	s.Close()
	if _, err := dial(t.Context(), "tcp", address); err == nil || open != 0 {
		t.Errorf("a server that is gone: %v, %d open", err, open)
	}
}

// A transport can say that the own time of a request is over, without waiting a day for it.
func TestTransportPlaysLate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := newClient(t, tripper(func(req *http.Request) (*http.Response, error) {
		if late := Late(req.Context()); late != nil {
			return nil, late
		}
		return reply("in time"), nil
	}), false, "api.test")
	_, err := c.Send(ctx, []byte(`{"url":"https://api.test/","timeout_ms":86400000}`), nil)
	var failure *Failure
	if !errors.As(err, &failure) || failure.Word() != "timeout" || !strings.Contains(err.Error(), "no answer within 24h0m0s") {
		t.Errorf("with a time of its own: error %v, want a timeout", err)
	}
	if answer, err := c.Send(ctx, []byte(`{"url":"https://api.test/"}`), nil); err != nil || string(answer.Body) != "in time" {
		t.Errorf("without: %q, error %v", answer.Body, err)
	}
}
