package codestore

import (
	"log/slog"

	"github.com/anchor-host/anchor-host/internal/cachedir"
)

// Off as the name of a folder means that nothing is kept.
const Off = "off"

// OpenNamed opens the folder that an operator named. "" is the folder anchor-host/compiled in
// the user's cache directory. It returns nil without an error if there is no such directory,
// and for [Off]. Errors are those of [Open].
func OpenNamed(dir string, log *slog.Logger) (*Store, error) {
	if dir == "" {
		dir, _ = cachedir.Folder(cachedir.Compiled) // "" if there is none
	}
	if dir == Off || dir == "" {
		return nil, nil
	}
	return Open(dir, log)
}
