package config

import (
	"strings"
	"testing"
)

func TestRegistries(t *testing.T) {
	l, err := Parse("f", []byte("registries:\n  mirrors:\n    ghcr.io: [mirror.example/ghcr]\n  plain_http: ['registry.internal:5000']\n  indexes: ['https://plugins.example/index.json', index.json]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Registries.Indexes) != 2 || l.Registries.Mirrors["ghcr.io"][0] != "mirror.example/ghcr" || l.Registries.PlainHTTP[0] != "registry.internal:5000" {
		t.Errorf("%+v %+v", l.Registries.Indexes, l.Registries)
	}
	_, err = Parse("f", []byte("registries:\n  mirrors:\n    https://ghcr.io: [m.example]\n    ghcr.io: [UP/..]\n  plain_http: ['https://registry', a/../b]\n  indexes: [a, '', 'ftp://x/y', a]\n"))
	for _, want := range []string{
		"f:6:16: registries.indexes[1]: is empty", `indexes[2]: begins with "ftp://" (want https://, or a file)`, "indexes[3]: is also at [0]",
		`"registries.mirrors.https://ghcr.io": `, "registries.mirrors.ghcr.io[0]: ", "registries.plain_http[0]: ", "registries.plain_http[1]: ",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got: %v", want, err)
		}
	}
}
