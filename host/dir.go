package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// DirEntry is one plugin of a plugin directory, or what is wrong with it:
// either Spec or Err is set.
type DirEntry struct {
	// Name is the name of the folder, or of the file without ".wasm".
	Name string
	// Path is the module's path.
	Path string
	Spec *Spec
	// Err is one line that says how to mend the entry.
	Err error
}

const (
	pluginFile   = "plugin.wasm"
	manifestFile = "plugin.yaml"
	wasmSuffix   = ".wasm"
	// maxManifest bounds plugin.yaml; the largest hand-written ones have a few
	// kilobytes.
	maxManifest = 1 << 20
)

// ReadDir reads the specs of all plugins of a directory, in the order of their
// names: folders that hold plugin.wasm, with or without plugin.yaml, and files
// *.wasm. Other files, folders without a module, and names that begin with a
// dot are passed over. A bad entry stops nothing but itself; of two plugins of
// one name both are in error.
//
// Nothing outside dir is read, whatever links it holds, and nothing is written.
func ReadDir(dir string) ([]DirEntry, error) { return Reader{CacheOff}.ReadDir(dir) }

// ReadNamed is [ReadDir] for some plugins only: no other module is opened. It
// returns the entries of these names, those of one name twice among them, and the
// names of the other plugins, sorted.
func ReadNamed(dir string, names ...string) (entries []DirEntry, others []string, err error) {
	return Reader{CacheOff}.ReadNamed(dir, names...)
}

// Reader reads plugins as [ReadDir], [ReadNamed] and [ReadFile] do, and remembers
// what decoding a module showed: the next time, in whatever process, that takes a
// small part of the time. A file whose place, size and times are as they were is not
// read at all until the module is needed; its digest is checked then. Load refuses
// with ErrConfig what has been changed in the meantime.
type Reader struct {
	// CacheDir is where that is kept; see [Config.CacheDir], which has the same
	// meaning and should be the same folder.
	CacheDir string
}

// ReadDir is the function [ReadDir].
func (r Reader) ReadDir(dir string) ([]DirEntry, error) {
	entries, _, err := r.scanDir(dir, func(string) bool { return true })
	return entries, err
}

// ReadNamed is the function [ReadNamed].
func (r Reader) ReadNamed(dir string, names ...string) (entries []DirEntry, others []string, err error) {
	return r.scanDir(dir, func(name string) bool { return slices.Contains(names, name) })
}

// facts are what is kept about modules, nil if nothing is.
func (r Reader) facts() *factsCache {
	root, err := openRoot(r.CacheDir, slog.New(slog.DiscardHandler))
	if root == nil || err != nil { // what a host says of it
		return nil
	}
	return root.facts
}

// scanDir reads the plugins whose names are wanted, side by side, and lists the
// others.
func (r Reader) scanDir(dir string, wanted func(name string) bool) (entries []DirEntry, others []string, err error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("plugin directory %s: open: %w (create it, or set plugins.dir)", dir, cause(err))
	}
	defer root.Close()
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, nil, fmt.Errorf("plugin directory %s: list: %w", dir, cause(err))
	}
	var chosen []found
	for _, e := range list {
		entry, ok := findEntry(root, dir, e.Name())
		switch {
		case !ok:
		case !wanted(entry.Name):
			others = append(others, entry.Name)
		default:
			chosen = append(chosen, entry)
		}
	}
	entries = readAll(root, chosen, r.facts())
	refuseDuplicates(entries)
	slices.Sort(others)
	return entries, slices.Compact(others), nil
}

// found is a plugin that has not been read yet.
type found struct {
	DirEntry
	// module and manifest are files of the directory; there may be no manifest.
	module, manifest string
}

// findEntry finds the plugin that name stands for, if it is one. Err is set if
// there is no module that could be read.
func findEntry(root *os.Root, dir, name string) (found, bool) {
	if strings.HasPrefix(name, ".") {
		return found{}, false
	}
	info, err := root.Stat(name)
	isFile := strings.HasSuffix(name, wasmSuffix) && (err != nil || !info.IsDir())
	switch {
	case isFile:
		e := DirEntry{Name: strings.TrimSuffix(name, wasmSuffix), Path: filepath.Join(dir, name)}
		return found{e, name, ""}, true
	case err != nil:
		return found{DirEntry: DirEntry{Name: name, Path: filepath.Join(dir, name), Err: unreadable(name, err)}}, true
	case !info.IsDir():
		return found{}, false
	}
	f := found{module: filepath.Join(name, pluginFile), manifest: filepath.Join(name, manifestFile)}
	f.DirEntry = DirEntry{Name: name, Path: filepath.Join(dir, f.module)}
	if _, err := root.Lstat(f.module); errors.Is(err, fs.ErrNotExist) {
		if _, err := root.Lstat(f.manifest); err != nil {
			return found{}, false
		}
		f.Err = fmt.Errorf("plugin %q: there is %s but no %s: %w (build the plugin into this folder)", name, manifestFile, pluginFile, fs.ErrNotExist)
	}
	return f, true
}

