//go:build !(linux || darwin || freebsd)

package doctorcmd

import "errors"

// freeBytes is not supported on this system.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
