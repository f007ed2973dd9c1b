package host

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
)

// The kinds of permissions.
const (
	permHTTP    = "http"
	permFiles   = "files"
	permKV      = "kv"
	permService = "service"
)

// granted is what a plugin may do: the intersection of what its manifest asks
// for and what the operator grants.
type granted struct {
	http     *httpRule
	files    []FileGrant
	kvQuota  int64 // 0: no store
	services []string
	// functions are names of the embedder's functions. The import itself asks
	// for them.
	functions []string
}

// httpRule allows a request when both lists of hosts and of methods do. nil
// lists of the wish allow everything.
type httpRule struct {
	wish    []abi.Permission
	foreign bool
	grant   HTTPGrant
}

// intersect works out what a plugin may do. Errors name grants that are not
// valid; the notes name requests that are not granted and grants that were not
// asked for.
func intersect(m *abi.Manifest, g Grants) (granted, []string, error) {
	if err := checkGrants(g); err != nil {
		return granted{}, nil, err
	}
	if m == nil {
		return foreignGrants(g), nil, nil
	}
	out := granted{functions: g.Functions}
	var notes []string
	for _, p := range m.Permissions {
		if !out.take(p, g) {
			notes = append(notes, fmt.Sprintf("asks for %s and is not granted it: %s (grant it with %s)", p.Kind, oneLine(p.Reason), grantKey(p.Kind)))
		}
	}
	notes = append(notes, unasked(m, g)...)
	return out, notes, nil
}

// foreignGrants takes every grant: a foreign module has no manifest to ask.
func foreignGrants(g Grants) granted {
	out := granted{files: g.Files, services: g.Services, functions: g.Functions}
	if g.HTTP != nil {
		out.http = &httpRule{foreign: true, grant: *g.HTTP}
	}
	if g.KV != nil {
		out.kvQuota = pick(g.KV.Quota, DefaultKVQuota)
	}
	return out
}

// take adds the part of a request that is granted and reports whether there is
// any.
func (out *granted) take(p abi.Permission, g Grants) bool {
	switch p.Kind {
	case permHTTP:
		if g.HTTP == nil {
			return false
		}
		if out.http == nil {
			out.http = &httpRule{grant: *g.HTTP}
		}
		out.http.wish = append(out.http.wish, p)
		return true
	case permFiles:
		for _, f := range g.Files {
			if cleanGuest(f.Guest) != cleanGuest(p.Guest) {
				continue
			}
			if p.Mode != ModeRW {
				f.Mode = ModeRO
			}
			out.files = append(out.files, f)
			return true
		}
	case permKV:
		if g.KV != nil {
			out.kvQuota = min(pick(g.KV.Quota, DefaultKVQuota), quotaOf(p))
			return true
		}
	case permService:
		if slices.Contains(g.Services, p.Service) {
			out.services = append(out.services, p.Service)
			return true
		}
	}
	return false
}

// unasked names the grants that no request of the manifest matches.
func unasked(m *abi.Manifest, g Grants) []string {
	asks := func(match func(abi.Permission) bool) bool { return slices.ContainsFunc(m.Permissions, match) }
	var notes []string
	note := func(what string) {
		notes = append(notes, fmt.Sprintf("is granted %s, which its manifest does not ask for: not given", what))
	}
	if g.HTTP != nil && !asks(func(p abi.Permission) bool { return p.Kind == permHTTP }) {
		note("http")
	}
	if g.KV != nil && !asks(func(p abi.Permission) bool { return p.Kind == permKV }) {
		note("kv")
	}
	for _, f := range g.Files {
		if !asks(func(p abi.Permission) bool {
			return p.Kind == permFiles && cleanGuest(p.Guest) == cleanGuest(f.Guest)
		}) {
			note("files at " + f.Guest)
		}
	}
	for _, s := range g.Services {
		if !asks(func(p abi.Permission) bool { return p.Kind == permService && p.Service == s }) {
			note("service " + s)
		}
	}
	return notes
}

// checkGrants refuses grants that could never match.
func checkGrants(g Grants) error {
	if g.HTTP != nil {
		if len(g.HTTP.Hosts) == 0 {
			return fmt.Errorf("grants.http: no hosts: %w (name at least one)", ErrConfig)
		}
		for _, h := range g.HTTP.Hosts {
			if err := checkHostPattern(h); err != nil {
				return fmt.Errorf("grants.http.hosts: %w", err)
			}
		}
	}
	if g.KV != nil && g.KV.Quota < 0 {
		return fmt.Errorf("grants.kv.quota %d: %w", g.KV.Quota, ErrConfig)
	}
	for _, s := range g.Services {
		if s != ServiceCountTokens {
			return fmt.Errorf("grants.services %q: %w (want %s)", s, ErrConfig, ServiceCountTokens)
		}
	}
	for i, f := range g.Files {
		if f.Mode != "" && f.Mode != ModeRO && f.Mode != ModeRW {
			return fmt.Errorf("grants.files[%d]: mode %q: %w (want ro or rw)", i, f.Mode, ErrConfig)
		}
		if f.Host == "" || !path.IsAbs(f.Guest) {
			return fmt.Errorf("grants.files[%d]: host %q, guest %q: %w (want a directory and an absolute path inside the guest)",
				i, f.Host, f.Guest, ErrConfig)
		}
	}
	return nil
}

// checkHostPattern accepts host names, "*." before one, and IP addresses.
func checkHostPattern(h string) error {
	if _, ok := abi.HostAddress(h); ok {
		return nil
	}
	name := strings.TrimPrefix(h, "*.")
	if name == "" || strings.ContainsAny(name, "*/ \t@:[]") {
		return fmt.Errorf("host %q: %w (want a host name without scheme and port, such as api.example.com or *.example.com, or an IP address)", h, ErrConfig)
	}
	return nil
}

// hostMatches reports whether a host fits a pattern: equal, below the name after
// "*.", or the same IP address in whatever notation.
func hostMatches(pattern, host string) bool {
	if want, ok := abi.HostAddress(pattern); ok {
		got, ok := abi.HostAddress(host)
		return ok && got == want
	}
	pattern, host = strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(host, "."))
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok && strings.HasPrefix(suffix, ".") {
		return len(host) > len(suffix) && strings.HasSuffix(host, suffix)
	}
	return pattern == host
}

func cleanGuest(p string) string { return path.Clean("/" + p) }

// grantKey is the configuration key that grants a kind of permission.
func grantKey(kind string) string {
	if kind == permService {
		return "grants.services"
	}
	return "grants." + kind
}
