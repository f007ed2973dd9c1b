//go:build !unix

package spec_test

import "errors"

// makePipe makes a named pipe.
func makePipe(string) error { return errors.ErrUnsupported }
