// Package testbuild builds what the tests of several packages need, once for all of them: the
// command, and guests in Go. It is for tests only.
//
// What it built lies in build/test of the checkout, under a hash of its sources. The tests of
// another package, or of a later run, find it there. A change of a source gives another hash,
// so a test never meets what was built before the change. Tests open the sources to hash them,
// so `go test` also knows that a cached result is too old.
package testbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// Sources of what is built, as paths in the checkout.
var (
	hostSources    = []string{"go.mod", "go.sum", "abi", "host", "internal", "store", "tokens", "usage"}
	guestSources   = []string{"go.mod", "go.sum", "abi", "sdk/pdk-go", "pipeline/retrieve/words", "pipeline/retrieve/analysis"}
	commandSources = []string{
		"go.mod", "go.sum", "abi", "anchor", "cluster", "cmd", "host", "internal", "pipeline", "plugins/starter", "registry", "sdk", "server", "store", "telemetry", "tokens", "usage",
	}
)

// Root is the absolute path of the checkout.
var Root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	panic("testbuild: find the checkout: " + err.Error())
})

// A package's tests start in its folder, and some of them leave it later.
var _ = Root()

// Command returns the path of anchor-host, built as `make build` builds it.
func Command(t testing.TB) string {
	t.Helper()
	dir := made(t, "command", commandSources, func(dir string) error {
		return Go(nil, "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, commandName()), "./cmd/anchor-host")
	})
	return filepath.Join(dir, commandName())
}

func commandName() string {
	if runtime.GOOS == "windows" {
		return "anchor-host.exe"
	}
	return "anchor-host"
}

// Guest returns the folder of a plugin, with its plugin.wasm and plugin.yaml. The source is the
// folder of its main package in the checkout, such as "testdata/guests/allops". It is built with
// stock Go. Callers must not write into the folder.
func Guest(t testing.TB, source string) string {
	t.Helper()
	name := filepath.Base(source)
	return filepath.Join(made(t, "guest-"+strings.ReplaceAll(source, "/", "-"), append([]string{source}, guestSources...), func(dir string) error {
		return buildGuest(filepath.Join(dir, name), source)
	}), name)
}

// Examples returns a folder that has the named example plugins in Go, each in a folder of its
// name; without names it has all of them. Callers must not write into it.
func Examples(t testing.TB, names ...string) string {
	t.Helper()
	kind := "examples"
	if len(names) > 0 {
		kind += fmt.Sprintf("-%x", sha256.Sum256([]byte(strings.Join(names, " "))))[:9]
	}
	return made(t, kind, append([]string{"plugins/examples"}, guestSources...), func(dir string) error {
		if len(names) == 0 {
			sources, err := filepath.Glob(filepath.Join(Root(), "plugins/examples/*/main.go"))
			if err != nil || len(sources) == 0 {
				return fmt.Errorf("%d examples: %w", len(sources), err)
			}
			for _, source := range sources {
				names = append(names, filepath.Base(filepath.Dir(source)))
			}
		}
		return inParallel(names, func(name string) error {
			return buildGuest(filepath.Join(dir, name), "plugins/examples/"+name)
		})
	})
}

// CacheDir returns a folder for the cache of compiled plugins that the tests of all packages
// share. A change of the host's sources gives another folder. The caller's TestMain must have
// called SetConfigDir, else another user's key makes the cache useless, and no machine code
// is kept.
//
// It lies in the cache folder of the person who runs the tests: tests add files to it all the
// time, and `go test` would take those of a folder in the checkout for inputs.
func CacheDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(made(t, "cache", hostSources, func(string) error { return nil }), "compiled")
}

// SetConfigDir sets the folder where the host keeps the key of its caches. It lies beside those
// caches, not in the configuration of the person who runs the tests. It also names the version of
// wazero to the host, which keeps no machine code of an unknown one: test binaries do not say
// which modules are in them.
func SetConfigDir() {
	modules, err := hashOf([]string{"go.mod", "go.sum"})
	dir, err2 := cacheRoot()
	err = errors.Join(err, err2, os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config")), os.Setenv("ANCHOR_ENGINE_OF_TESTS", modules))
	if err == nil {
		err = makeFolders(filepath.Join(dir, "config"))
	}
	if err != nil {
		panic("testbuild: set the configuration folder: " + err.Error())
	}
}

// cacheRoot returns the folder of what the tests of this checkout add to while they run. It lies
// outside of the checkout where it can: the host looks at each folder above its key and its
// caches, and `go test` would take those of the checkout for inputs of a test.
func cacheRoot() (string, error) {
	dir := filepath.Join(Root(), "build", "test")
	if caches, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(caches, "anchor-host-tests", filepath.Base(Root()))
	}
	return dir, makeFolders(filepath.Dir(filepath.Dir(dir)), filepath.Dir(dir), dir)
}

