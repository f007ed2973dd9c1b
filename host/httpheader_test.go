package host

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// Credentials stay with the scheme, host and port they were shown to, and do not come
// back after they were left behind.
func TestDropCredentials(t *testing.T) {
	for hops, kept := range map[string]bool{
		"http://a.test/1 http://a.test/2":                        true,
		"http://a.test/1 http://A.test/2 http://a.test/3":        true,
		"https://a.test/1 http://a.test/2":                       false,
		"http://a.test/1 http://a.test:8080/2":                   false,
		"http://a.test/1 http://b.test/2":                        false,
		"http://a.test/1 http://x.a.test/2":                      false,
		"http://a.test/1 http://b.test/2 http://a.test/3":        false,
		"http://a.test/1 http://a.test/2 http://b.test/3":        false,
		"https://a.test/1 http://a.test/2 https://a.test/secret": false,
	} {
		var via []*http.Request
		for _, address := range strings.Fields(hops) {
			req, err := http.NewRequest(http.MethodGet, address, nil)
			if err != nil {
				t.Fatal(err)
			}
			via = append(via, req)
		}
		last := via[len(via)-1]
		for _, name := range []string{"Authorization", "Cookie", "X-Other"} {
			last.Header.Set(name, "x")
		}
		dropCredentials(last, via[:len(via)-1])
		if h := last.Header; (h.Get("Authorization") != "") != kept || (h.Get("Cookie") != "") != kept || h.Get("X-Other") == "" {
			t.Errorf("%s: %v", hops, h)
		}
	}
}

// Every text is a header, left out, or a fault; none goes beyond its line.
func FuzzSetHeaders(f *testing.F) {
	for _, s := range []string{"", "Accept", "a b", "host", "x\r\nHost", "a:b", ":path", "proxy-x", "ü", "x\x00", "a\nb"} {
		f.Add(s, "v")
		f.Add("X-Ok", s)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		req := &http.Request{Header: http.Header{}}
		if err := setHeaders(req, map[string]string{name: value}); err != nil {
			var known *fault
			if !errors.As(err, &known) || known.code != abi.ReasonTrap || len(req.Header) != 0 {
				t.Fatalf("%q: %v, %v", name, err, req.Header)
			}
			return
		}
		for key, values := range req.Header {
			if strings.ContainsAny(key, ":\r\n\x00 ") || strings.ContainsAny(values[0], "\r\n\x00") || key == "Host" || strings.HasPrefix(key, "Proxy-") {
				t.Fatalf("%q: %q is sent as %q", name, value, req.Header)
			}
		}
	})
}
