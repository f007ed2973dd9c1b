package conform

import (
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// A grant that the plugin does not ask for gives it no memory, so no check of equal answers is skipped.
func TestGrantsWithoutEffect(t *testing.T) {
	for fixture, remembers := range map[string]bool{"keep-first": false, "foreign-kv": true} {
		s, err := spec.ReadFile("../../testdata/wasm/" + fixture + "/plugin.wasm")
		if err != nil {
			t.Fatal(err)
		}
		g := host.Grants{KV: &host.KVGrant{}, HTTP: &host.HTTPGrant{Hosts: []string{"a.test"}}}
		if got := New(nil, s, host.PluginConfig{Grants: g}).Describe().Remembers; got != remembers {
			t.Errorf("%s: remembers %v", fixture, got)
		}
	}
}
