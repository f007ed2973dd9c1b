//go:build !linux && !darwin

package linear

import "errors"

// reserve fails: this package has no reservations on this system.
func reserve(uint64) ([]byte, error) { return nil, errors.ErrUnsupported }

func release([]byte) {}
