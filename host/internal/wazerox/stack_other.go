//go:build !linux

package wazerox

import "errors"

// mapStack says that this system has no mappings that this package uses.
func mapStack(int, int) (mapped, mem []byte, err error) { return nil, nil, errors.ErrUnsupported }

func mapValues(int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func touched([]byte) int { return 0 }

func discard([]byte) {}

func unmap([]byte) {}
