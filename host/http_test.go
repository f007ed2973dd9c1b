package host_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

var nothing = &abi.Query{}

// webServer answers, redirects, answers too much, a byte at a time without end, and never.
func webServer(t *testing.T) *url.URL {
	t.Helper()
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Test", r.Host+"/"+r.Header.Get("X-Host"))
		fmt.Fprint(w, "body")
	})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace("http://"+r.Host+"/ok", "127.0.0.1", "localhost", 1), http.StatusFound)
	})
	mux.HandleFunc("/forbidden", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://forbidden.test/ok", http.StatusFound)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 2000))
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil && http.NewResponseController(w).Flush() == nil {
			fmt.Fprint(w, "x")
			time.Sleep(5 * time.Millisecond)
		}
	})
	mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { close(release); s.Close() })
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// slowAnswer is what a request has whose answer does not come.
const slowAnswer = 300 * time.Millisecond

// fetch has the guest send a request.
func fetch(t *testing.T, p *host.Plugin, address string, timeout time.Duration) (string, error) {
	t.Helper()
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: map[string]any{"mode": "http", "url": address}, TopK: 1, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Run(t.Context(), nothing, nil)
	if err != nil {
		return "", err
	}
	return items[0].Content, nil
}

// TestHTTP checks what becomes of each request, twice. A call that fails does so in time
// and leaves nothing, and the plugin can send another.
func TestHTTP(t *testing.T) {
	u := webServer(t)
	local := &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}
	both := &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*", "http://localhost:*"}, Private: true}
	for _, tc := range []struct {
		name, path string
		grant      *host.HTTPGrant
		reason     abi.Reason // empty: it works
		want       string
	}{
		{"allowed", "/ok", local, "", "200 " + u.Host + "/ body"},
		{"not found", "/missing", local, "", "404  404 page not found\n"},
		{"redirect", "/elsewhere", both, "", "200 localhost:" + u.Port() + "/ body"},
		{"redirect to a host not granted", "/elsewhere", local, abi.ReasonDenied, `http to "http://localhost:` + u.Port() + `" is not permitted (its manifest asks for it: grant it with grants.http.hosts`},
		{"redirect to a host not asked for", "/forbidden", &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*", "http://forbidden.test"}, Private: true},
			abi.ReasonDenied, `http to "http://forbidden.test" is not permitted`},
		{"other host granted", "/ok", &host.HTTPGrant{Hosts: []string{"*.example.com"}, Private: true}, abi.ReasonDenied, `http to "http://` + u.Host + `" is not permitted`},
		{"no grant", "/ok", nil, abi.ReasonDenied, `http is not permitted (its manifest asks for it: grant it with grants.http`},
		{"port not granted", "/ok", &host.HTTPGrant{Hosts: []string{"http://127.0.0.1"}, Private: true},
			abi.ReasonDenied, `http to "http://` + u.Host + `" is not permitted`},
		{"scheme not granted", "/ok", &host.HTTPGrant{Hosts: []string{"127.0.0.1:" + u.Port()}, Private: true},
			abi.ReasonDenied, `http to "http://` + u.Host + `" is not permitted`},
		{"redirect to a port not granted", "/elsewhere", &host.HTTPGrant{Hosts: []string{"http://" + u.Host, "http://localhost"}, Private: true},
			abi.ReasonDenied, `http to "http://localhost:` + u.Port() + `" is not permitted`},
		{"private address", "/ok", &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}}, abi.ReasonDenied, `http to private address 127.0.0.1 is not permitted (grant it with grants.http.private)`},
		{"method not granted", "/ok", &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Methods: []string{"POST"}, Private: true},
			abi.ReasonDenied, `http method GET to "http://` + u.Host + `" is not permitted`},
		{"response too large", "/large", local, abi.ReasonInputTooLarge, `http response of more than 1000 bytes (raise limits.http_body)`},
		{"no answer in time", "/never", local, abi.ReasonTimeout, `not done within 300ms`},
		{"slow body", "/slow", local, abi.ReasonTimeout, `not done within 300ms`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, host.Config{})
			before := takeStock(t, h)
			p := loadAllops(t, h, host.PluginConfig{Grants: host.Grants{HTTP: tc.grant}, Limits: host.Limits{HTTPBody: 1000, Timeout: badLimit}})
			limit := badLimit
			if tc.reason == abi.ReasonTimeout {
				limit = slowAnswer
			}
			for range 2 {
				began := time.Now()
				got, err := fetch(t, p, u.String()+tc.path, limit)
				checkTime(t, time.Since(began), limit, tc.reason == abi.ReasonTimeout)
				if tc.reason == "" {
					if err != nil || got != tc.want {
						t.Errorf("found %q, error %v (want %q)", got, err, tc.want)
					}
					continue
				}
				if perr := checkReason(t, err, tc.reason); !strings.Contains(perr.Error(), tc.want) {
					t.Errorf("error %v\nlacks %s", perr, tc.want)
				}
				if got, err := fetch(t, p, u.String()+"/ok", badLimit); tc.grant == local && (err != nil || !strings.HasPrefix(got, "200")) {
					t.Errorf("the next request: found %q, error %v", got, err)
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			checkStock(t, h, before)
		})
	}
}

