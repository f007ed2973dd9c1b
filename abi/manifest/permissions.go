package manifest

import (
	"path"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// The host services that a plugin can ask for.
const (
	// ServiceCountTokens counts tokens.
	ServiceCountTokens = "count_tokens"
	// ServiceEmbed makes vectors of texts.
	ServiceEmbed = "embed"
	// ServiceSearch searches collections.
	ServiceSearch = "search"
	// ServiceLLM asks models.
	ServiceLLM = "llm"
)

// Services are all of them.
var Services = []string{ServiceCountTokens, ServiceEmbed, ServiceSearch, ServiceLLM}

// The kinds of permissions.
const (
	// PermissionHTTP is to send HTTP requests.
	PermissionHTTP = "http"
	// PermissionFiles is to use a folder.
	PermissionFiles = "files"
	// PermissionKV is to keep values under keys.
	PermissionKV = "kv"
	// PermissionService is to use a service of the host.
	PermissionService = "service"
)

// permissionFields are the keys that a kind of permission has in addition to kind and
// reason.
var permissionFields = []struct {
	kind string
	keys []string
}{
	{PermissionHTTP, []string{"hosts", "methods"}},
	{PermissionFiles, []string{"guest", "mode"}},
	{PermissionKV, []string{"quota"}},
	{PermissionService, []string{"service"}},
}

func (m *Manifest) checkPermissions() *Error {
	for i := range m.Permissions {
		at, p := index("permissions", i), &m.Permissions[i]
		if err := p.checkKeys(at); err != nil {
			return err
		}
		if strings.TrimSpace(p.Reason) == "" {
			return mistake(at+".reason", "is missing (say in a few words why the plugin needs %s)", p.Kind)
		}
		if err := p.checkValues(at); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys checks the kind, and refuses keys of other kinds.
func (p *Permission) checkKeys(at string) *Error {
	var kinds, own []string
	for _, f := range permissionFields {
		kinds = append(kinds, f.kind)
		if f.kind == p.Kind {
			own = f.keys
		}
	}
	if p.Kind == "" {
		return mistake(at+".kind", "is missing (want one of %s)", strings.Join(kinds, ", "))
	}
	if slices.Contains(Services, p.Kind) {
		return mistake(at+".kind", "is the service %s (want kind: service, service: %s)", jsontext.Quote(p.Kind), p.Kind)
	}
	if own == nil {
		return mistake(at+".kind", "unknown permission %s%s", jsontext.Quote(p.Kind), nearest.Hint(p.Kind, kinds))
	}
	for _, f := range []struct {
		key  string
		used bool
	}{
		{"hosts", p.Hosts != nil}, {"methods", p.Methods != nil}, {"guest", p.Guest != ""},
		{"mode", p.Mode != ""}, {"quota", p.Quota != ""}, {"service", p.Service != ""},
	} {
		if f.used && !slices.Contains(own, f.key) {
			return mistake(at+"."+f.key, "does not belong to permission %s (which has %s)", p.Kind, strings.Join(own, ", "))
		}
	}
	return nil
}

func (p *Permission) checkValues(at string) *Error {
	switch p.Kind {
	case PermissionHTTP:
		return p.checkHTTP(at)
	case PermissionFiles:
		if !path.IsAbs(p.Guest) || path.Clean(p.Guest) != p.Guest {
			return mistake(at+".guest", "is %s (want the absolute path that the guest sees, such as /docs)", jsontext.Quote(p.Guest))
		}
		if p.Mode != "" && p.Mode != "ro" && p.Mode != "rw" {
			return mistake(at+".mode", "is %s (want ro or rw)", jsontext.Quote(p.Mode))
		}
	case PermissionKV:
		if p.Quota != "" {
			return checkSize(at+".quota", p.Quota, 1, maxMemory)
		}
	case PermissionService:
		if !slices.Contains(Services, p.Service) {
			return mistake(at+".service", "unknown service %s%s", jsontext.Quote(p.Service), nearest.Hint(p.Service, Services))
		}
	}
	return nil
}

func (p *Permission) checkHTTP(at string) *Error {
	if p.Hosts == nil {
		return noHosts(at + ".hosts")
	}
	for i, h := range p.Hosts {
		if _, err := ParseHostPattern(h); err != nil {
			return mistake(index(at+".hosts", i), "is %s (%s)", jsontext.Quote(h), err)
		}
	}
	for i, method := range p.Methods {
		if method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return mistake(index(at+".methods", i), "is %s (want a method in capitals, such as GET)", jsontext.Quote(method))
		}
	}
	return nil
}
