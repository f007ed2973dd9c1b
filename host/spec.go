package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Spec is what is known of a module without running it. It is plain data and the same on every
// machine.
type Spec struct {
	// Name is the name of the plugin: the one that the file goes by, else the manifest's. If
	// both are there, they are equal.
	Name string
	// Digest is "sha256:" and the SHA-256 of the module in hexadecimal.
	Digest string
	// ManifestDigest is the digest of the plugin.yaml beside the module, in the form of
	// Digest. It is "" if there is no such file.
	ManifestDigest string
	// Size is the size of the module in bytes.
	Size int64
	// ABI is the version of the contract that the module implements, 0 for a foreign module.
	ABI int
	// Foreign says that the module does not implement the contract: it is an Extism module or
	// a plain one, whose functions are called by name.
	Foreign bool
	// Manifest is the manifest that applies, nil for a foreign module.
	Manifest *abi.Manifest
	// ManifestFrom is where the manifest was found: "module" or "plugin.yaml".
	ManifestFrom string
	// Operations are the operations of the manifest, in the order of
	// abi.Operations.
	Operations []OperationSpec
	// Functions are the exports that Plugin.Call can call, sorted.
	Functions []string
	// Imports are the imported functions, and the memory if it is imported, as "module.name",
	// sorted.
	Imports []string
	// Portable says that every Extism host offers all of its imports.
	Portable bool
	// WASI says that the module imports WASI functions.
	WASI bool
	// Uncaptured says why the module's state cannot be reset after a call, "" if it can.
	Uncaptured string
	// MemoryPages is the size of the module's own memory at its start, in pages of 64 KiB, 0
	// if it has none.
	MemoryPages uint64
	// Warnings are for the author or the operator. None of them keeps the plugin from working.
	Warnings []string

	// Needs are those of Imports that neither Extism nor WASI nor this host offers. A linked
	// module must offer them; a function, but not a memory, may also come from the embedder.
	Needs []string

	// source is where the module's bytes are.
	source *source
	// facts are what was found in the module's code.
	facts   wasmbin.Facts
	exports map[string]bool
	// types are the types of the exported functions, by name. memories are the limits of the
	// memory under each name that it is exported by. imports are all imports.
	types    map[string]wasmbin.FuncType
	memories map[string]wasmbin.Limits
	imports  []wasmbin.Import
	// descriptors says that the module can open, close or move file descriptors.
	descriptors bool
	// kernel says that the module imports functions of Extism.
	kernel bool
	// tables is the most memory that the tables of an instance take, in bytes.
	tables int64
	// memory says that the module has a memory of its own.
	memory bool
	// code is the size of the module's code, in bytes.
	code int
}

// OperationSpec is one operation of a plugin.
type OperationSpec struct {
	Operation abi.Operation
	// Lanes are LaneJSON, LaneBatch or both.
	Lanes []Lane
	// Reads are the columns that it receives, Writes the changes that it may make.
	Reads  abi.ColumnSet
	Writes abi.ChangeSet
	// MaxPriority is the highest priority that it asks for, 0 for the default of the item's
	// source.
	MaxPriority int
	Defaults    abi.StepDefaults
}

// Operation returns an operation, and false if the plugin does not have it.
func (s *Spec) Operation(op abi.Operation) (OperationSpec, bool) {
	for _, o := range s.Operations {
		if o.Operation == op {
			return o, true
		}
	}
	return OperationSpec{}, false
}

// State returns what happens to instances between calls if the configuration states stated:
// StateReset, StateKeep or StateFresh. What init leaves behind can still turn StateReset into
// StateFresh; see [Plugin.State].
func (s *Spec) State(stated State) State {
	if stated == StateAuto && s.Foreign {
		return StateKeep
	}
	if stated == StateAuto {
		stated = StateReset
	}
	if stated == StateReset && s.Uncaptured != "" {
		return StateFresh
	}
	return stated
}

// Pin identifies the module and its plugin.yaml: the digest of the module, and, if there is a
// plugin.yaml beside it, a "+" and the digest of that. An operator who states it in the
// configuration gets an error when either file changes; see [Spec.CheckPin].
func (s *Spec) Pin() string {
	if s.ManifestDigest == "" {
		return s.Digest
	}
	return s.Digest + "+" + s.ManifestDigest
}

// CheckPin checks that the module and its plugin.yaml are those of a pin. The error says which
// of them is not, shows the current pin, and wraps ErrConfig.
func (s *Spec) CheckPin(pin string) error {
	if pin == s.Pin() {
		return nil
	}
	module, manifest, _ := strings.Cut(pin, "+")
	what := "plugin.yaml is another one"
	switch {
	case module != s.Digest && manifest != "" && manifest != s.ManifestDigest:
		what = "module and plugin.yaml are others"
	case module != s.Digest:
		what = "the module is another one"
	case s.ManifestDigest == "":
		what = "plugin.yaml is gone"
	case manifest == "":
		what = "there is a plugin.yaml beside the module that the pin does not cover"
	}
	return as(ErrConfig, fmt.Errorf("%s (review it, then pin %s; pinned is %s)", what, s.Pin(), pin))
}

