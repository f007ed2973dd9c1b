package wazerox

import "errors"

// overflow is what wazero says of a call for which its stack has no room.
const overflow = "stack overflow"

// Overflowed reports whether err is a stack overflow, or wraps one.
func Overflowed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == overflow {
			return true
		}
	}
	return false
}
