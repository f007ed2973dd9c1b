// Package cachedir says where caches lie that no operator has given a folder.
package cachedir

import (
	"os"
	"path/filepath"
)

// The folders of the caches.
const (
	Compiled = "compiled" // compiled plugins, and their images
	OCI      = "oci"      // artifacts of registries
)

// Folder returns the folder of a cache, which is below $XDG_CACHE_HOME or ~/.cache on Linux.
func Folder(name string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "anchor-host", name), nil
}
