//go:build !unix

package keys

import (
	"io/fs"
	"os"
)

// checkMode accepts every file: here modes do not say who may read it.
func checkMode(string, fs.FileMode) error { return nil }

func likeBefore(*os.File, string) error { return nil }

func syncFolder(string) {}
