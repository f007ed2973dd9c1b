package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// What is kept between processes is trusted: machine code is executed, and a note on a
// module decides what is checked of it. So the folder of it is used only where nobody
// but the user can write, and what lies there only with a mark that only the user can
// make; see seal.go.

// cacheRoot is the folder of what is kept between processes.
type cacheRoot struct {
	// dir is absolute and without symbolic links.
	dir  string
	seal *seal
	// facts are what was found out about modules, nil if that is not kept.
	facts *factsCache
	log   *slog.Logger
}

const (
	// keyFolder and keyFile are where the key is, below the user's folder of
	// configuration: who gets hold of a copy of the cache has no key with it.
	keyFolder, keyFile = "anchor-host", "cache.key"
	// ownKeyFile is its name in the cache, where there is no such folder.
	ownKeyFile = "key"
)

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
	dir, err := ownFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	k := &cacheRoot{dir: dir, log: log}
	if k.seal, err = openSeal(dir); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	k.facts = openFacts(k)
	return k, nil
}

// defaultCacheDir is anchor-host below the user's cache directory.
func defaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "anchor-host", "compiled")
}

// ownFolder makes a folder where there is none and returns its place, if nobody but the
// user can change what lies in it.
func ownFolder(dir string) (string, error) {
	place, err := checkPath(dir) // first, so that nothing is made in a folder of others
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		return "", fmt.Errorf("%w (name a folder that can be written)", err)
	}
	if place, err = checkPath(place); err != nil {
		return "", err
	}
	info, err := os.Lstat(place)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", place)
	}
	if err == nil {
		err = checkOwn(place, info)
	}
	return place, err
}

// folder makes a folder in the cache.
func (k *cacheRoot) folder(name string) (string, error) {
	dir := filepath.Join(k.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder (remove it)", dir)
	}
	if err == nil {
		err = checkOwn(dir, info)
	}
	return dir, err
}

// refuse removes what lies in the place of a file of the cache and cannot be trusted,
// and says so.
func (k *cacheRoot) refuse(path string, why error) {
	if err := os.RemoveAll(path); err != nil {
		why = errors.Join(why, err)
	}
	k.log.Warn("file of the cache refused and removed: what it held is made anew", "file", path, "reason", why)
}

// readOwn reads a regular file of the user's of at most limit bytes. Nothing else is
// read or waited for.
func readOwn(path string, limit int64) ([]byte, error) {
	f, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return b, err
}

// openOwn opens a regular file of the user's that nobody else can write to.
func openOwn(path string) (*os.File, error) {
	f, err := openNoWait(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err == nil {
		err = checkOwn(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
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
