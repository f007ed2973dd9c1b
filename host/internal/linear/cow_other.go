//go:build !(linux && (amd64 || arm64 || riscv64 || loong64))

package linear

import "errors"

// backing does not exist on this system: each memory gets a copy of the image.
type backing struct{ view []byte }

func newBacking(int, []run) (*backing, error) { return nil, errors.ErrUnsupported }

func (*backing) mapOver([]byte, int) error { return errors.ErrUnsupported }

func (*backing) close() {}
