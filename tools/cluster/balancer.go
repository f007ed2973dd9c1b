package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// balancer passes requests to hosts in turn. A host that takes no connection is left out for a moment, and
// the request goes to another one. A request that was sent is not sent again: it may have been done.
type balancer struct {
	hosts     []*host
	down      []atomic.Int64 // until when, in nanoseconds of the clock of the machine
	next      atomic.Int64
	transport *http.Transport
	listener  net.Listener
	server    *http.Server
}

// away is how long a host that takes no connection is left out.
const away = 50 * time.Millisecond

func newBalancer(hosts []*host) (*balancer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{hosts: hosts, down: make([]atomic.Int64, len(hosts)), listener: l, transport: &http.Transport{
		MaxIdleConnsPerHost: 64, DisableCompression: true, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext,
	}}
	b.server = &http.Server{Handler: b}
	go func() { _ = b.server.Serve(l) }() // it ends with close
	return b, nil
}

func (b *balancer) url() string { return "http://" + b.listener.Addr().String() }

func (b *balancer) close() {
	_ = b.server.Close()
	b.transport.CloseIdleConnections()
}

// ServeHTTP passes one request on.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	first := int(b.next.Add(1))
	for i := range b.hosts {
		n := (first + i) % len(b.hosts)
		if time.Now().UnixNano() < b.down[n].Load() {
			continue
		}
		resp, err := b.send(r.Context(), b.hosts[n], r, body)
		if dialed := new(net.OpError); errors.As(err, &dialed) && dialed.Op == "dial" {
			b.down[n].Store(time.Now().Add(away).UnixNano())
			continue
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("host %s: %v", b.hosts[n].name, err), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for _, name := range []string{"Content-Type", "Retry-After"} {
			if v := resp.Header.Get(name); v != "" {
				w.Header().Set(name, v)
			}
		}
		w.Header().Set("X-Host", b.hosts[n].name)
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(w, resp.Body); err != nil {
			panic(http.ErrAbortHandler) // the client sees that the answer is not whole
		}
		return
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "no host takes requests", http.StatusServiceUnavailable)
}

func (b *balancer) send(ctx context.Context, h *host, r *http.Request, body []byte) (*http.Response, error) {
	to, err := url.Parse(h.url())
	if err != nil {
		return nil, err
	}
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.RequestURI = to.Scheme, to.Host, ""
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = nil // so that the transport never sends it twice
	return b.transport.RoundTrip(out)
}
