// Package grants compares the permissions that plugins ask for with those that a configuration gives them.
package grants

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Compare lists permissions that the plugin asks for without a grant, and grants that it
// does not ask for.
func Compare(asked []manifest.Permission, g config.Grants) []string {
	var notes []string
	for _, p := range asked {
		switch granted := Granted(p, g); {
		case p.Hosts.FromGrant() && !granted:
			notes = append(notes, fmt.Sprintf("asks for http to hosts of your choice and is not granted it: %s (choose them in grants.http.hosts)", p.Reason))
		case !granted:
			notes = append(notes, fmt.Sprintf("asks for %s and is not granted it: %s", p.Kind, p.Reason))
		}
	}
	asks := func(match func(manifest.Permission) bool) bool { return slices.ContainsFunc(asked, match) }
	kind := func(k string) func(manifest.Permission) bool {
		return func(p manifest.Permission) bool { return p.Kind == k }
	}
	unasked := func(what string) {
		notes = append(notes, fmt.Sprintf("is granted %s, which its plugin does not ask for (remove the grant)", what))
	}
	if g.HTTP != nil && !asks(kind("http")) {
		unasked("http")
	}
	if g.HTTP != nil && asks(kind("http")) {
		for _, host := range unaskedHosts(asked, g.HTTP.Hosts) {
			unasked("http to " + strconv.Quote(host))
		}
	}
	if g.KV != nil && !asks(kind("kv")) {
		unasked("kv")
	}
	for _, f := range g.Files {
		if !asks(func(p manifest.Permission) bool { return p.Kind == "files" && sameFolder(p.Guest, f.Guest) }) {
			unasked("files at " + f.Guest)
		}
	}
	for _, s := range services(g) {
		if !asks(func(p manifest.Permission) bool { return p.Kind == "service" && p.Service == s }) {
			unasked("service " + s)
		}
	}
	return notes
}

// unaskedHosts lists the granted hosts that share no server with a host of the manifest, so that
// the grant has no effect.
func unaskedHosts(asked []manifest.Permission, granted []string) (out []string) {
	for _, host := range granted {
		g, err := manifest.ParseHostPattern(host)
		if err != nil { // another check reports it
			continue
		}
		used := slices.ContainsFunc(asked, func(p manifest.Permission) bool {
			return p.Hosts.FromGrant() || p.Kind == "http" && slices.ContainsFunc(p.Hosts, func(h string) bool {
				a, err := manifest.ParseHostPattern(h)
				return err != nil || a.Covers(g) || g.Covers(a)
			})
		})
		if !used {
			out = append(out, host)
		}
	}
	return out
}

// Granted reports whether grants include a permission that a plugin asks for.
func Granted(p manifest.Permission, g config.Grants) bool {
	switch p.Kind {
	case "http":
		return g.HTTP != nil
	case "kv":
		return g.KV != nil
	case "files":
		return slices.ContainsFunc(g.Files, func(f config.FileGrant) bool { return sameFolder(p.Guest, f.Guest) })
	case "service":
		return slices.Contains(services(g), p.Service)
	}
	return false
}

// services are the names of the services that are granted.
func services(g config.Grants) []string {
	names := slices.Clone(g.Services)
	if g.Embed != nil {
		names = append(names, manifest.ServiceEmbed)
	}
	if g.Search != nil {
		names = append(names, manifest.ServiceSearch)
	}
	if g.LLM != nil {
		names = append(names, manifest.ServiceLLM)
	}
	return names
}

func sameFolder(a, b string) bool { return path.Clean(a) == path.Clean(b) }
