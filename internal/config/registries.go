package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/registry/trust"
)

// Registries says how the commands that move plugins reach registries.
type Registries struct {
	Mirrors   map[string][]string `key:"mirrors" doc:"Servers that are asked before a registry when something is pulled, by registry, such as ghcr.io: [mirror.example/ghcr]."`
	Indexes   []string            `key:"indexes" doc:"Indexes that plugin search reads: addresses that begin with https://, or files. Nothing else needs one."`
	PlainHTTP []string            `key:"plain_http" doc:"Registries that are asked without TLS, such as registry.internal:5000. One on this machine needs no entry."`
}

// registries checks the names of servers and the places of indexes.
func (k *checker) registries() {
	r := &k.config.Registries
	for _, host := range slices.Sorted(maps.Keys(r.Mirrors)) {
		at := "registries.mirrors." + host
		k.registryName(at, host, "ghcr.io")
		for i, mirror := range r.Mirrors[host] {
			k.registryName(fmt.Sprintf("%s[%d]", at, i), mirror, "mirror.example/ghcr")
		}
	}
	for i, host := range r.PlainHTTP {
		k.registryName(fmt.Sprintf("registries.plain_http[%d]", i), host, "registry.internal:5000")
	}
	seen := map[string]int{}
	for i, place := range r.Indexes {
		at := fmt.Sprintf("registries.indexes[%d]", i)
		if j, twice := seen[place]; twice {
			k.find(at, "is also at [%d] (keep one)", j)
		}
		seen[place] = i
		if strings.TrimSpace(place) == "" {
			k.find(at, "is empty (name a file, or an address that begins with https://)")
		} else if scheme, _, ok := strings.Cut(place, "://"); ok && scheme != "https" && scheme != "http" {
			k.find(at, "begins with %q (want https://, or a file)", scheme+"://")
		}
	}
}

// registryName checks the name of a registry, or a name and the beginning of a path.
func (k *checker) registryName(at, name, example string) {
	if _, err := trust.Repository(name + "/repository"); err != nil || strings.Contains(name, "@") {
		k.find(at, "%.100q is not the name of a server (want one such as %s)", name, example)
	}
}
