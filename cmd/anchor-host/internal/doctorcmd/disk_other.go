//go:build !(linux || darwin || freebsd)

package doctorcmd

import "errors"

// freeBytes says that this system is not asked.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
