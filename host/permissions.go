package host

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/spec"
)

// intersect returns what a plugin may do. The error names a grant that is not valid. The notes
// name requests that are not granted, and grants that the manifest does not ask for.
func intersect(m *manifest.Manifest, g Grants) (granted, []string, error) {
	if err := g.Check(); err != nil {
		return granted{}, nil, err
	}
	if m == nil {
		return foreignGrants(g), nil, nil
	}
	out := granted{functions: g.Functions}
	var notes []string
	for _, p := range m.Permissions {
		if !out.take(p, g) {
			notes = append(notes, fmt.Sprintf("asks for %s and is not granted it: %s (grant it with %s)", p.Kind, guesttext.Line(p.Reason), grantKey(p)))
		}
	}
	notes = append(notes, unasked(m, g)...)
	return out, notes, nil
}

// foreignGrants takes every grant, because a foreign module has no manifest that could ask.
func foreignGrants(g Grants) granted {
	out := granted{files: g.Files, services: g.Services, functions: g.Functions, ask: g.Ask}
	if g.HTTP != nil {
		out.http = newHTTPRule(g.HTTP, true)
	}
	if g.KV != nil {
		out.kvQuota = g.KV.bytes()
	}
	return out
}

// take adds the part of a request that is granted, and reports whether any is.
func (out *granted) take(p manifest.Permission, g Grants) bool {
	switch p.Kind {
	case manifest.PermissionHTTP:
		if g.HTTP == nil {
			return false
		}
		if out.http == nil {
			out.http = newHTTPRule(g.HTTP, false)
		}
		hosts := []string(p.Hosts)
		if p.Hosts.FromGrant() {
			hosts, out.http.FromGrant = g.HTTP.Hosts, true
		}
		wish, err := egress.ReadServers(hosts, p.Methods)
		if g.HTTP.AnyHost && p.Hosts.FromGrant() {
			wish, out.http.Grant = wish.Anywhere(), out.http.Grant.Anywhere()
		}
		out.http.Wishes = append(out.http.Wishes, wish)
		return err == nil
	case manifest.PermissionFiles:
		for _, f := range g.Files {
			if cleanGuest(f.Guest) != cleanGuest(p.Guest) {
				continue
			}
			out.mount(f, FileMode(p.Mode))
			return true
		}
	case manifest.PermissionKV:
		if g.KV != nil {
			out.kvQuota = max(out.kvQuota, min(g.KV.bytes(), spec.KVQuota(p)))
			return true
		}
	case manifest.PermissionService:
		if slices.Contains(g.Services, p.Service) {
			out.services = append(out.services, p.Service)
			return true
		}
		return out.ask.Take(p.Service, g.Ask)
	}
	return false
}

// asksOf names what a manifest asks for, as imports.Plugin has it. m may be nil.
func asksOf(m *manifest.Manifest) (asks []string) {
	if m == nil {
		return nil
	}
	for _, p := range m.Permissions {
		if what := p.Kind; p.Kind == manifest.PermissionService {
			asks = append(asks, what+" "+p.Service)
		} else {
			asks = append(asks, what)
		}
	}
	return asks
}

// mount adds a folder that is granted and asked for. Several requests for one folder give one
// mount, writable if any request and the grant are.
func (out *granted) mount(f FileGrant, asked FileMode) {
	if asked != ModeRW {
		f.Mode = ModeRO
	}
	at := slices.IndexFunc(out.files, func(m FileGrant) bool { return cleanGuest(m.Guest) == cleanGuest(f.Guest) })
	switch {
	case at < 0:
		out.files = append(out.files, f)
	case f.Mode == ModeRW:
		out.files[at] = f
	}
}

// unasked names the grants that the manifest does not ask for.
func unasked(m *manifest.Manifest, g Grants) []string {
	asks := func(match func(manifest.Permission) bool) bool { return slices.ContainsFunc(m.Permissions, match) }
	var notes []string
	note := func(what string) {
		notes = append(notes, fmt.Sprintf("is granted %s, which its manifest does not ask for: not given", what))
	}
	if g.HTTP != nil && !asks(func(p manifest.Permission) bool { return p.Kind == manifest.PermissionHTTP }) {
		note("http")
	}
	if g.KV != nil && !asks(func(p manifest.Permission) bool { return p.Kind == manifest.PermissionKV }) {
		note("kv")
	}
	for _, f := range g.Files {
		if !asks(func(p manifest.Permission) bool {
			return p.Kind == manifest.PermissionFiles && cleanGuest(p.Guest) == cleanGuest(f.Guest)
		}) {
			note("files at " + f.Guest)
		}
	}
	for _, s := range append(slices.Clone(g.Services), g.Ask.Names()...) {
		if !asks(func(p manifest.Permission) bool { return p.Kind == manifest.PermissionService && p.Service == s }) {
			note("service " + s)
		}
	}
	return notes
}

