//go:build !linux

package wazerox

import (
	"errors"
	"os"
)

// Mappable says that no folder serves.
func Mappable(string) error { return errors.ErrUnsupported }

// MapCode says that this system does not replace mappings.
func MapCode([]byte, *os.File) error { return errors.ErrUnsupported }
