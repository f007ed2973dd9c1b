package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/decoded"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// Read decodes and checks a module without running it. sideManifest is the plugin.yaml
// beside the module, nil if there is none. It can narrow the module's own manifest, or replace
// a missing one.
//
// name is the name that the file goes by; if it is empty, the manifest's name is used. Errors
// wrap ErrNotWasm, ErrABIVersion, ErrManifest, ErrNoExport, ErrImport, ErrSignature or
// ErrTooLarge.
func Read(name string, wasm, sideManifest []byte) (*Spec, error) {
	return Reader{codestore.Off}.Read(name, wasm, sideManifest)
}

// Read is the function [Read]. What it keeps spares reading a file with this module into memory,
// also one that is written just now.
func (r Reader) Read(name string, wasm, sideManifest []byte) (*Spec, error) {
	src := &source{wasm: wasm, digest: sha256.Sum256(wasm)}
	info, err := src.inspect(nil, r.facts())
	return readSpec(name, src, info, err, sideManifest)
}

// readSpec makes the spec of a decoded module. err is the error of decoding it, if that
// failed.
func readSpec(name string, src *source, info *wasmbin.Info, err error, sideManifest []byte) (*Spec, error) {
	r := reader{spec: &Spec{Name: name, source: src}, info: info}
	switch {
	case errors.Is(err, wasmbin.ErrLimit):
		err = errkind.As(ErrTooLarge, err)
	case err != nil:
		err = errkind.As(ErrNotWasm, err)
	default:
		err = r.read(sideManifest)
	}
	if err != nil && r.spec.Name != "" {
		return nil, fmt.Errorf("plugin %q: %w", r.spec.Name, err)
	}
	if err != nil {
		return nil, err
	}
	return r.spec, nil
}

// reader is the state of one Read.
type reader struct {
	spec *Spec
	info *wasmbin.Info
	// authored is the manifest in the module, or else plugin.yaml.
	authored *manifest.Manifest
}

