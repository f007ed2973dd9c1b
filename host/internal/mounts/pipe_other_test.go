//go:build !unix

package mounts

import "errors"

// makePipe makes a named pipe.
func makePipe(string) error { return errors.ErrUnsupported }
