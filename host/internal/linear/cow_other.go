//go:build !(linux && (amd64 || arm64 || riscv64 || loong64))

package linear

import "errors"

// backing is nothing here: memories are filled with a copy of the image.
type backing struct{ view []byte }

func newBacking(*Image) (*backing, error) { return nil, errors.ErrUnsupported }

func (*backing) mapOver([]byte, int) error { return errors.ErrUnsupported }

func (*backing) close() {}

// track is nothing here: memories map no images.
type track struct{}

func (*Memory) restoreOwn([]byte, bool) (int64, bool) { return 0, false }

// Tracked reports whether Restore gains by being told that no page was written.
func (*Memory) Tracked() bool { return false }

// Finds says how this system finds what differs from an image.
func Finds() Finder { return Compares }

// Counts says that page faults are not counted here.
func Counts() bool { return false }

// trackAfter is the resets after which writes would be tracked.
const trackAfter = 2
