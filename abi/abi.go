package abi

// Version is the number of this contract. A module speaks it when it exports
// the function named by Marker.
const Version = 1

// Names a module uses to speak the contract.
const (
	// Marker is the export, () -> (), that states the version; never called.
	Marker = "anchor_abi_1"
	// MarkerPrefix is what the marker of every version begins with.
	MarkerPrefix = "anchor_abi_"
	// ManifestSection is the custom section that holds the manifest as JSON.
	ManifestSection = "anchor.manifest"
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
)
