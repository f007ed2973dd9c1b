//go:build !linux

package codestore

import "io/fs"

// StampOf returns the zero stamp on this system.
func StampOf(fs.FileInfo) Stamp { return Stamp{} }