// An IP address can be granted in each of its notations.
func TestHTTPToIPv6(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
	s.Start()
	t.Cleanup(s.Close)
	for _, asked := range []string{"http://[::1]:*", "http://[0:0::1]:*"} {
		spec := allopsWith(t, "http://127.0.0.1:*", asked)
		for granted, want := range map[string]abi.Reason{"http://[::1]:*": "", "http://[0:0::1]:*": "", "http://[::2]:*": abi.ReasonDenied, "::1": abi.ReasonDenied} {
			p, err := newHost(t, host.Config{}).Load(t.Context(), spec, host.PluginConfig{
				Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{granted}, Private: true}}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := runFind(t, p, map[string]any{"mode": "http", "url": s.URL}, "")
			if want != "" {
				checkReason(t, err, want)
			} else if err != nil || !strings.HasPrefix(got[0], "404") {
				t.Errorf("asked %s, granted %s: found %q, error %v", asked, granted, got, err)
			}
		}
	}
}

// A server that is not there is for the guest to deal with, which learns why. The log of the host says it
// once in a while, without the path.
func TestHTTPUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	var lines bytes.Buffer
	h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	p := loadAllops(t, h, host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}}})
	for range 3 {
		_, err := runFind(t, p, map[string]any{"mode": "http", "url": s.URL + "/path?key=hidden"}, "")
		perr := checkReason(t, err, abi.ReasonGuestError)
		if !strings.Contains(perr.Error(), "no answer: connect") || !strings.Contains(perr.Log, "connection refused") {
			t.Errorf("error %v, log %q", perr, perr.Log)
		}
	}
	const said = `level=WARN msg="http request has no answer" plugin=allops server=127.0.0.1:`
	if got := lines.String(); strings.Count(got, said) != 1 || !strings.Contains(got, "reason=connect") || strings.Contains(got, "hidden") {
		t.Errorf("log: %s", got)
	}
}

// brokenServer redirects to where the query says, and in circles at /round, and breaks
// off what else it is asked for.
func brokenServer(t *testing.T) (address, secure string) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if r.URL.Path == "/round" {
			http.Redirect(w, r, "/round", http.StatusFound)
			return
		}
		panic(http.ErrAbortHandler)
	})
	plain, tls := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(func() { plain.Close(); tls.Close() })
	return plain.URL, tls.URL
}

