package observe

import (
	"context"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
)

type discreetKey struct{}

// Discreet returns a context under which diagnostics tell errors by their [Public] text, because
// others than the operator read them.
func Discreet(ctx context.Context) context.Context {
	return context.WithValue(ctx, discreetKey{}, true)
}

// Text returns the text of an error for the diagnostics of work under ctx.
func Text(ctx context.Context, err error) string {
	if ctx.Value(discreetKey{}) != nil {
		return Public(err)
	}
	return err.Error()
}

// Public returns the text of an error without what only the operator may see: the addresses of
// servers, what they have answered, and paths of files. Errors that know of such things have a method
// Public, whose text takes the place of theirs.
func Public(err error) string {
	text := err.Error()
	conceal(err, func(whole, public string) {
		if whole != "" {
			text = strings.ReplaceAll(text, whole, public)
		}
	})
	return text
}

// conceal calls replace with the whole text and the public one of each error in the tree of err that
// has both. It does not look into these.
func conceal(err error, replace func(whole, public string)) {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case nil:
	case interface{ Public() string }:
		replace(err.Error(), e.Public())
	case *url.Error, *net.OpError, *net.DNSError:
		replace(err.Error(), "the server cannot be reached")
	case *fs.PathError:
		replace(err.Error(), e.Err.Error())
	case *os.LinkError:
		replace(err.Error(), e.Err.Error())
	case interface{ Unwrap() error }:
		conceal(e.Unwrap(), replace)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			conceal(inner, replace)
		}
	}
}
