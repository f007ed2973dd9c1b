package manifest

import (
	"net/url"
	"testing"
)

func TestParseHostPattern(t *testing.T) {
	for _, bad := range []string{
		"", "*", "*.", ".", "..", ".example.com", "a..b", "a.b..", "ftp://a.example", "://a", "https://", "a.example/", "http://a.example/path",
		"u@a.example", "a.example:", "a.example:0", "a.example:65536", "a.example:+1", "a.example:x", "a.example:-1", "a b", "bücher.example",
		"*.1.2.3.4", "*.[::1]", "*.*.example", "a*.example", "[10.0.0.1]", "[::1", "::1]", "fe80::1%eth0", "[fe80::1%eth0]:80", "[::1]x", "a:80:80", "?",
	} {
		if p, err := ParseHostPattern(bad); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestHostPatternMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, url string
		want         bool
	}{
		{"example.com", "https://example.com/x?y", true}, {"example.com", "https://EXAMPLE.com.:443", true}, {"Example.COM.", "https://example.com", true},
		{"example.com", "https://example.com:0443", true}, {"example.com", "https://u:p@example.com", true},
		{"example.com", "http://example.com", false}, {"example.com", "https://example.com:80", false}, {"example.com", "ftp://example.com", false},
		{"example.com", "https://a.example.com", false}, {"example.com", "https://example.com@evil.example", false},
		{"http://example.com", "http://example.com", true}, {"http://example.com", "https://example.com", false}, {"http://example.com", "http://example.com:443", false},
		{"example.com:80", "https://example.com:80", true}, {"example.com:80", "http://example.com:80", false},
		{"HTTP://example.com:*", "http://example.com:22", true}, {"http://example.com:*", "https://example.com", false},
		{"*.example.com", "https://a.example.com", true}, {"*.example.com", "https://a.b.example.com.", true}, {"*.example.com", "https://example.com", false},
		{"*.example.com", "https://.example.com", false}, {"*.example.com", "https://badexample.com", false}, {"*.example.com", "https://a..example.com", false},
		{"*.0.0.1", "https://127.0.0.1", false}, {"localhost", "https://127.0.0.1", false}, {"10.0.0.1", "https://localhost", false},
		{"::1", "https://[::1]", true}, {"[::1]", "https://[0:0::1]:443", true}, {"[::1]:8443", "https://[::1]:8443", true}, {"::1", "https://[::1]:8443", false},
		{"2001:DB8::1", "https://[2001:db8::1]", true}, {"http://[::1]:*", "http://[::1]:1", true}, {"::1", "https://[::2]", false},
		{"::ffff:127.0.0.1", "https://127.0.0.1", true}, {"127.0.0.1", "https://[::ffff:7f00:1]", true}, {"fe80::1", "https://[fe80::1%25eth0]", false},
	} {
		p, err := ParseHostPattern(tc.pattern)
		u, uerr := url.Parse(tc.url)
		if err != nil || uerr != nil {
			t.Errorf("%q, %q: %v, %v", tc.pattern, tc.url, err, uerr)
		} else if got := p.Matches(u); got != tc.want {
			t.Errorf("%q matches %q: %t", tc.pattern, tc.url, got)
		}
	}
	if (HostPattern{}).Matches(&url.URL{}) || (HostPattern{}).Matches(&url.URL{Scheme: "https", Host: "a"}) {
		t.Error("the zero pattern matches")
	}
}

// Whatever a covered pattern matches, the covering one does.
func FuzzHostPatternCovers(f *testing.F) {
	for _, s := range [][3]string{
		{"*.example.com", "a.example.com", "https://a.example.com"}, {"*.b.c:*", "*.a.b.c:1", "https://x.a.b.c:1"}, {"http://[::1]:*", "http://[::1]", "http://[::1]"},
		{"a", "a.", "https://A"}, {"*.example.com", "*.example.com", "https://example.com"}, {"10.0.0.1", "::ffff:10.0.0.1", "https://10.0.0.1"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, wide, narrow, address string) {
		p, err := ParseHostPattern(wide)
		q, qerr := ParseHostPattern(narrow)
		u, uerr := url.Parse(address)
		if err != nil || qerr != nil || uerr != nil {
			return
		}
		if !p.Covers(p) || p.Covers(q) && q.Matches(u) && !p.Matches(u) {
			t.Errorf("%q covers %q, which matches %q", wide, narrow, address)
		}
	})
}
