package egress

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What a guest shows to one server stays with its scheme, host and port, whatever its
// name, and does not come back after it was left behind. Nothing goes from https to http.
func TestLeaveOrigin(t *testing.T) {
	for hops, want := range map[string]string{
		"http://a.test/1 http://a.test/2":                         "kept",
		"http://a.test/1 http://A.test/2 http://a.test/3":         "kept",
		"https://u:p@a.test/1 https://u:p@a.test/2":               "kept",
		"https://a.test/1 http://a.test/2":                        "refused",
		"https://a.test/1 http://b.test/2":                        "refused",
		"http://a.test/1 https://a.test/2":                        "dropped",
		"http://a.test/1 http://a.test:8080/2":                    "dropped",
		"http://a.test/1 http://u:p@b.test/2":                     "dropped",
		"http://a.test/1 http://x.a.test/2":                       "dropped",
		"http://a.test/1 http://b.test/2 http://a.test/3":         "dropped",
		"http://a.test/1 http://a.test/2 http://b.test/3":         "dropped",
		"http://a.test/1 https://a.test/2 http://a.test/secret":   "refused",
		"https://a.test/1 https://b.test/2 https://a.test/secret": "dropped",
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
		secret := []string{"Authorization", "Cookie", "X-Api-Key", "Referer", "X-Other", "Origin"}
		harmless := []string{"Accept", "Content-Type", "User-Agent"}
		for _, name := range slices.Concat(secret, harmless) {
			last.Header.Set(name, "x")
		}
		err := LeaveOrigin(last, via[:len(via)-1])
		if (err != nil) != (want == "refused") {
			t.Errorf("%s: %v (want it %s)", hops, err, want)
		}
		if err != nil {
			continue
		}
		for _, name := range secret {
			if (last.Header.Get(name) != "") != (want == "kept") {
				t.Errorf("%s: %s is there: %t", hops, name, want != "kept")
			}
		}
		for _, name := range harmless {
			if last.Header.Get(name) == "" {
				t.Errorf("%s: %s is gone", hops, name)
			}
		}
		if (last.URL.User != nil) && want != "kept" {
			t.Errorf("%s: keeps %v", hops, last.URL.User)
		}
	}
}

// Every text is a header, left out, or an error; none goes beyond its line.
func FuzzSetHeaders(f *testing.F) {
	for _, s := range []string{"", "Accept", "a b", "host", "x\r\nHost", "a:b", ":path", "proxy-x", "ü", "x\x00", "a\nb"} {
		f.Add(s, "v")
		f.Add("X-Ok", s)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		req := &http.Request{Header: http.Header{}}
		if err := SetHeaders(req.Header, map[string]string{name: value}); err != nil {
			if len(req.Header) != 0 || strings.ContainsAny(err.Error(), "\r\n\x00") {
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
