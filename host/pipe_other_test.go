//go:build !unix

package host

import "errors"

// MakePipe makes a named pipe.
func MakePipe(string) error { return errors.ErrUnsupported }
