package host

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// cacheRoot is the folder of what is kept between processes. That is trusted: machine code
// is executed, and a note on a module decides what is checked of it.
type cacheRoot struct {
	*codestore.Store
	// facts are what was found out about modules, nil if that is not kept.
	facts *factsCache
}

// CheckCacheDir says why a host whose Config.CacheDir is dir runs without it: somebody
// else can write to the folder or to one above it, or it cannot be made or written. It is
// nil where the folder is used, and for CacheOff. The folder is made if it is not there.
//
// On Unix, macOS included, the folder must belong to the user of the process, those above
// it to that user or to root, and none may be writable by others; above, the sticky bit
// will do, as /tmp has it. Symbolic links are followed and held to the same. Elsewhere,
// as on Windows, none of this is checked.
func CheckCacheDir(dir string) error {
	_, err := openRoot(dir, slog.New(slog.DiscardHandler))
	return err
}

// openRoot opens the folder that dir stands for, see Config.CacheDir. It returns nil if
// there is none, with an error if there is no such folder that can be trusted.
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
	root.facts = openFacts(root)
	return root, nil
}

// defaultCacheDir is anchor-host below the user's cache directory.
func defaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "anchor-host", "compiled")
}

// errUnknownEngine says why machine code is not kept.
var errUnknownEngine = errors.New("this program does not say which version of " + wazerox.Path + " is in it, as those made by go test and by a replace with a folder do not")

// engineBuild is readEngineBuild, but in tests.
var engineBuild = readEngineBuild

// readEngineBuild names the sources of the engine in this program, and the compiler that
// they were compiled with. Machine code fits no others.
func readEngineBuild() (string, error) {
	m, known := wazerox.Source()
	if !known {
		return "", errUnknownEngine
	}
	return fmt.Sprint(m.Path, " ", m.Version, " ", m.Sum, " ", runtime.Version()), nil
}
