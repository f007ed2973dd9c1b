package observe_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"testing"

	"github.com/anchor-host/anchor-host/internal/observe"
)

type hidden struct{}

func (hidden) Error() string  { return "10.0.0.1 says no" }
func (hidden) Public() string { return "the server says no" }

func TestPublic(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{hidden{}, "the server says no"},
		{fmt.Errorf("step a: %w (later)", hidden{}), "step a: the server says no (later)"},
		{errors.Join(errors.New("first"), fmt.Errorf("second: %w", hidden{})), "first\nsecond: the server says no"},
		{fmt.Errorf("%w: %w", errors.New("a"), &url.Error{Op: "Post", URL: "http://10.0.0.1/v1", Err: dial}), "a: the server cannot be reached"},
		{fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "/srv/secret", Err: fs.ErrNotExist}), "read: file does not exist"},
	} {
		if got := observe.Public(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
		if got := observe.Text(t.Context(), tt.err); got != tt.err.Error() {
			t.Errorf("for the operator: %q, want %q", got, tt.err)
		}
		if got := observe.Text(observe.Discreet(t.Context()), tt.err); got != tt.want {
			t.Errorf("for a client: %q, want %q", got, tt.want)
		}
	}
}
