package host

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/decoded"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// cacheRoot is the folder of what is kept between processes. The host trusts its content: it
// executes the machine code, and a note on a module decides which checks of the module are
// skipped.
type cacheRoot struct {
	*codestore.Store
	// facts keeps what was found out about modules, nil if that is not kept.
	facts *codestore.Notes
}

// CacheDir returns the folder in which the host keeps machine code and images, "" if it keeps
// none: with CacheOff, or if there is no folder for it. The error says why the folder of
// Config.CacheDir is not used: somebody else can write to it or to one above it, or it cannot
// be made or written.
//
// On Unix, macOS included, the folder must belong to the user of the process, and those above
// it to that user or to root. Others must not be able to write to any of them, except to a
// folder above that has the sticky bit, such as /tmp. Symbolic links are followed, and their
// targets are checked too. On other systems, such as Windows, none of this is checked.
func (h *Host) CacheDir() (dir string, err error) {
	if h.root == nil {
		return "", h.noRoot
	}
	return h.root.Dir, nil
}

// openRoot opens the folder that dir stands for; see Config.CacheDir. It returns nil without
// an error if there is to be no cache, and with an error if the folder cannot be trusted or
// used.
func openRoot(dir string, log *slog.Logger) (*cacheRoot, error) {
	store, err := codestore.OpenNamed(dir, log)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	if store == nil {
		return nil, nil
	}
	root := &cacheRoot{Store: store}
	if root.facts, err = decoded.OpenNotes(store); err != nil {
		log.Warn("nothing is kept about modules", "reason", err)
	}
	return root, nil
}

// errUnknownEngine says why a program keeps no machine code.
var errUnknownEngine = errors.New("this program does not say which version of " + wazerox.Path + " is in it, as those made by go test and by a replace with a folder do not")

// engineBuild is readEngineBuild. Tests replace it.
var engineBuild = readEngineBuild

// readEngineBuild identifies the sources of wazero in this program and the compiler that
// compiled them. Machine code is only valid for the same ones.
func readEngineBuild() (string, error) {
	m, known := wazerox.Source()
	if !known {
		return "", errUnknownEngine
	}
	return fmt.Sprint(m.Path, " ", m.Version, " ", m.Sum, " ", runtime.Version()), nil
}
