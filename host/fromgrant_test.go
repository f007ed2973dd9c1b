package host

import (
	"net/url"
	"testing"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

// A plugin that leaves its hosts to the operator reaches those of the grant alone, with the
// methods that both name. Guarded addresses need to be named, as in any grant.
func TestHostsFromGrant(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"abi":1,"name":"p","version":"0.1.0","operations":{"filter":{}},
		"permissions":[{"kind":"http","hosts":"from_grant","methods":["GET","POST"],"reason":"asks the operator's server"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	none, notes, err := intersect(m, Grants{})
	if err != nil || none.http != nil || len(notes) != 1 {
		t.Errorf("without a grant: rule %v, notes %q, error %v", none.http, notes, err)
	}
	some, notes, err := intersect(m, Grants{HTTP: &HTTPGrant{Hosts: []string{"api.test", "http://10.0.0.1:8080"}, Methods: []string{"GET", "DELETE"}, Private: true}})
	if err != nil || len(notes) != 0 {
		t.Fatalf("notes %q, error %v", notes, err)
	}
	for request, want := range map[string]bool{
		"https://api.test/x": true, "http://10.0.0.1:8080/": true, "https://other.test/": false, "http://api.test/": false, "https://api.test:8443/": false,
		"http://169.254.169.254/": false,
	} {
		u, err := url.Parse(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := some.http.Check("GET", u); (err == nil) != want {
			t.Errorf("%s: %v", request, err)
		}
		if some.http.Check("DELETE", u) == nil || some.http.Check("POST", u) == nil {
			t.Errorf("%s: a method that only one of both names", request)
		}
	}
	if some.http.CheckAddress("169.254.169.254:443") == nil {
		t.Error("a guarded address is reached through a name")
	}
	anywhere, _, err := intersect(m, Grants{HTTP: &HTTPGrant{AnyHost: true, Methods: []string{"GET"}}})
	if err != nil || anywhere.http.Check("GET", &url.URL{Scheme: "http", Host: "any.test"}) != nil {
		t.Errorf("any host: %v", err)
	}
	if anywhere.http.Check("POST", &url.URL{Scheme: "http", Host: "any.test"}) == nil || anywhere.http.CheckAddress("10.0.0.1:80") == nil ||
		anywhere.http.CheckAddress("169.254.169.254:80") == nil {
		t.Error("any host allows a method or an address that is not granted")
	}
	fixed, err := manifest.Parse([]byte(`{"abi":1,"name":"p","version":"0.1.0","operations":{"filter":{}},"permissions":[{"kind":"http","hosts":["a.test"],"reason":"asks"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if own, _, err := intersect(fixed, Grants{HTTP: &HTTPGrant{AnyHost: true}}); err != nil || own.http.Check("GET", &url.URL{Scheme: "https", Host: "a.test"}) == nil {
		t.Errorf("any host allows one that the manifest names and the grant does not: %v", err)
	}
	named, _, err := intersect(m, Grants{HTTP: &HTTPGrant{Hosts: []string{"http://169.254.169.254"}, Private: true}})
	if err != nil || named.http.CheckAddress("169.254.169.254:80") != nil {
		t.Errorf("an address that the operator names: %v", err)
	}
}
