package host_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// fetchAll has the guest send a batch. timeout is that of each request, "" for none.
func fetchAll(t *testing.T, p *host.Plugin, limit time.Duration, timeout string, addresses ...string) (string, error) {
	t.Helper()
	settings := map[string]any{"mode": "batch", "url": strings.Join(addresses, " "), "word": timeout}
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: settings, TopK: 1, Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Run(t.Context(), nothing, nil)
	if err != nil {
		return "", err
	}
	return items[0].Content, nil
}

// The requests of a batch are under way at the same time: the server answers none before it
// has all of them.
func TestHTTPBatchAtOnce(t *testing.T) {
	const n = 6
	var under atomic.Int32
	all := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if under.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done(): // the call's time is over
		}
		w.Header().Set("X-Test", r.Header.Get("X-Number"))
		fmt.Fprint(w, r.URL.Path)
	}))
	t.Cleanup(s.Close)
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Limits: host.Limits{Timeout: badLimit},
		Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}}})
	var addresses []string
	want := ""
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("%s/%d", s.URL, i))
		want += fmt.Sprintf("200 %d /%d\n", i, i)
	}
	if got, err := fetchAll(t, p, badLimit, "", addresses...); err != nil || got != want {
		t.Errorf("found %q, error %v (want %q)", got, err, want)
	}
}

// TestHTTPBatch checks what becomes of batches: what is refused, late or too large ends no
// more than the call, and what one request cannot have does not cost the others theirs.
func TestHTTPBatch(t *testing.T) {
	t.Parallel()
	u := webServer(t)
	base := u.String()
	local := &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}
	for _, tc := range []struct {
		name    string
		timeout bool
		grant   *host.HTTPGrant
		paths   string
		reason  abi.Reason
		want    string
	}{
		{"two", false, local, "/ok /missing", "", "200 " + u.Host + "/ body\n404  404 page not found\n\n"},
		{"one is late", true, local, "/ok /never /slow", "", "200 " + u.Host + "/ body\n0timeout  \n0timeout  \n"},
		{"none", false, local, "", "", "nothing"},
		{"no grant", false, nil, "/ok", abi.ReasonDenied, "http is not permitted"},
		{"redirect", false, local, "/ok /elsewhere", abi.ReasonDenied, `http to "http://localhost:` + u.Port() + `" is not permitted`},
		{"private", false, &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}}, "/ok", abi.ReasonDenied, "http to private address 127.0.0.1"},
		{"large", false, local, "/ok /large", abi.ReasonInputTooLarge, "raise limits.http_body"},
		{"all the time", false, local, "/ok /never", abi.ReasonTimeout, "not done within 300ms"},
		{"too many", false, local, strings.Repeat("/ok ", 33), abi.ReasonGuestError, "33 requests at once (send at most 32)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Grants: host.Grants{HTTP: tc.grant}, Limits: host.Limits{HTTPBody: 1000, Timeout: badLimit}})
			limit := badLimit
			if tc.reason == abi.ReasonTimeout {
				limit = slowAnswer
			}
			addresses := strings.Fields(tc.paths)
			for i := range addresses {
				addresses[i] = base + addresses[i]
			}
			for range 2 {
				var got string
				var err error
				if !tc.timeout {
					got, err = fetchAll(t, p, limit, "", addresses...)
				} else {
					await.Enough(100*time.Millisecond, func(each time.Duration) bool { // for what is not late
						got, err = fetchAll(t, p, limit, each.String(), addresses...)
						return err != nil || got == tc.want
					})
				}
				if tc.reason == "" {
					if err != nil || got != tc.want {
						t.Errorf("found %q, error %v (want %q)", got, err, tc.want)
					}
					continue
				}
				if perr := checkReason(t, err, tc.reason); !strings.Contains(perr.Error(), tc.want) {
					t.Errorf("error %v\nlacks %s", perr, tc.want)
				}
			}
		})
	}
}

// Headers of the grant are checked when it is read, and no error tells their values.
func TestHTTPGrantHeaders(t *testing.T) {
	for _, tc := range []struct {
		headers map[string]map[string]string
		want    string
	}{
		{map[string]map[string]string{"api.test": {"Authorization": "secret"}}, ""},
		{map[string]map[string]string{"api.test:443": {"Authorization": "secret"}, "api.test": {"X": "secret"}}, "twice"},
		{map[string]map[string]string{"*.api.test": {"Authorization": "secret"}}, "not one server"},
		{map[string]map[string]string{"other.test": {"Authorization": "secret"}}, "list the host in hosts too"},
		{map[string]map[string]string{"http://api.test": {"Authorization": "secret"}}, "list the host in hosts too"},
		{map[string]map[string]string{"api.test": {"Authorization": "secret\nX: y"}}, "line break"},
		{map[string]map[string]string{"a b": {"Authorization": "secret"}}, "want a host"},
	} {
		err := host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"api.test", "*.api.test"}, Headers: tc.headers}}.Check()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: %v", tc.headers, err)
		}
	}
}

// A plugin uses a key that it never sees, also if the server repeats it.
func TestHTTPKeyStaysOutside(t *testing.T) {
	seen := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		w.Header().Set("X-Test", r.Header.Get("Authorization"))
		fmt.Fprint(w, "you sent ", r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{
		Hosts: []string{s.URL}, Private: true, Headers: map[string]map[string]string{s.URL: {"Authorization": "Bearer sesame-123"}},
	}}})
	got, err := fetch(t, p, s.URL, badLimit)
	if at := <-seen; err != nil || at != "Bearer sesame-123" || got != "200 ***************** you sent *****************" {
		t.Errorf("the server sees %q, the guest %q, error %v", at, got, err)
	}
}
