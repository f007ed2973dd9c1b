//go:build !(linux && (amd64 || arm64 || riscv64 || loong64))

package linear

import "errors"

// backing does not exist on this system: each memory gets a copy of the image.
type backing struct{ view []byte }

func newBacking(*Image) (*backing, error) { return nil, errors.ErrUnsupported }

func (*backing) mapOver([]byte, int) error { return errors.ErrUnsupported }

func (*backing) close() {}

// track is empty: writes are not tracked on this system.
type track struct{}

func (*Memory) restoreMapped([]byte) (int64, bool) { return 0, false }

// Finds says how this system finds the pages that differ from an image.
func Finds() Finder { return Compares }

// trackAfter is the number of resets after which writes would be tracked.
const trackAfter = 2
