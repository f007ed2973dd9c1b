package spec

import "errors"

// Errors that callers can test for with errors.Is.
var (
	// ErrNotWasm marks a file that is not a WebAssembly module, or a broken one.
	ErrNotWasm = errors.New("not a usable module")
	// ErrABIVersion marks a module of another version of the contract.
	ErrABIVersion = errors.New("other ABI version")
	// ErrManifest marks a manifest that is missing, broken or contradictory.
	ErrManifest = errors.New("invalid manifest")
	// ErrNoExport marks an export that is promised or required, but missing.
	ErrNoExport = errors.New("no such export")
	// ErrImport marks an import that the host does not offer.
	ErrImport = errors.New("unusable import")
	// ErrSignature marks an import or export whose type is not that of the contract.
	ErrSignature = errors.New("wrong signature")
	// ErrConfig marks a setting or pin that is not valid, or a file that has changed since it
	// was read.
	ErrConfig = errors.New("invalid configuration")
	// ErrNoOperation marks an operation that the plugin does not have.
	ErrNoOperation = errors.New("no such operation")
	// ErrDuplicate marks a name that two plugins share.
	ErrDuplicate = errors.New("name is taken")
	// ErrTooLarge marks a file, function or module that is too large.
	ErrTooLarge = errors.New("too large")
)
