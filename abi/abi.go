package abi

import (
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// Version is the number of this contract. A module speaks it when it exports
// the function named by Marker.
const Version = 1

// Names a module uses to speak the contract.
const (
	// Marker is the export, () -> (), that states the version. It is never called.
	Marker = "anchor_abi_1"
	// MarkerPrefix is the prefix of the marker of every version.
	MarkerPrefix = "anchor_abi_"
	// ManifestSection is the custom section that holds the manifest as JSON.
	ManifestSection = "anchor.manifest"
	// ReadmeSection and ChangelogSection are the custom sections that hold texts for people, in
	// Markdown and UTF-8. Hosts run a plugin without looking at them.
	ReadmeSection    = "anchor.readme"
	ChangelogSection = "anchor.changelog"
	// MailboxExport is the export that returns the address of the mailbox.
	MailboxExport = "anchor_mailbox"
	// ReserveExport is the export that makes room for n bytes of input.
	ReserveExport = "anchor_reserve"
	// EnvModule is the import module of Extism's own functions.
	EnvModule = "extism:host/env"
	// UserModule is the import module of the host services beyond Extism's.
	UserModule = "extism:host/user"
)

// Host services, imported from UserModule.
const (
	ImportKVGet       = "anchor_kv_get"
	ImportKVSet       = "anchor_kv_set"
	ImportCountTokens = "anchor_count_tokens"
	ImportHTTPBatch   = "anchor_http_batch"
	ImportEmbed       = "anchor_embed"
	ImportSearch      = "anchor_search"
	ImportLLM         = "anchor_llm"
)

// The bounds of what both sides exchange.
const (
	// MaxRows is the maximum number of rows of a batch, and of new items of a change set.
	MaxRows = layout.MaxRows
	// MaxBytes is the maximum size in bytes of a batch, a change set or an answer in JSON.
	MaxBytes = jsontext.MaxBytes
	// MaxDepth is how deep lists and objects in a metadata value may nest.
	MaxDepth = jsontext.MaxDepth
	// MaxDimension is the maximum number of dimensions of a vector.
	MaxDimension = layout.MaxDimension
	// MaxPriority is the highest priority of an item.
	MaxPriority = 10
	// MaxText is the maximum size in bytes of ReadmeSection, and of ChangelogSection.
	MaxText = 256 << 10
)

// Errors of the contract, for errors.Is.
var (
	// ErrMalformed says that bytes break the layout of a batch or a change set, or that an
	// answer is not the document that it should be.
	ErrMalformed = jsontext.ErrMalformed
	// ErrTooLarge says that a batch would exceed MaxRows or MaxBytes, or that an answer would
	// take many times its bytes when it is decoded.
	ErrTooLarge = jsontext.ErrTooLarge
	// ErrUnsupported is wrapped by errors about values that a batch or a document cannot
	// hold.
	ErrUnsupported = jsontext.ErrUnsupported
)
