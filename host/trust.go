package host

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
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

// factsFormat must change when the content of the notes on modules changes its meaning.
const factsFormat = "2"

// CheckCacheDir says why a host whose Config.CacheDir is dir runs without a cache: somebody
// else can write to the folder or to one above it, or it cannot be made or written. It returns
// nil if the folder is used, and for CacheOff. It makes a missing folder.
//
// On Unix, macOS included, the folder must belong to the user of the process, and those above
// it to that user or to root. Others must not be able to write to any of them, except to a
// folder above that has the sticky bit, such as /tmp. Symbolic links are followed, and their
// targets are checked too. On other systems, such as Windows, none of this is checked.
func CheckCacheDir(dir string) error {
	_, err := openRoot(dir, slog.New(slog.DiscardHandler))
	return err
}

// openRoot opens the folder that dir stands for; see Config.CacheDir. It returns nil without
// an error if there is to be no cache, and with an error if the folder cannot be trusted or
// used.
func openRoot(dir string, log *slog.Logger) (*cacheRoot, error) {
	if dir == "" {
		dir = defaultCacheDir()
	}
	if dir == CacheOff || dir == "" {
		return nil, nil
	}
	store, err := codestore.Open(dir, log)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	root := &cacheRoot{Store: store}
	if root.facts, err = codestore.OpenNotes(store, factsFormat+" "+wasmbin.Revision(), settledFile); err != nil {
		log.Warn("nothing is kept about modules", "reason", err)
	}
	return root, nil
}

// defaultCacheDir is the folder anchor-host/compiled in the user's cache directory, "" if
// there is no such directory.
func defaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "anchor-host", "compiled")
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
