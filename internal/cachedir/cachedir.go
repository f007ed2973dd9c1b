// Package cachedir says where caches lie that no operator has given a folder.
package cachedir

import (
	"os"
	"path/filepath"
)

// The folders of the caches.
const (
	Compiled   = "compiled"   // compiled plugins, and their images
	OCI        = "oci"        // artifacts of registries
	JavaScript = "javascript" // the engine of plugins in JavaScript in its shell
	Python     = "python"     // Python for plugins, without their sources
	Java       = "java"       // class paths of plugins in Java, and the program that builds them
	Followed   = "followed"   // what hosts of a cluster have followed last
)

// Folder returns the folder of a cache, which is below $XDG_CACHE_HOME or ~/.cache on Linux.
func Folder(name string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "anchor-host", name), nil
}
