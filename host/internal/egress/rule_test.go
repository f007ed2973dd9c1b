package egress

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/manifest"

	"github.com/anchor-host/anchor-host/internal/addresses"
)

// servers reads patterns of hosts.
func servers(t *testing.T, hosts []string, methods ...string) Servers {
	t.Helper()
	patterns := make([]manifest.HostPattern, len(hosts))
	for i, h := range hosts {
		p, err := manifest.ParseHostPattern(h)
		if err != nil {
			t.Fatal(err)
		}
		patterns[i] = p
	}
	return NewServers(patterns, methods)
}

func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "ff02::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false,
		"2002:a00:1::": false, "168.63.129.16": false, "168.63.129.17": true, "fec0::1": false, "feff::1": false,
		"::8.8.8.8": false, "::10.0.0.1": false,
	} {
		if got := addresses.Public(netip.MustParseAddr(address).Unmap()); got != want {
			t.Errorf("public(%s) = %t", address, got)
		}
	}
}

// The addresses by which clouds tell credentials are out of reach where private
// addresses are allowed, in every form that leads to them, unless grant and manifest
// name them.
func TestGuardedAddresses(t *testing.T) {
	rule := func(private bool, asked string, hosts ...string) *Rule {
		return &Rule{Grant: servers(t, hosts), Wishes: []Servers{servers(t, strings.Fields(asked))}, Private: private}
	}
	loose := rule(true, "*.example.com http://10.0.0.1", "*.example.com", "http://10.0.0.1")
	for address, want := range map[string]string{
		"10.0.0.1:80": "", "127.0.0.1:80": "", "[::1]:80": "", "[fd00::1]:80": "", "100.64.0.1:80": "", "93.184.216.34:443": "",
		"[64:ff9b::a00:1]:80": "", "[2002:a00:1::]:80": "",
		"169.254.169.254:80": "169.254.169.254", "169.254.170.2:80": "169.254.170.2", "[::ffff:169.254.169.254]:80": "169.254.169.254",
		"[fd00:ec2::254]:80": "fd00:ec2::254", "168.63.129.16:80": "168.63.129.16", "100.100.100.200:80": "100.100.100.200",
		"192.0.0.192:80": "192.0.0.192", "[fd20:ce::254]:80": "fd20:ce::254", "[fe80::a9fe:a9fe]:80": "fe80::a9fe:a9fe",
		"[fe80::a9fe:a9fe%eth0]:80": "fe80::a9fe:a9fe", "[fec0::1]:80": "fec0::1", "[::a9fe:a9fe]:80": "::a9fe:a9fe", "[::]:80": "::",
		"[64:ff9b::a9fe:a9fe]:80": "64:ff9b::a9fe:a9fe", "[2002:a9fe:a9fe::1]:80": "2002:a9fe:a9fe::1",
		"[2001:0:1:1:1:1:5601:5601]:80": "2001:0:1:1:1:1:5601:5601", "[2600::5efe:a9fe:a9fe]:80": "2600::5efe:a9fe:a9fe",
	} {
		err := loose.CheckAddress(address)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "http to guarded address "+want+" is not permitted")) {
			t.Errorf("%s: %v", address, err)
		}
		if strict := rule(false, "*.example.com", "*.example.com"); want != "" && strict.CheckAddress(address) == nil {
			t.Errorf("%s: reached without private", address)
		}
	}
	const metadata = "http://169.254.169.254"
	for _, tc := range []struct {
		name string
		rule *Rule
		to   string
		ok   bool
	}{
		{"named by both", rule(true, metadata, metadata), "169.254.169.254:80", true},
		{"named, other port", rule(true, metadata, metadata), "169.254.169.254:8080", false},
		{"named by the grant", rule(true, "http://169.254.169.254.nip.io", metadata), "169.254.169.254:80", false},
		{"named by the manifest", rule(true, metadata, "http://*.nip.io"), "169.254.169.254:80", false},
		{"named, not private", rule(false, metadata, metadata), "169.254.169.254:80", false},
		{"another is named", rule(true, metadata, metadata), "169.254.170.2:80", false},
	} {
		if err := tc.rule.CheckAddress(tc.to); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// A request is held to scheme, host and port of the grant and of one wish, which must
// also have its method.
func TestRule(t *testing.T) {
	r := &Rule{Grant: servers(t, []string{"api.example.com", "http://localhost:*", "*.example.org:8443"}, "get", "POST"), Wishes: []Servers{
		servers(t, []string{"api.example.com", "api.example.com:8443", "*.example.org:*"}),
		servers(t, []string{"http://localhost:8080"}, "POST"),
	}}
	for request, want := range map[string]string{
		"GET https://api.example.com/x":          "",
		"GET https://API.example.com.:443/x":     "",
		"GET https://u:p@api.example.com/x":      "",
		"POST http://localhost:8080/":            "",
		"GET https://a.b.example.org:8443/":      "",
		"GET http://api.example.com/x":           `http to "http://api.example.com"`,
		"GET https://api.example.com:8443/x":     `http to "https://api.example.com:8443"`,
		"GET https://api.example.com:22/":        `http to "https://api.example.com:22"`,
		"GET http://localhost:8081/":             `http to "http://localhost:8081"`,
		"GET http://localhost/":                  `http to "http://localhost"`,
		"GET https://example.org:8443/":          `http to "https://example.org:8443"`,
		"GET https://a.example.org/":             `http to "https://a.example.org"`,
		"POST https://api.example.com/":          `http method POST to "https://api.example.com"`,
		"GET http://localhost:8080/":             `http method GET to "http://localhost:8080"`,
		"DELETE https://api.example.com/":        `http method DELETE to "https://api.example.com"`,
		"GET https://u:p@other.example.com/":     `http to "https://other.example.com"`,
		"GET ftp://api.example.com/":             "http to ftp://api.example.com",
		"GET https://api.example.com:99999/":     `http to "https://api.example.com:99999"`,
		"GET https://\u24d0.example.org:8443/":   "http to ",
		"GET https://a\u3002example.org:8443/":   "http to ",
		"GET https://api.example.com%2eevil.eu/": "-",
	} {
		method, address, _ := strings.Cut(request, " ")
		u, err := url.Parse(address)
		if err != nil {
			if want != "-" {
				t.Errorf("%s: %v", request, err)
			}
			continue
		}
		err = r.Check(method, u)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v (want %s)", request, err, want)
		}
	}
}

