package grants

import (
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/config"
)

// A grant of a server that the manifest does not name has no effect, and is reported.
func TestGrantOfAnUnnamedHost(t *testing.T) {
	asked := []manifest.Permission{{Kind: "http", Hosts: []string{"api.example.com", "*.example.org"}}}
	notes := Compare(asked, config.Grants{HTTP: &config.HTTPGrant{Hosts: []string{
		"api.example.com", "a.example.org", "*.org.example.org", "api.exmaple.com", "http://api.example.com"}}})
	want := []string{
		`is granted http to "api.exmaple.com", which its plugin does not ask for (remove the grant)`,
		`is granted http to "http://api.example.com", which its plugin does not ask for (remove the grant)`,
	}
	if !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	leftToOperator := []manifest.Permission{{Kind: "http", Hosts: manifest.HostList{}}}
	if notes := Compare(leftToOperator, config.Grants{HTTP: &config.HTTPGrant{Hosts: []string{"api.test"}}}); len(notes) != 0 {
		t.Errorf("a manifest that leaves the servers to the operator: notes %q", notes)
	}
}
