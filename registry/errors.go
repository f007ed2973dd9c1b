package registry

import (
	"errors"

	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrReference marks a reference that names no plugin in a registry.
	ErrReference = errors.New("invalid reference")
	// ErrNotFound marks what a registry or the cache does not have.
	ErrNotFound = errors.New("not found")
	// ErrOffline marks what would need a registry while the client is offline.
	ErrOffline = errors.New("offline")
	// ErrDenied marks a request that the registry refuses to this user.
	ErrDenied = errors.New("access denied")
	// ErrBusy marks a registry that asks to come back later.
	ErrBusy = errors.New("registry is busy")
	// ErrUnreachable marks a registry that gives no usable answer.
	ErrUnreachable = kind.ErrUnreachable
	// ErrRedirect marks a redirect that is not followed.
	ErrRedirect = kind.ErrRedirect
	// ErrDigest marks bytes that are not those that a digest or a size promises.
	ErrDigest = errors.New("wrong content")
	// ErrTooLarge marks something that is larger than its limit.
	ErrTooLarge = kind.ErrTooLarge
	// ErrNotPlugin marks an artifact that is not a plugin of one core module.
	ErrNotPlugin = kind.ErrNotPlugin
	// ErrExists marks a tag that another artifact has already.
	ErrExists = errors.New("tag is taken")
	// ErrArchive marks an archive that Load refuses.
	ErrArchive = errors.New("invalid archive")
)