// Check refuses grants that are not valid. The error names the grant and wraps ErrConfig.
// Check does not look at folders; [Grants.CheckFolders] does.
func (g Grants) Check() error {
	if g.HTTP != nil {
		if err := g.HTTP.check(); err != nil {
			return fmt.Errorf("grants.http%w", err)
		}
	}
	if g.KV != nil {
		if err := (bound{"grants.kv.quota", g.KV.Quota, "", useWhole}).check(); err != nil {
			return err
		}
	}
	for _, s := range g.Services {
		if s != manifest.ServiceCountTokens {
			return fmt.Errorf("grants.services %q: %w (want %s)", s, ErrConfig, manifest.ServiceCountTokens)
		}
	}
	for i, f := range g.Files {
		if err := f.check(); err != nil {
			return fmt.Errorf("grants.files[%d]: %w", i, err)
		}
	}
	if err := g.Ask.Check(); err != nil {
		return fmt.Errorf("grants.%w: %w", err, ErrConfig)
	}
	return nil
}

func (g HTTPGrant) check() error {
	if len(g.Hosts) == 0 && !g.AnyHost {
		return fmt.Errorf(": no hosts: %w (name at least one)", ErrConfig)
	}
	if _, err := egress.ReadServers(g.Hosts, nil); err != nil {
		return fmt.Errorf(".hosts: %w: %w", ErrConfig, err)
	}
	for _, m := range g.Methods {
		if m == "" || strings.Trim(strings.ToUpper(m), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return fmt.Errorf(".methods: %q: %w (want a method, such as GET)", m, ErrConfig)
		}
	}
	if _, err := egress.ReadHeaders(g.Headers, g.Hosts); err != nil {
		return fmt.Errorf(".headers: %w: %w", ErrConfig, err)
	}
	return nil
}

func (f FileGrant) check() error {
	if err := checkChoice("mode", f.Mode, modes); err != nil {
		return err
	}
	switch {
	case f.FS != nil && (f.Host != "" || f.Mode == ModeRW || f.Quota != 0 || f.MaxFiles != 0):
		return fmt.Errorf("guest %q: a file system: %w (it takes the place of host, and is read-only)", f.Guest, ErrConfig)
	case f.FS == nil && f.Host == "" || !path.IsAbs(f.Guest):
		return fmt.Errorf("host %q, guest %q: %w (want a directory and an absolute path inside the guest)", f.Host, f.Guest, ErrConfig)
	}
	return firstBad(bound{"quota", f.Quota, "", useReadOnly}, bound{"max_files", int64(f.MaxFiles), "", useReadOnly})
}

// bytes is the quota in force.
func (g *KVGrant) bytes() int64 { return numberOf(cmp.Or(g.Quota, DefaultKVQuota), math.MaxInt64) }

func cleanGuest(p string) string { return path.Clean("/" + p) }

// grantKey is the configuration key for granting a permission.
func grantKey(p manifest.Permission) string {
	switch {
	case p.Kind != manifest.PermissionService:
		return "grants." + p.Kind
	case p.Service == manifest.ServiceCountTokens:
		return "grants.services"
	}
	return "grants." + p.Service
}

// openClient makes the client of a plugin that may send requests.
func (p *Plugin) openClient() {
	if p.setup.granted.http == nil {
		return
	}
	headers, _ := egress.ReadHeaders(p.setup.cfg.Grants.HTTP.Headers, p.setup.cfg.Grants.HTTP.Hosts) // were checked
	p.client = egress.NewClient(egress.Options{
		Headers: headers,
		Rule:    p.setup.granted.http, MaxBody: p.setup.limits.HTTPBody, Take: p.files.Take, Give: p.files.Give,
		Transport: p.setup.host.cfg.HTTPTransport, Guard: p.guard,
	})
}

// secretTexts are the texts that no log line and no error shows: the secrets, and the headers
// that the host adds, whole and without a scheme such as Bearer.
func (c *PluginConfig) secretTexts() []string {
	texts := slices.Clone(c.Secrets)
	if g := c.Grants.HTTP; g != nil {
		for _, headers := range g.Headers {
			for _, value := range headers {
				_, after, _ := strings.Cut(value, " ")
				texts = append(texts, value, after)
			}
		}
	}
	return texts
}

// newHTTPRule makes the rule of a grant, which was checked before.
func newHTTPRule(g *HTTPGrant, foreign bool) *egress.Rule {
	servers, _ := egress.ReadServers(g.Hosts, g.Methods) // an unreadable one grants nothing
	return &egress.Rule{Grant: servers, Foreign: foreign, Private: g.Private}
}