// Extism lets a request that fails end the call of a foreign module: the error says
// what the network did, and leaves the author out of it. The name is too long
// for any resolver to ask a server for.
func TestForeignHTTPFailures(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	broken, untrusted := brokenServer(t)
	noName := strings.Repeat("n", 64)
	grant := &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*", "https://127.0.0.1:*", "http://" + noName}, Private: true}
	for _, tc := range []struct {
		name, url string
		grant     *host.HTTPGrant
		reason    abi.Reason
		want      []string
	}{
		{"refused", gone.URL + "/a", grant, abi.ReasonTrap, []string{
			"get: trap: http GET " + gone.URL + "/a: dial tcp ", `(host "127.0.0.1" could not be reached: check that it serves this port, and the network)`}},
		{"no such name", "http://" + noName + "/", grant, abi.ReasonTrap, []string{
			"no such host", `(host "` + noName + `" has no address: check the name, and the name server of this machine)`}},
		{"redirect to no such name", broken + "/?to=http://" + noName + "/b", grant, abi.ReasonTrap, []string{
			"trap: http GET http://" + noName + "/b: ", `(host "` + noName + `" has no address: `}},
		{"redirects without end", broken + "/round", grant, abi.ReasonTrap, []string{
			`/round: more than 10 redirects (host "127.0.0.1" or the network failed the request, not the plugin)`}},
		{"broken off", broken, grant, abi.ReasonTrap, []string{
			`EOF (host "127.0.0.1" or the network failed the request, not the plugin)`}},
		{"certificate", untrusted, grant, abi.ReasonTrap, []string{
			`(host "127.0.0.1" has a certificate that this machine does not trust: check both)`}},
		{"no grant", broken, nil, abi.ReasonDenied, []string{"http is not permitted (grant it with grants.http)"}},
		{"other host", "http://other.test/", grant, abi.ReasonDenied, []string{`http to "http://other.test" is not permitted (grant it with grants.http.hosts)`}},
		{"other scheme", "ftp://127.0.0.1/", grant, abi.ReasonDenied, []string{"http to ftp://127.0.0.1 is not permitted (only http and https can be granted)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := load(t, newHost(t, host.Config{}), "foreign-http", host.PluginConfig{Grants: host.Grants{HTTP: tc.grant}})
			_, err := p.Call(t.Context(), "get", fmt.Appendf(nil, `{"url":%q}`, tc.url))
			perr := checkReason(t, err, tc.reason)
			for _, want := range tc.want {
				if !strings.Contains(perr.Error(), want) {
					t.Errorf("error %v\nlacks %s", perr, want)
				}
			}
		})
	}
}

func TestHTTPBadURLs(t *testing.T) {
	h := newHost(t, host.Config{})
	p := loadAllops(t, h, host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://localhost:*"}}}})
	for address, want := range map[string]abi.Reason{
		"file:///etc/passwd": abi.ReasonDenied, "ftp://localhost/": abi.ReasonDenied, "://": abi.ReasonTrap,
		"http://localhost@other.test/": abi.ReasonDenied, "http://[::1]/": abi.ReasonDenied, "": abi.ReasonDenied,
	} {
		_, err := runFind(t, p, map[string]any{"mode": "http", "url": address}, "")
		checkReason(t, err, want)
	}
}

// A document that is no request ends the call, and so does one that is too long.
func TestHTTPBadDocuments(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign-http", host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"a.test"}}}})
	for doc, want := range map[string]string{
		`{"url":"https://a.test/","headers":{"x y":"z"}}`: `http_request: header "x y": the name is malformed`,
		`{"url":"https://a.test/","method":"a b"}`:        `http_request: net/http: invalid method "A B"`,
		`[]`: "http_request: json: cannot unmarshal array",
		`{"url":"https://a.test/` + strings.Repeat("a", 256<<10): "http_request: URL and headers take 262167 bytes, allowed 262144",
	} {
		_, err := p.Call(t.Context(), "get", []byte(doc))
		if perr := checkReason(t, err, abi.ReasonTrap); !strings.Contains(perr.Error(), want) {
			t.Errorf("error %v\nlacks %s", perr, want)
		}
	}
}

// No limit is so large that it becomes none at all, or less.
func TestLongestLimits(t *testing.T) {
	const most = 1<<63 - 1
	u := webServer(t)
	l := host.Limits{Timeout: most, InitTimeout: most, QueueTimeout: most, Fuel: most, Input: most, Output: most, LogBytes: most, HTTPBody: most}
	p := loadAllops(t, newHost(t, host.Config{DefaultLimits: l}),
		host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}}})
	got, err := runFind(t, p, map[string]any{"mode": "http", "url": u.String() + "/ok"}, "")
	if want := "200 " + u.Host + "/ body"; err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%q, error %v (want %q)", got, err, want)
	}
}