// readAll reads plugins, as many at a time as there are processors.
func readAll(root *os.Root, list []found, kept *factsCache) []DirEntry {
	if len(list) == 0 {
		return nil
	}
	entries := make([]DirEntry, len(list))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				entries[i] = list[i].read(root, kept)
			}
		})
	}
	wg.Wait()
	return entries
}

// read reads the module and the manifest beside it.
func (f found) read(root *os.Root, kept *factsCache) DirEntry {
	if f.Err == nil {
		f.Spec, f.Err = readPlugin(root, f.Name, f.module, f.manifest, kept)
	}
	return f.DirEntry
}

// readPlugin reads a module and the manifest beside it, if there is one.
func readPlugin(root *os.Root, name, module, manifest string, kept *factsCache) (*Spec, error) {
	src, key, err := openSource(root, module, kept)
	var side []byte
	if err == nil && manifest != "" {
		if side, err = readBounded(root, manifest, maxManifest); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	switch {
	case err == nil:
		info, err := src.inspect(key, kept)
		return readSpec(name, src, info, err, side)
	case name == "":
		return nil, err
	}
	return nil, fmt.Errorf("plugin %q: %w", name, err)
}

// ReadFile reads the spec of one module file, with the plugin.yaml beside it
// when the file is named plugin.wasm. A module that states no name has the one that
// [ReadDir] would give it.
func ReadFile(path string) (*Spec, error) { return Reader{CacheOff}.ReadFile(path) }

// ReadFile is the function [ReadFile].
func (r Reader) ReadFile(path string) (*Spec, error) {
	dir, file := filepath.Split(filepath.Clean(path))
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("module %s: open: %w (give the path of a module)", path, cause(err))
	}
	defer root.Close()
	info, err := root.Stat(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("module %s: read: %w (give the path of a module)", path, cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("module %s: a folder: %w (give the .wasm file in it)", path, ErrNotWasm)
	}
	manifest := ""
	if file == pluginFile {
		manifest = manifestFile
	}
	spec, err := readPlugin(root, "", file, manifest, r.facts())
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", path, err)
	}
	if spec.Name == "" {
		spec.Name = fileName(dir, file)
	}
	return spec, nil
}

// fileName is the name of a module that states none, as [ReadDir] gives it: that of
// the file, or of the folder around plugin.wasm.
func fileName(dir, file string) string {
	if abs, err := filepath.Abs(dir); err == nil && file == pluginFile && filepath.Dir(abs) != abs {
		return filepath.Base(abs)
	}
	return strings.TrimSuffix(file, wasmSuffix)
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	return readOpen(f, name, limit)
}

// readOpen reads at most limit bytes of a file.
func readOpen(f *os.File, name string, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() <= limit {
		buf.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(f, limit+1))
	b := buf.Bytes()
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("%s: %w (at most %d bytes)", name, ErrTooLarge, limit)
	}
	return b, nil
}

// unreadable says why a file of the plugin directory cannot be read.
func unreadable(name string, err error) error {
	return fmt.Errorf("%s: read: %w (it must be a readable file inside the plugin directory)", name, cause(err))
}

// cause takes the operation and path off a file error, which the caller names
// better.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// refuseDuplicates puts both of two plugins of one name in error.
func refuseDuplicates(entries []DirEntry) {
	first := map[string]int{}
	for i := range entries {
		e := &entries[i]
		j, taken := first[e.Name]
		if !taken {
			first[e.Name] = i
			continue
		}
		err := fmt.Errorf("plugin %q: %w: both %s and %s have it (remove one)", e.Name, ErrDuplicate, entries[j].Path, e.Path)
		e.Spec, e.Err = nil, err
		entries[j].Spec, entries[j].Err = nil, err
	}
}
