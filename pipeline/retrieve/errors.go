package retrieve

import (
	"errors"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// Errors of an index, for errors.Is. The errors of the medium, such as store.ErrBusy and
// store.ErrFull, come as they are.
var (
	// ErrInvalid means that an argument is outside its limits.
	ErrInvalid = decode.ErrInvalid
	// ErrNotFound means that a collection or a document does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a collection exists already, with other settings.
	ErrExists = errors.New("already exists with other settings")
	// ErrEmpty means that a collection has no documents.
	ErrEmpty = errors.New("collection is empty")
	// ErrCorrupt means that a part of a collection is not what was written. The error names
	// the collection and the command that ingests it again.
	ErrCorrupt = errors.New("collection is corrupt")
)

// Errors of embedders and of vectors, for errors.Is.
var (
	// ErrVectors means that a model did not give one vector of finite numbers with the
	// right dimension for each text.
	ErrVectors = errors.New("vectors are not valid")
	// ErrModel means that vectors are of another model than those of the collection, or that the
	// collection has none.
	ErrModel = errors.New("another model")
	// ErrUnavailable means that a model cannot be reached, or refuses for now. Later the
	// same call may succeed.
	ErrUnavailable = errors.New("model is not available")
)