// HasLane reports whether the operation can be called in the lane.
func (o OperationSpec) HasLane(lane Lane) bool { return slices.Contains(o.Lanes, lane) }

// ReadSpec decodes and checks a module without running it. sideManifest is the plugin.yaml
// beside the module, nil if there is none. It can narrow the module's own manifest, or replace
// a missing one.
//
// name is the name that the file goes by; if it is empty, the manifest's name is used. Errors
// wrap ErrNotWasm, ErrABIVersion, ErrManifest, ErrNoExport, ErrImport, ErrSignature or
// ErrTooLarge.
func ReadSpec(name string, wasm, sideManifest []byte) (*Spec, error) {
	info, err := wasmbin.Inspect(wasm)
	return readSpec(name, &source{wasm: wasm, digest: sha256.Sum256(wasm)}, info, err, sideManifest)
}

// readSpec makes the spec of a decoded module. err is the error of decoding it, if that
// failed.
func readSpec(name string, src *source, info *wasmbin.Info, err error, sideManifest []byte) (*Spec, error) {
	r := specReader{spec: &Spec{Name: name, source: src}, info: info}
	switch {
	case errors.Is(err, wasmbin.ErrLimit):
		err = as(ErrTooLarge, err)
	case err != nil:
		err = as(ErrNotWasm, err)
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

// specReader is the state of one ReadSpec.
type specReader struct {
	spec *Spec
	info *wasmbin.Info
}

func (r *specReader) read(sideManifest []byte) error {
	s := r.spec
	s.Digest, s.Size = "sha256:"+hex.EncodeToString(s.source.digest[:]), int64(r.info.Size)
	if sideManifest != nil {
		sum := sha256.Sum256(sideManifest)
		s.ManifestDigest = "sha256:" + hex.EncodeToString(sum[:])
	}
	s.facts, s.code, s.Uncaptured = r.info.Facts(), r.info.CodeSize, r.info.Uncaptured()
	s.tables = int64(r.info.TableElements(maxTableSize)) * wazerox.TableElement
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
func (r *specReader) version() error {
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
			ErrABIVersion, oneLine(other), abi.Version, abi.Version, oneLine(other))
	default:
		r.spec.Foreign = true
	}
	return nil
}

// exports checks the exports against the contract and lists those that Plugin.Call can call.
func (r *specReader) exports() error {
	r.spec.exports = make(map[string]bool, len(r.info.Exports))
	r.spec.types = make(map[string]wasmbin.FuncType, len(r.info.Exports))
	r.spec.memories = map[string]wasmbin.Limits{}
	for _, e := range r.info.Exports {
		if e.Kind == wasmbin.KindMemory {
			r.spec.memories[e.Name] = e.Memory
		}
		if e.Kind != wasmbin.KindFunc {
			continue
		}
		r.spec.exports[e.Name] = true
		r.spec.types[e.Name] = e.Func
		if callable(e.Func) {
			r.spec.Functions = append(r.spec.Functions, e.Name)
		}
		sig, known := abi.LookupExport(e.Name)
		if known && !r.spec.Foreign && !sameSignature(sig, e.Func) {
			return fmt.Errorf("export %q has type %s: %w (want %s)", e.Name, e.Func, ErrSignature, sig)
		}
		if !known && !r.spec.Foreign && strings.HasPrefix(e.Name, "anchor_") {
			r.warn("export %q is not of ABI %d and never called%s", oneLine(e.Name), abi.Version, nearestExport(e.Name))
		}
	}
	slices.Sort(r.spec.Functions)
	return nil
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
	if n := abi.Nearest(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// imports checks the imports against what the host offers.
func (r *specReader) imports() error {
	r.spec.Portable = true
	for _, im := range r.info.Imports {
		lent := im.Kind == wasmbin.KindMemory && r.spec.Foreign && r.mayNeed(im)
		if im.Kind != wasmbin.KindFunc && !lent {
			return fmt.Errorf("import %s %q of module %q: %w (the host offers functions only; define the %s in the module)",
				im.Kind, oneLine(im.Name), oneLine(im.Module), ErrImport, im.Kind)
		}
		r.spec.Imports = append(r.spec.Imports, im.Module+"."+im.Name)
		r.spec.imports = append(r.spec.imports, im)
		if lent {
			r.need(im, "link a module that exports it")
		} else if err := r.importFunc(im); err != nil {
			return err
		}
	}
	slices.Sort(r.spec.Imports)
	return nil
}

func (r *specReader) importFunc(im wasmbin.Import) error {
	switch im.Module {
	case wasiModule:
		r.spec.WASI = true
		r.spec.descriptors = r.spec.descriptors || changesDescriptors(im.Name)
	case abi.UserModule:
		r.spec.Portable = false
	case abi.EnvModule:
		r.spec.kernel = true
	case oldEnvModule:
		r.spec.kernel = r.spec.kernel || strings.HasPrefix(im.Name, oldEnvPrefix)
	}
	sig, ok := offered(im.Module, im.Name)
	if !ok && r.mayNeed(im) {
		r.need(im, "link a module or register a host function that offers it")
		return nil
	}
	if !ok {
		return fmt.Errorf("import %q of module %q: %w (%s)", oneLine(im.Name), oneLine(im.Module), ErrImport, importHint(im.Module, im.Name))
	}
	if sig.String() != im.Func.String() {
		return fmt.Errorf("import %q of module %q has type %s: %w (want %s)", im.Name, im.Module, im.Func, ErrSignature, sig)
	}
	return nil
}

// need notes an import that this host does not offer.
func (r *specReader) need(im wasmbin.Import, remedy string) {
	r.spec.Portable = false
	r.spec.Needs = append(r.spec.Needs, im.Module+"."+im.Name)
	r.warn("needs %q of module %q: %s", oneLine(im.Name), oneLine(im.Module), remedy)
}

// mayNeed reports whether a linked module or the embedder can offer an import. For a foreign
// module the import may be from almost any module, for a plugin only from UserModule.
func (r *specReader) mayNeed(im wasmbin.Import) bool {
	switch {
	case im.Module == wasiModule, im.Module == abi.EnvModule, strings.HasPrefix(im.Module, wasmbin.HostPrefix):
		return false
	case im.Module == oldEnvModule && strings.HasPrefix(im.Name, oldEnvPrefix):
		return false
	case im.Module == abi.UserModule && strings.HasPrefix(im.Name, "anchor_"):
		return false
	}
	return r.spec.Foreign || im.Module == abi.UserModule
}

func (r *specReader) memory() error {
	if r.spec.memory = len(r.info.Memories) > 0; r.spec.memory {
		r.spec.MemoryPages = r.info.Memories[0].Min
	}
	_, exported := r.spec.memories["memory"]
	switch {
	case r.spec.Foreign: // Extism's functions do not use the guest's memory
		return nil
	case !r.spec.memory:
		return fmt.Errorf("the module has no memory: %w (define one and export it as \"memory\")", ErrNoExport)
	case !exported:
		return fmt.Errorf("the module does not export its memory: %w (export it as \"memory\")", ErrNoExport)
	}
	return nil
}

// operations checks the manifest's operations against the exports.
func (r *specReader) operations() error {
	m := r.spec.Manifest
	if m == nil {
		return nil
	}
	for _, info := range abi.Operations {
		o, declared := m.Operations[info.Op]
		lanes := r.lanes(info)
		if !declared {
			if len(lanes) > 0 && info.Op != abi.OpInit {
				r.warn("exports %s, which the manifest does not declare: it is never called", info.Op)
			}
			continue
		}
		if len(lanes) == 0 {
			return fmt.Errorf("the manifest declares operation %q: %w (export %q, or remove the operation from the manifest)",
				info.Op, ErrNoExport, info.Op.JSONExport())
		}
		r.spec.Operations = append(r.spec.Operations, OperationSpec{
			Operation: info.Op, Lanes: lanes, Reads: m.Reads(info.Op), Writes: m.Writes(info.Op),
			MaxPriority: o.MaxPriority, Defaults: o.Defaults,
		})
	}
	return nil
}

// lanes lists the lanes in which the module exports an operation.
func (r *specReader) lanes(info abi.OperationInfo) []Lane {
	var lanes []Lane
	if r.spec.exports[info.Op.JSONExport()] {
		lanes = append(lanes, LaneJSON)
	}
	if !info.Batch || !r.spec.exports[info.Op.BatchExport()] {
		return lanes
	}
	if !r.spec.exports[abi.MailboxExport] || !r.spec.exports[abi.ReserveExport] {
		r.warn("exports %q without %q and %q: the batch lane is not used", info.Op.BatchExport(), abi.MailboxExport, abi.ReserveExport)
		return lanes
	}
	return append(lanes, LaneBatch)
}

// size checks the size of the module and the estimates for loading it against their bounds.
func (r *specReader) size() error {
	if r.info.Size > wasmbin.MaxSize {
		return fmt.Errorf("%w: %d bytes, at most %d (strip the module of debug information)", ErrTooLarge, r.info.Size, wasmbin.MaxSize)
	}
	if err := r.spec.checkLoad(EngineCompiler, Limits{}); err != nil {
		r.warn("is not loaded with the default limits: %v", err)
	} else if e := r.spec.LoadEstimate(EngineCompiler); e.Near() {
		r.warn("is near the bounds of what is loaded: about %s of %s of memory, %s of %s", sizeText(e.Memory), sizeText(e.MaxMemory),
			e.Time.Round(time.Millisecond), e.MaxTime.Round(time.Millisecond))
	}
	return nil
}

func (r *specReader) warn(format string, args ...any) {
	r.spec.Warnings = append(r.spec.Warnings, fmt.Sprintf(format, args...))
}

func sameSignature(sig abi.Signature, t wasmbin.FuncType) bool {
	return sig.String() == t.String()
}
