package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/internal/units"
)

// Anatomy is what a module is made of, found without running it.
type Anatomy struct {
	// Functions is the number of functions that the module defines, Code the bytes of their
	// bodies, Data the bytes of its data segments.
	Functions int   `json:"functions"`
	Code      int64 `json:"code_bytes"`
	Data      int64 `json:"data_bytes"`
	// Memory is the initial size of its memory, MaxMemory the maximum that it states, 0 if
	// it states none.
	Memory    int64 `json:"memory_bytes"`
	MaxMemory int64 `json:"max_memory_bytes,omitempty"`
	// Sections are the custom sections, in the order of the module.
	Sections []CustomSection `json:"custom_sections,omitempty"`
}

// CustomSection is the name and size of a custom section.
type CustomSection struct {
	Name string `json:"name"`
	Size int64  `json:"bytes"`
}

// Anatomy returns what the module is made of.
func (s *Spec) Anatomy() Anatomy {
	info := s.source.info
	a := Anatomy{Functions: info.Functions, Code: int64(info.CodeSize), Data: int64(info.DataBytes)}
	if len(info.Memories) > 0 {
		m := info.Memories[0]
		a.Memory = int64(m.Min) * wasmbin.PageSize
		if m.HasMax {
			a.MaxMemory = int64(m.Max) * wasmbin.PageSize
		}
	}
	for _, c := range info.Customs {
		a.Sections = append(a.Sections, CustomSection{c.Name, int64(c.Size)})
	}
	return a
}

// nameSectionAdvice is the size in bytes from which Advice mentions a name section: that of
// a small plugin.
const nameSectionAdvice = 64 << 10

// Advice returns what the author of a plugin could do better, each on one line with the
// remedy in brackets. Unlike Warnings, it does not concern operators. A foreign module gets
// none.
func (s *Spec) Advice() []string {
	if s.Foreign {
		return nil
	}
	a := s.Anatomy()
	advice := slices.Concat(s.laneAdvice(), s.readsAdvice(), s.permissionAdvice())
	if a.MaxMemory == 0 && s.Manifest.Limits.Memory == "" {
		advice = append(advice, fmt.Sprintf("the memory has no maximum and plugin.yaml no limits.memory: %s is the bound (state what the plugin needs as limits.memory)",
			units.FormatSize(DefaultMemory)))
	}
	var debug int64
	for _, c := range a.Sections {
		switch {
		case strings.HasPrefix(c.Name, ".debug_"), strings.HasPrefix(c.Name, "reloc."), c.Name == "sourceMappingURL":
			debug += c.Size
		case c.Name == "name" && c.Size >= nameSectionAdvice:
			advice = append(advice, fmt.Sprintf("the names of functions take %d bytes (strip them; keep them for stack traces with names)", c.Size))
		}
	}
	if debug > 0 {
		advice = append(advice, fmt.Sprintf("debug sections take %d bytes and no host reads them (strip them)", debug))
	}
	return advice
}

// laneAdvice names the operations that lack a lane.
func (s *Spec) laneAdvice() (advice []string) {
	for _, o := range s.Operations {
		info, _ := abi.LookupOperation(o.Operation)
		switch {
		case info.Batch && !o.HasLane(LaneBatch):
			advice = append(advice, fmt.Sprintf("%s has no batch lane: items travel as JSON, many times slower for a thousand of them (export %q)", o.Operation, o.Operation.BatchExport()))
		case !o.HasLane(LaneJSON):
			advice = append(advice, fmt.Sprintf("%s has no JSON lane: other Extism hosts cannot call it (export %q)", o.Operation, o.Operation.JSONExport()))
		}
	}
	return advice
}

// readsAdvice names the operations that receive a request whole because the manifest does not
// say what they read. Those whose reads has columns say it.
func (s *Spec) readsAdvice() (advice []string) {
	for _, o := range s.Operations {
		info, _ := abi.LookupOperation(o.Operation)
		if whole := o.Unnamed(); whole != "" && len(info.Reads) == 0 {
			advice = append(advice, fmt.Sprintf("%s does not say what it reads and receives all of the %s (state reads; the names are %s)",
				o.Operation, whole, abi.PartsOf(info.Parts...)))
		}
	}
	return advice
}

// permissionAdvice compares the permissions asked for with the imports that use them.
func (s *Spec) permissionAdvice() (advice []string) {
	user := func(name string) string { return abi.UserModule + "." + name }
	asked := map[string]bool{}
	for _, p := range s.Manifest.Permissions {
		asked[permissionName(p)] = true
	}
	for _, x := range []struct {
		permission string
		imports    []string
	}{
		{manifest.PermissionHTTP, []string{abi.EnvModule + ".http_request", user(abi.ImportHTTPBatch)}},
		{manifest.PermissionFiles, []string{offered.WASI + ".path_open", offered.WASI + ".path_filestat_get"}},
		{manifest.PermissionKV, []string{user(abi.ImportKVGet), user(abi.ImportKVSet)}},
		{"service " + manifest.ServiceCountTokens, []string{user(abi.ImportCountTokens)}},
		{"service " + manifest.ServiceEmbed, []string{user(abi.ImportEmbed)}},
		{"service " + manifest.ServiceSearch, []string{user(abi.ImportSearch)}},
		{"service " + manifest.ServiceLLM, []string{user(abi.ImportLLM)}},
	} {
		i := slices.IndexFunc(x.imports, func(name string) bool { return slices.Contains(s.Imports, name) })
		switch {
		case asked[x.permission] && i < 0:
			advice = append(advice, fmt.Sprintf("asks for %s and imports none of what it takes: %s (remove the permission)", x.permission, strings.Join(x.imports, ", ")))
		case !asked[x.permission] && i >= 0 && x.permission != manifest.PermissionFiles: // languages import files without using them
			advice = append(advice, fmt.Sprintf("imports %s and does not ask for %s: the call would be denied (add the permission, with its reason)", x.imports[i], x.permission))
		}
	}
	return advice
}

// permissionName is the kind of a permission, and the service.
func permissionName(p manifest.Permission) string {
	if p.Kind == manifest.PermissionService {
		return p.Kind + " " + p.Service
	}
	return p.Kind
}
