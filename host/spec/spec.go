package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/decoded"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// Spec is what is known of a plugin without running it. It is plain data and the same on every
// machine.
type Spec struct {
	// Name is the name of the plugin: the one that the file goes by, else the manifest's. If
	// both are there, they are equal, or the file has the manifest's name, "@" and its version.
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
	Manifest *manifest.Manifest
	// ManifestFrom is where the manifest was found: "module" or "plugin.yaml".
	ManifestFrom string
	// Operations are the operations of the manifest, in the order of
	// abi.Operations.
	Operations []Operation
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

	// source is where the module's bytes are, module what the host needs to load it.
	source *source
	module *decoded.Module
}

// Operation is one operation of a plugin.
type Operation struct {
	Operation abi.Operation
	// Lanes are LaneJSON, LaneBatch or both.
	Lanes []Lane
	// Unused says why LaneBatch is not among Lanes although the module exports a function for
	// it. It is empty otherwise.
	Unused string
	// Reads are the columns that it receives, Parts the other parts of its request, Writes the
	// changes that it may make.
	Reads  abi.ColumnSet
	Parts  abi.PartSet
	Writes abi.ChangeSet
	// SelfTestReads are the columns that a self-test sends: those of the manifest in the
	// module, whose author knows the answers, also where plugin.yaml narrows Reads.
	SelfTestReads abi.ColumnSet
	// MaxPriority is the highest priority that it asks for, 0 for the default of the item's
	// source.
	MaxPriority int
	Defaults    manifest.StepDefaults
}

// Operation returns an operation. The error wraps ErrNoOperation and names those that the plugin
// has.
func (s *Spec) Operation(op abi.Operation) (Operation, error) {
	for _, o := range s.Operations {
		if o.Operation == op {
			return o, nil
		}
	}
	return Operation{}, s.noOperation()
}

// Declared returns the columns that the author of the plugin names for an operation, also where
// plugin.yaml beside the module narrows them. It returns false if there is no such operation.
func (s *Spec) Declared(op abi.Operation) (abi.ColumnSet, bool) {
	o, err := s.Operation(op)
	return o.SelfTestReads, err == nil && !s.Foreign
}

// noOperation is the error for an operation that the plugin does not have.
func (s *Spec) noOperation() error {
	if s.Foreign {
		return fmt.Errorf("%w: the plugin has none: it is a foreign module, whose functions are called by name", ErrNoOperation)
	}
	names := make([]abi.Operation, len(s.Operations))
	for i, o := range s.Operations {
		names[i] = o.Operation
	}
	return fmt.Errorf("%w: the plugin has %v", ErrNoOperation, names)
}

// Module is for package host, which loads it.
func (s *Spec) Module() *decoded.Module { return s.module }

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
		what = "plugin.yaml was removed"
	case manifest == "":
		what = "there is a plugin.yaml beside the module that the pin does not cover"
	}
	return errkind.As(ErrConfig, fmt.Errorf("%s (review it, then pin %s; pinned is %s)", what, s.Pin(), pin))
}

// Unnamed returns what the guest receives whole because its manifest names no part of it:
// "query", "request", or "" for nothing.
func (o Operation) Unnamed() string {
	info, _ := abi.LookupOperation(o.Operation)
	switch {
	case !o.Parts.Whole() || len(info.Parts) == 0:
		return ""
	case slices.Contains(info.Parts, abi.PartChatHistory):
		return "query"
	}
	return "request"
}

// HasLane reports whether the operation can be called in the lane.
func (o Operation) HasLane(lane Lane) bool { return slices.Contains(o.Lanes, lane) }
