package errkind

import (
	"errors"
	"io"
	"io/fs"
	"testing"
)

func TestAs(t *testing.T) {
	kind := errors.New("too large")
	cause := &fs.PathError{Op: "open", Path: "file", Err: io.ErrUnexpectedEOF}
	err := As(kind, cause)
	var of *fs.PathError
	if !errors.Is(err, kind) || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &of) {
		t.Errorf("%v does not wrap its kind and its cause", err)
	}
	if err.Error() != cause.Error() {
		t.Errorf("the text is %q, want that of the cause, %q", err, cause)
	}
}
