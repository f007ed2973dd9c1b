package codestore

import (
	"log/slog"
	"os"
	"path/filepath"
)

// Off as the name of a folder means that nothing is kept.
const Off = "off"

// OpenNamed opens the folder that an operator named. "" is the folder anchor-host/compiled in
// the user's cache directory. It returns nil without an error if there is no such directory,
// and for [Off]. Errors are those of [Open].
func OpenNamed(dir string, log *slog.Logger) (*Store, error) {
	if dir == "" {
		dir = defaultFolder()
	}
	if dir == Off || dir == "" {
		return nil, nil
	}
	return Open(dir, log)
}

func defaultFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "anchor-host", "compiled")
}
