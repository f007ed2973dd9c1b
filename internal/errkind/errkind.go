// Package errkind gives an error a kind for errors.Is, without a word in its text.
package errkind

type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// As returns an error that wraps kind and err. Its text is that of err.
func As(kind, err error) error { return &kindError{kind, err} }