func (r *reader) read(sideManifest []byte) error {
	s := r.spec
	s.Digest, s.Size = "sha256:"+hex.EncodeToString(s.source.digest[:]), int64(r.info.Size)
	if sideManifest != nil {
		sum := sha256.Sum256(sideManifest)
		s.ManifestDigest = "sha256:" + hex.EncodeToString(sum[:])
	}
	s.Uncaptured = r.info.Uncaptured()
	s.module = &decoded.Module{Digest: s.source.digest, Bytes: s.source.bytes, Facts: r.info.Facts(), CodeSize: r.info.CodeSize,
		Tables: r.info.TableElements(wasmbin.MaxTable), Memory: len(r.info.Memories) > 0,
		Functions: make(map[string]wasmbin.FuncType, len(r.info.Exports)), Memories: map[string]wasmbin.Limits{}}
	for _, step := range []func() error{
		r.version, r.exports, r.imports, r.memory,
		func() error { return r.manifest(sideManifest) },
		r.operations, r.size,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// version finds the export that marks the version of the contract.
func (r *reader) version() error {
	var markers []string
	for _, e := range r.info.Exports {
		if e.Kind == wasmbin.KindFunc && strings.HasPrefix(e.Name, abi.MarkerPrefix) {
			markers = append(markers, e.Name)
		}
	}
	switch {
	case slices.Contains(markers, abi.Marker):
		r.spec.ABI = abi.Version
	case len(markers) > 0:
		other := strings.TrimPrefix(markers[0], abi.MarkerPrefix)
		return fmt.Errorf("%w: the module speaks ABI %s, this host ABI %d (rebuild the plugin with a kit for ABI %d, or use a host for ABI %s)",
			ErrABIVersion, guesttext.Line(other), abi.Version, abi.Version, guesttext.Line(other))
	default:
		r.spec.Foreign = true
	}
	return nil
}

// exports checks the exports against the contract and lists those that Plugin.Call can call.
func (r *reader) exports() error {
	for _, e := range r.info.Exports {
		if e.Kind == wasmbin.KindMemory {
			r.spec.module.Memories[e.Name] = e.Memory
		}
		if e.Kind != wasmbin.KindFunc {
			continue
		}
		r.spec.module.Functions[e.Name] = e.Func
		if callable(e.Func) {
			r.spec.Functions = append(r.spec.Functions, e.Name)
		}
		sig, known := abi.LookupExport(e.Name)
		if known && !r.spec.Foreign && !sameSignature(sig, e.Func) {
			return fmt.Errorf("export %q has type %s: %w (want %s)", e.Name, e.Func, ErrSignature, sig)
		}
		if !known && !r.spec.Foreign && strings.HasPrefix(e.Name, "anchor_") {
			r.warn("export %q is not of ABI %d and never called%s", guesttext.Line(e.Name), abi.Version, nearestExport(e.Name))
		}
	}
	slices.Sort(r.spec.Functions)
	if !r.spec.Foreign && r.goCommand() {
		r.warn("was built by Go as a command: its runtime never starts, so every call fails (build with -buildmode=c-shared, as anchor-host plugin build does)")
	}
	return nil
}

// goCommand reports whether the module is a program of stock Go, which runs main and ends, and no library.
func (r *reader) goCommand() bool {
	has := func(name string) bool {
		return slices.ContainsFunc(r.info.Exports, func(e wasmbin.Export) bool { return e.Name == name })
	}
	byGo := slices.ContainsFunc(r.info.Customs, func(c wasmbin.CustomSection) bool { return c.Name == "go:buildid" })
	return byGo && has("_start") && !has("_initialize")
}

// callable reports whether a function has the type of Extism's functions: no parameters, and
// no result or one i32.
func callable(t wasmbin.FuncType) bool {
	return len(t.Params) == 0 && (len(t.Results) == 0 || len(t.Results) == 1 && t.Results[0] == wasmbin.I32)
}

func nearestExport(name string) string {
	names := make([]string, len(abi.Exports))
	for i, s := range abi.Exports {
		names[i] = s.Name
	}
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// imports checks the imports against what the host offers.
func (r *reader) imports() error {
	r.spec.Portable = true
	for _, im := range r.info.Imports {
		lent := im.Kind == wasmbin.KindMemory && r.spec.Foreign && r.mayNeed(im)
		if im.Kind != wasmbin.KindFunc && !lent {
			return fmt.Errorf("import %s %q of module %q: %w (the host offers functions only; define the %s in the module)",
				im.Kind, guesttext.Line(im.Name), guesttext.Line(im.Module), ErrImport, im.Kind)
		}
		r.spec.Imports = append(r.spec.Imports, im.Module+"."+im.Name)
		r.spec.module.Imports = append(r.spec.module.Imports, im)
		if lent {
			r.need(im, "link a module that exports it")
		} else if err := r.importFunc(im); err != nil {
			return err
		}
	}
	slices.Sort(r.spec.Imports)
	return nil
}

func (r *reader) importFunc(im wasmbin.Import) error {
	switch im.Module {
	case offered.WASI:
		r.spec.WASI = true
	case abi.UserModule:
		r.spec.Portable = false
	}
	sig, ok := offered.Function(im.Module, im.Name)
	if !ok && r.mayNeed(im) {
		r.need(im, "link a module or register a host function that offers it")
		return nil
	}
	if !ok {
		return fmt.Errorf("import %q of module %q: %w (%s)", guesttext.Line(im.Name), guesttext.Line(im.Module), ErrImport, offered.Hint(im.Module, im.Name))
	}
	if sig != im.Func.String() {
		return fmt.Errorf("import %q of module %q has type %s: %w (want %s)", im.Name, im.Module, im.Func, ErrSignature, sig)
	}
	return nil
}

// need notes an import that this host does not offer.
func (r *reader) need(im wasmbin.Import, remedy string) {
	r.spec.Portable = false
	r.spec.Needs = append(r.spec.Needs, im.Module+"."+im.Name)
	r.warn("needs %q of module %q: %s", guesttext.Line(im.Name), guesttext.Line(im.Module), remedy)
}

// mayNeed reports whether a linked module or the embedder can offer an import. For a foreign
// module the import may be from almost any module, for a plugin only from UserModule.
func (r *reader) mayNeed(im wasmbin.Import) bool {
	return !offered.Reserved(im.Module, im.Name) && (r.spec.Foreign || im.Module == abi.UserModule)
}

func (r *reader) memory() error {
	if r.spec.module.Memory {
		r.spec.MemoryPages = r.info.Memories[0].Min
	}
	_, exported := r.spec.module.Memories["memory"]
	switch {
	case r.spec.Foreign: // Extism's functions do not use the guest's memory
		return nil
	case !r.spec.module.Memory:
		return fmt.Errorf("the module has no memory: %w (define one and export it as \"memory\")", ErrNoExport)
	case !exported:
		return fmt.Errorf("the module does not export its memory: %w (export it as \"memory\")", ErrNoExport)
	}
	return nil
}

// operations checks the manifest's operations against the exports.
func (r *reader) operations() error {
	m := r.spec.Manifest
	if m == nil {
		return nil
	}
	for _, info := range abi.Operations {
		o, declared := m.Operations[info.Op]
		lanes, unused := r.lanes(info)
		if !declared {
			if len(lanes) > 0 && info.Op != abi.OpInit {
				r.warn("exports %s, which the manifest does not declare: it is never called", info.Op)
			}
			continue
		}
		if len(lanes) == 0 {
			return fmt.Errorf("the manifest declares operation %q: %w (export %q, or remove the operation from the manifest%s)",
				info.Op, ErrNoExport, info.Op.JSONExport(), r.strangers())
		}
		r.spec.Operations = append(r.spec.Operations, Operation{
			Operation: info.Op, Lanes: lanes, Unused: unused, Reads: m.Reads(info.Op), Parts: m.Parts(info.Op), Writes: m.Writes(info.Op),
			SelfTestReads: r.authored.Reads(info.Op), MaxPriority: o.MaxPriority, Defaults: o.Defaults,
		})
	}
	return nil
}

// strangers says which exports look like operations and are none, "" if there are none.
func (r *reader) strangers() string {
	var names []string
	for _, e := range r.info.Exports {
		if _, known := abi.LookupExport(e.Name); !known && strings.HasPrefix(e.Name, "anchor_") {
			names = append(names, strconv.Quote(guesttext.Clip(guesttext.Line(e.Name), 60)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	known := make([]string, len(abi.Operations))
	for i, info := range abi.Operations {
		known[i] = string(info.Op)
	}
	return fmt.Sprintf("; it exports %s, which is no operation: the operations are %s", strings.Join(names[:min(len(names), 3)], ", "), strings.Join(known, ", "))
}

// lanes lists the lanes in which the module exports an operation. unused says why its function for
// batches cannot be called.
func (r *reader) lanes(info abi.OperationInfo) (lanes []Lane, unused string) {
	if r.spec.module.Exports(info.Op.JSONExport()) {
		lanes = append(lanes, LaneJSON)
	}
	if !info.Batch || !r.spec.module.Exports(info.Op.BatchExport()) {
		return lanes, ""
	}
	if !r.spec.module.Exports(abi.MailboxExport) || !r.spec.module.Exports(abi.ReserveExport) {
		unused = fmt.Sprintf("exports %q without %q and %q: the batch lane is not used", info.Op.BatchExport(), abi.MailboxExport, abi.ReserveExport)
		r.warn("%s", unused)
		return lanes, unused
	}
	return append(lanes, LaneBatch), ""
}

// size checks the size of the module and the estimates for loading it against their bounds.
func (r *reader) size() error {
	if r.info.Size > wasmbin.MaxSize {
		return fmt.Errorf("%w: %d bytes, at most %d (strip the module of debug information)", ErrTooLarge, r.info.Size, wasmbin.MaxSize)
	}
	if err := r.spec.CheckLoad(false, LoadLimits{}); err != nil {
		r.warn("is not loaded with the default limits: %v", err)
	} else if e := r.spec.LoadEstimate(false); e.Near() {
		r.warn("is near the bounds of what is loaded: about %s of %s of memory, %s of %s", sizeText(e.Memory), sizeText(e.MaxMemory),
			e.Time.Round(time.Millisecond), e.MaxTime.Round(time.Millisecond))
	}
	return nil
}

func (r *reader) warn(format string, args ...any) {
	r.spec.Warnings = append(r.spec.Warnings, fmt.Sprintf(format, args...))
}

func sameSignature(sig abi.Signature, t wasmbin.FuncType) bool {
	return sig.String() == t.String()
}
