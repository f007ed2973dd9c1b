package server

import (
	"net/http"
	"strings"
	"testing"
)

// Without keys no page of another site gets through, whatever it sends: GET starts profiles, and a name
// that such a site points to this computer reads answers. Programs, the address bar and pages of the
// service do.
func TestPagesOfOtherSites(t *testing.T) {
	l := start(t, words, Options{})
	if err := l.MountAdmin(Route{Method: "GET", Path: "/metrics", Action: "metrics", Scope: ScopeNone, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{
		"GET d/v1/collections", "GET d/v1/evals", "GET d/livez", "POST d/v1/builds", "DELETE d/v1/memory/facts?all=true",
		"GET a/admin/v1/config", "GET a/admin/v1/plugins", "GET a/metrics", "GET a/debug/pprof/", "GET a/debug/pprof/cmdline", "GET a/readyz?verbose", "POST a/admin/v1/reload",
	} {
		method, path, _ := strings.Cut(target, " ")
		address, path := map[byte]string{'d': l.data, 'a': l.admin}[path[0]], path[1:]
		body := map[string]string{"POST d/v1/builds": `{"query": "q"}`}[target]
		for _, tt := range []struct {
			name    string
			host    string
			header  []string
			refused bool
		}{
			{"a program", "", nil, false}, {"localhost", "localhost:1", nil, false}, {"IPv6", "[::1]:80", nil, false},
			{"the address bar", "", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, false},
			{"a page of the service", "", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + address}, false},
			{"an old browser on a page of the service", "", []string{"Origin", "http://" + address}, false},
			{"another site", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, true},
			{"another port", "", []string{"Sec-Fetch-Site", "same-site"}, true}, {"a word of tomorrow", "", []string{"Sec-Fetch-Site", "near"}, true},
			{"an old browser on another site", "", []string{"Origin", "https://evil.example"}, true}, {"a sandbox", "", []string{"Origin", "null"}, true},
			{"a name of another site", "evil.example", nil, true}, {"its own name", "evil.example", []string{"Sec-Fetch-Site", "same-origin"}, true},
			{"another address", "10.0.0.1", nil, true},
		} {
			r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if r.Host = tt.host; body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			for i := 0; i < len(tt.header); i += 2 {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
			resp, err := l.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if refused := resp.StatusCode == http.StatusForbidden; refused != tt.refused || !refused && resp.StatusCode >= 300 {
				t.Errorf("%s from %s: status %d", target, tt.name, resp.StatusCode)
			}
		}
	}
}

// With keys a page has none, so what needs one needs no other check, and scrapers and probes use the names
// that the network gives the host.
func TestNamesWithKeys(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}})
	for path, want := range map[string]int{"/livez": 200, "/admin/v1/config": 401} {
		r, err := http.NewRequest("GET", "http://"+l.admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "anchor-host.monitoring.svc"
		resp, err := l.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
