//go:build !linux && !darwin

package linear

import "errors"

// reserve says that this system has no reservations that this package uses.
func reserve(uint64) ([]byte, error) { return nil, errors.ErrUnsupported }

func release([]byte) {}
