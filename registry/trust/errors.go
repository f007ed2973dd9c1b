package trust

import (
	"errors"
	"slices"
)

// The reasons why a signature is refused. Errors of this package wrap one of them.
var (
	// ErrUnsigned says that there is no signature where one is required.
	ErrUnsigned = errors.New("not signed")
	// ErrFormat says that a key or a signature cannot be read.
	ErrFormat = errors.New("not readable")
	// ErrKey says that the signature was made with a key that the policy does not list.
	ErrKey = errors.New("signed with an unknown key")
	// ErrSignature says that the signature does not fit what it is said to sign.
	ErrSignature = errors.New("wrong signature")
	// ErrSubject says that a valid signature is for something else.
	ErrSubject = errors.New("signed for something else")
	// ErrRevoked says that the key or the artifact is on a list of revoked ones.
	ErrRevoked = errors.New("revoked")
	// ErrPassword says that a secret key cannot be decrypted with the password, or without one.
	ErrPassword = errors.New("no password, or a wrong one")
	// ErrReference says that a reference or a pattern of references is not valid.
	ErrReference = errors.New("not a valid reference")
)

// severity orders the reasons. If no signature is accepted, the error tells the last of these that
// occurred, because it says the most about what happened.
var severity = []error{ErrUnsigned, ErrFormat, ErrKey, ErrSignature, ErrSubject, ErrRevoked}

// worse returns the one of two errors whose reason says more. Either may be nil.
func worse(a, b error) error {
	rank := func(err error) int {
		return slices.IndexFunc(severity, func(reason error) bool { return errors.Is(err, reason) })
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
