package llm

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/apiclient"
	"github.com/anchor-host/anchor-host/internal/observe"
)

// Kind says what an error means for who asked.
type Kind string

// The kinds of errors.
const (
	// Timeout says that the model did not answer in time.
	Timeout Kind = "timeout"
	// Unavailable says that the model cannot be reached, or refuses for now.
	Unavailable Kind = "unavailable"
	// Refused says that the model refuses this request.
	Refused Kind = "refused"
	// Invalid says that the answer is not what was asked for.
	Invalid Kind = "invalid"
	// Budget says that the calls or tokens of the build are spent. It wraps [ledger.ErrSpent].
	Budget Kind = "budget"
)

// Error is why a model has no answer. It has no secret and no address.
type Error struct {
	// Model is the name of the model.
	Model string
	Kind  Kind
	// Err is the cause, with what to do.
	Err error
}

// Error names the model and the cause.
func (e *Error) Error() string { return fmt.Sprintf("model %q: %v", e.Model, e.Err) }

// Public names the model and the cause, without what its server has said.
func (e *Error) Public() string {
	cause := observe.Public(e.Err)
	if e.Kind == Invalid {
		cause = "the answer is not what was asked for"
	}
	return fmt.Sprintf("model %q: %s", e.Model, cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (m *Model) failed(k Kind, err error) error { return &Error{Model: m.o.Name, Kind: k, Err: err} }

// unanswered is the error of a request that the client did not get answered.
func (m *Model) unanswered(err error) error {
	var of *apiclient.Error
	if !errors.As(err, &of) {
		return err // the context ended
	}
	switch of.Kind {
	case apiclient.Timeout:
		return m.failed(Timeout, err)
	case apiclient.Refused:
		return m.failed(Refused, err)
	case apiclient.TooLarge:
		return m.failed(Invalid, err)
	}
	return m.failed(Unavailable, err)
}