// A refusal says whether the manifest, the grants or both lack the request, and what to do.
func TestRefusal(t *testing.T) {
	foreign := &Rule{Grant: servers(t, []string{"a.test"}), Foreign: true}
	asks := &Rule{
		Grant: servers(t, []string{"a.test", "granted.test"}), Private: true,
		Wishes: []Servers{servers(t, []string{"a.test", "asked.test"}, "GET", "PUT"), servers(t, []string{"plain.test"})},
	}
	chosen := &Rule{Grant: servers(t, []string{"a.test"}), Wishes: []Servers{servers(t, []string{"a.test"})}, FromGrant: true, Private: true}
	get := func(r *Rule, address string) error {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return r.Check("GET", u)
	}
	const both = "its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with "
	for _, tc := range []struct {
		err  error
		want Refusal
	}{
		{get(foreign, "https://b.test"), Refusal{`http to "https://b.test"`, "grant it with grants.http.hosts"}},
		{get(asks, "https://b.test"), Refusal{`http to "https://b.test"`, both + "grants.http.hosts"}},
		{get(asks, "https://asked.test"), Refusal{`http to "https://asked.test"`, "its manifest asks for it: grant it with grants.http.hosts"}},
		{get(asks, "https://granted.test"), Refusal{`http to "https://granted.test"`, "it is granted, but its manifest does not ask for it: add it to permissions in plugin.yaml"}},
		{get(asks, "http://a.test"), Refusal{`http to "http://a.test"`, "only https is permitted for this host: request https, or name the host with http:// in the manifest and in grants.http.hosts"}},
		{asks.Check("PUT", &url.URL{Scheme: "https", Host: "a.test"}), Refusal{`http method PUT to "https://a.test"`, "its manifest asks for it: grant it with grants.http.methods"}},
		{asks.Check("DELETE", &url.URL{Scheme: "https", Host: "a.test"}), Refusal{`http method DELETE to "https://a.test"`, both + "grants.http.methods"}},
		{get(chosen, "https://b.test"), Refusal{`http to "https://b.test"`, "its manifest leaves the servers to you: grant it with grants.http.hosts"}},
		{get(chosen, "http://a.test"), Refusal{`http to "http://a.test"`, "only https is permitted for this host: request https, or name the host with http:// in grants.http.hosts"}},
		{chosen.Check("PUT", &url.URL{Scheme: "https", Host: "a.test"}), Refusal{`http method PUT to "https://a.test"`, both + "grants.http.methods"}},
		{chosen.CheckAddress("169.254.169.254:80"), Refusal{"http to guarded address 169.254.169.254", "its manifest leaves the servers to you: grant it with this address itself in grants.http.hosts"}},
		{get(asks, "ftp://a.test"), Refusal{"http to ftp://a.test", "only http and https can be granted"}},
		{foreign.CheckAddress("10.0.0.1:80"), Refusal{"http to private address 10.0.0.1", "grant it with grants.http.private"}},
		{foreign.CheckAddress("10.0.0.1"), Refusal{"http to address 10.0.0.1", "grant it with grants.http.private"}},
		{asks.CheckAddress("169.254.169.254:80"), Refusal{"http to guarded address 169.254.169.254", both + "this address itself in grants.http.hosts"}},
	} {
		var got *Refusal
		if !errors.As(tc.err, &got) || *got != tc.want || tc.err.Error() != tc.want.What+" is not permitted" {
			t.Errorf("%+v (want %+v)", tc.err, tc.want)
		}
	}
}