func buildGuest(dir, source string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(Root(), source, "plugin.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "plugin.yaml"), manifest, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the manifest may be a section of the module
		return err
	}
	return Go([]string{"GOOS=wasip1", "GOARCH=wasm"}, "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w",
		"-o", filepath.Join(dir, "plugin.wasm"), "./"+source)
}

// Go runs the go command in the checkout, with more environment variables. Its error has what
// the command printed.
func Go(env []string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = Root()
	// Compilers and linkers live for seconds: they need less time when they collect no garbage.
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOGC=off", "GOMEMLIMIT=1GiB"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// inParallel runs f for each element, as many at a time as there are processors.
func inParallel(of []string, f func(string) error) error {
	var all sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, len(of))
	for i, s := range of {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			errs[i] = f(s)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

var (
	mu     sync.Mutex
	folder = map[string]string{} // by kind: what this process has built or found
)

// made returns the folder of a kind for the present sources, and makes it first where no
// process did before.
func made(t testing.TB, kind string, sources []string, make func(dir string) error) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if dir, ok := folder[kind]; ok {
		return dir
	}
	dir, err := find(kind, sources, make)
	if err != nil {
		t.Fatalf("testbuild: build %s: %v", kind, err)
	}
	folder[kind] = dir
	return dir
}

func find(kind string, sources []string, make func(dir string) error) (dir string, err error) {
	hash, err := hashOf(sources)
	if err != nil {
		return "", err
	}
	all := filepath.Join(Root(), "build", "test")
	if kind == "cache" {
		all, err = cacheRoot()
	} else {
		err = makeFolders(filepath.Dir(all), all)
	}
	if err != nil {
		return "", err
	}
	dir = filepath.Join(all, kind+"-"+hash)
	lock := flock.New(filepath.Join(all, kind+".lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(dir); err == nil {
		return dir, use(dir)
	}
	removeOld(all, kind, hash)
	next, err := os.MkdirTemp(all, kind+".new-*")
	if err != nil {
		return "", err
	}
	if err := make(next); err != nil {
		return "", errors.Join(err, os.RemoveAll(next))
	}
	if err := errors.Join(age(next), use(dir)); err != nil {
		return "", err
	}
	return dir, os.Rename(next, dir)
}

// age gives all that was built one old time. `go test` keeps no result of a test that read a
// file of the last two seconds, and the hash in the name of the folder says enough of it.
func age(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, built, built))
	})
}

var built = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// makeFolders makes the folders that are not there. [os.MkdirAll] looks at each first, and what
// a test looks at decides whether its result is kept: build/test changes all the time.
func makeFolders(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// use notes beside the folder that tests use it now: by the time of an empty folder, as
// `go test` takes no notice of one that is made.
func use(dir string) error {
	if err := makeFolders(dir + ".used"); err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(dir+".used", now, now)
}

// removeOld removes what was built from older sources, unless tests may still use it.
func removeOld(all, kind, hash string) {
	for _, name := range unseen(all) {
		old := filepath.Join(all, name)
		if h, ok := strings.CutPrefix(name, kind+"-"); !ok || len(h) != len(hash) {
			continue
		}
		if info, err := os.Stat(old + ".used"); err != nil || time.Since(info.ModTime()) > time.Hour {
			_ = errors.Join(os.RemoveAll(old), os.Remove(old+".used")) // what stays only takes room
		}
	}
}

// Top names the files and folders at the top of the checkout, but those of git and "build". It lists
// them so that `go test` does not take the folder for an input: "build" changes all the time.
func Top() []string {
	names := slices.DeleteFunc(unseen(Root()), func(name string) bool { return name == ".git" || name == "build" })
	slices.Sort(names)
	return names
}

// unseen lists a folder so that `go test` does not take it for an input of the test.
func unseen(dir string) []string {
	fd, err := syscall.Open(dir, syscall.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	names, _ := f.Readdirnames(-1) // those that it could read
	return names
}

// hashOf returns a hash of all source files, and of what else decides what is built.
func hashOf(sources []string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv("GOFLAGS"), os.Getenv("GOEXPERIMENT"))
	for _, source := range sources {
		err := filepath.WalkDir(filepath.Join(Root(), source), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && (e.Name() == "testdata" || e.Name() == "node_modules") {
				return fs.SkipDir
			}
			if !e.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			return addFile(h, path)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}

func addFile(h io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%s %d\n%s", strings.TrimPrefix(path, Root()), len(data), data)
	return err
}
