package host_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// headerServer answers with the headers it got, and redirects to where the queries
// say, one after another.
func headerServer(t *testing.T) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if to := r.URL.Query()["to"]; len(to) > 0 {
			http.Redirect(w, r, to[0]+"/?"+url.Values{"to": to[1:]}.Encode(), http.StatusFound)
			return
		}
		fmt.Fprintf(w, "Host=%s close=%t length=%d coding=%v", r.Host, r.Close, r.ContentLength, r.TransferEncoding)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(w, " %s=%s", name, r.Header.Get(name))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// plainHeaders are what the server sees of a request for which a guest states none.
func plainHeaders(address string) string {
	return "Host=" + strings.TrimPrefix(address, "http://") + " close=false length=0 coding=[] Accept-Encoding=gzip User-Agent=Go-http-client/1.1"
}

// senders are the two ways to send a request: a plugin by the SDK, and a foreign module.
// They return the body of the answer.
func senders(t *testing.T) map[string]func(address, name, value string) (string, error) {
	t.Helper()
	h := newHost(t, host.Config{})
	cfg := host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*", "http://localhost:*"}, Private: true}}}
	plugin, foreign := loadAllops(t, h, cfg), load(t, h, "foreign-http", cfg)
	return map[string]func(address, name, value string) (string, error){
		"sdk": func(address, name, value string) (string, error) {
			got, err := runFind(t, plugin, map[string]any{"mode": "http", "url": address, "path": name, "word": value}, "")
			if err != nil {
				return "", err
			}
			return strings.TrimPrefix(got[0], "200  "), nil
		},
		"extism": func(address, name, value string) (string, error) {
			doc, err := json.Marshal(map[string]any{"url": address, "headers": map[string]string{name: value}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := foreign.Call(t.Context(), "get", doc)
			if err != nil {
				return "", err
			}
			return string(r.Output), nil
		},
	}
}

// What a guest says about the connection does not leave the host, in whatever case
// it writes the name; everything else does.
func TestHTTPHeadersOfTheConnection(t *testing.T) {
	address, _ := headerServer(t)
	for lane, send := range senders(t) {
		for _, header := range []string{
			"Host: other.test", "hOsT: other.test", "Connection: close", "connection: Upgrade", "Content-Length: 7", "Expect: 100-continue",
			"Keep-Alive: timeout=600", "TE: trailers", "Trailer: X-Late", "Transfer-Encoding: chunked", "transfer-encoding: identity",
			"Upgrade: websocket", "HTTP2-Settings: AAMAAABkAAQAAP__", "Proxy-Authorization: Basic x", "proxy-connection: close", "Proxy-Anything: x",
		} {
			name, value, _ := strings.Cut(header, ": ")
			if got, err := send(address, name, value); err != nil || got != plainHeaders(address) {
				t.Errorf("%s, %s: the server sees %s, error %v", lane, header, got, err)
			}
		}
		for _, header := range []string{"Authorization: Bearer x", "Cookie: a=b", "X-Host: y", "Origin: z", "Proxyx: 1"} {
			name, value, _ := strings.Cut(header, ": ")
			if got, err := send(address, name, value); err != nil || !strings.Contains(got, " "+name+"="+value) {
				t.Errorf("%s, %s: the server sees %s, error %v", lane, header, got, err)
			}
		}
	}
}

// A malformed header ends the call before anything is sent, also one that would be left
// out, and the error does not tell the value.
func TestHTTPMalformedHeaders(t *testing.T) {
	address, requests := headerServer(t)
	for lane, send := range senders(t) {
		for _, tc := range [][2]string{
			{"X-A", "hidden\r\nHost: other.test"}, {"X-A", "hidden\nX-B: c"}, {"X-A", "hidden\r"}, {"X-A", "hidden\x00"}, {"X-A", "hidden\x7f"},
			{"Host", "hidden\r\nX-B: c"}, {"Proxy-A", "hidden\n"}, {"X-A: b\r\nX-B", "hidden"}, {"X A", "hidden"}, {"X-A:", "hidden"},
			{":authority", "hidden"}, {"X-Ä", "hidden"}, {"Transfer-Encoding ", "hidden"}, {"\tHost", "hidden"},
		} {
			_, err := send(address, tc[0], tc[1])
			perr := checkReason(t, err, abi.ReasonTrap)
			if !strings.Contains(perr.Error(), "http_request: header ") || strings.Contains(perr.Error(), "hidden") {
				t.Errorf("%s, %q: error %v", lane, tc, perr)
			}
		}
		if lane == "extism" { // the other one states no header without a name
			_, err := send(address, "", "hidden")
			checkReason(t, err, abi.ReasonTrap)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Of two names that differ in case only, the same one is sent every time.
func TestHTTPHeaderTwice(t *testing.T) {
	address, _ := headerServer(t)
	p := load(t, newHost(t, host.Config{}), "foreign-http", host.PluginConfig{
		Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}}})
	for range 20 {
		r, err := p.Call(t.Context(), "get", fmt.Appendf(nil, `{"url":%q,"headers":{"x-a":"1","X-a":"2","X-A":"3","x-A":"4"}}`, address))
		if err != nil || !strings.Contains(string(r.Output), " X-A=1") {
			t.Fatalf("%+v, error %v", r, err)
		}
	}
}

// Nothing that may be a credential follows a redirect to another host or port, or comes
// back with a second one, the address itself among it, which a key may be part of.
func TestHTTPCredentialsStay(t *testing.T) {
	first, _ := headerServer(t)
	second, _ := headerServer(t)
	named := strings.Replace(first, "127.0.0.1", "localhost", 1)
	for lane, send := range senders(t) {
		for _, tc := range []struct {
			hops []string
			kept bool
		}{
			{[]string{first}, true}, {[]string{first, first}, true},
			{[]string{second}, false}, {[]string{named}, false}, {[]string{second, first}, false}, {[]string{named, first}, false}, {[]string{first, second}, false},
		} {
			address := first + "/?" + url.Values{"to": tc.hops}.Encode()
			for name, kept := range map[string]bool{"Authorization": tc.kept, "Cookie": tc.kept, "X-Api-Key": tc.kept, "Accept": true} {
				got, err := send(address+"&key=hidden", name, "a=secret")
				if err != nil || strings.Contains(got, " "+name+"=a=secret") != kept || !tc.kept && strings.Contains(got, "hidden") {
					t.Errorf("%s, %s to %v: the server sees %s, error %v", lane, name, tc.hops, got, err)
				}
			}
		}
	}
}
