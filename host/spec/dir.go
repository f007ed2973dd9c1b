package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/decoded"
)

// Entry is one plugin of a plugin directory. Either Spec or Err is set.
type Entry struct {
	// Name is the name of the folder, or of the file without ".wasm".
	Name string
	// Path is the path of the module.
	Path string
	Spec *Spec
	// Err says on one line why the plugin cannot be read and what to do about it.
	Err error
}

const (
	pluginFile   = "plugin.wasm"
	manifestFile = "plugin.yaml"
	wasmSuffix   = ".wasm"
	// maxManifest bounds plugin.yaml, in bytes. The largest hand-written ones have a few
	// kilobytes.
	maxManifest = 1 << 20
)

// ReadDir reads the specs of all plugins of a directory, sorted by name. A plugin is a
// folder that holds plugin.wasm, with or without plugin.yaml, or a file *.wasm. Other
// files, folders without a module, and names that begin with a dot are ignored. A bad
// plugin gets an entry with Err and does not affect the others. If two plugins have the
// same name, both get Err.
//
// ReadDir reads nothing outside of dir, whatever links it holds, and writes nothing.
func ReadDir(dir string) ([]Entry, error) { return Reader{codestore.Off}.ReadDir(dir) }

// ReadNamed is [ReadDir] for the plugins of the given names. It opens no other module. It
// returns their entries, more than one if several plugins have the same name, and the names
// of all other plugins, sorted.
func ReadNamed(dir string, names ...string) (entries []Entry, others []string, err error) {
	return Reader{codestore.Off}.ReadNamed(dir, names...)
}

// Reader reads plugins as [ReadDir], [ReadNamed] and [ReadFile] do, and keeps on disk what
// it found out about each module. Reading the module again then takes a small part of the
// time, in any process. A file whose place, size and times have not changed is not read at
// all until the module is needed. Loading then checks its digest and refuses a file that has
// changed meanwhile with ErrConfig.
type Reader struct {
	// CacheDir is the folder for what the Reader keeps. It means the same as CacheDir of
	// host.Config and should be the same folder.
	CacheDir string
}

// ReadDir is the function [ReadDir].
func (r Reader) ReadDir(dir string) ([]Entry, error) {
	entries, _, err := r.scanDir(dir, func(string) bool { return true })
	return entries, err
}

// ReadNamed is the function [ReadNamed].
func (r Reader) ReadNamed(dir string, names ...string) (entries []Entry, others []string, err error) {
	return r.scanDir(dir, func(name string) bool { return slices.Contains(names, name) })
}

// facts returns what is kept about modules, nil if nothing is.
func (r Reader) facts() *codestore.Notes {
	store, err := codestore.OpenNamed(r.CacheDir, slog.New(slog.DiscardHandler))
	if store == nil || err != nil { // a host that uses the folder says why it cannot be used
		return nil
	}
	notes, err := decoded.OpenNotes(store)
	if err != nil {
		return nil
	}
	return notes
}

// scanDir reads the plugins whose names are wanted, in parallel, and lists the names of the
// others.
func (r Reader) scanDir(dir string, wanted func(name string) bool) (entries []Entry, others []string, err error) {
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
	Entry
	// module and manifest are paths in the directory. There may be no such manifest; ""
	// means that none is looked for.
	module, manifest string
}

// findEntry finds the plugin that a name in the directory stands for, and reports whether
// it is one. Err is set if there is no readable module.
func findEntry(root *os.Root, dir, name string) (found, bool) {
	if strings.HasPrefix(name, ".") {
		return found{}, false
	}
	info, err := root.Stat(name)
	isFile := strings.HasSuffix(name, wasmSuffix) && (err != nil || !info.IsDir())
	switch {
	case isFile:
		e := Entry{Name: strings.TrimSuffix(name, wasmSuffix), Path: filepath.Join(dir, name)}
		return found{e, name, ""}, true
	case err != nil:
		return found{Entry: Entry{Name: name, Path: filepath.Join(dir, name), Err: unreadable(name, err)}}, true
	case !info.IsDir():
		return found{}, false
	}
	f := found{module: filepath.Join(name, pluginFile), manifest: filepath.Join(name, manifestFile)}
	f.Entry = Entry{Name: name, Path: filepath.Join(dir, f.module)}
	if _, err := root.Lstat(f.module); errors.Is(err, fs.ErrNotExist) {
		if _, err := root.Lstat(f.manifest); err != nil {
			return found{}, false
		}
		f.Err = fmt.Errorf("plugin %q: there is %s but no %s: %w (build the plugin into this folder)", name, manifestFile, pluginFile, fs.ErrNotExist)
	}
	return f, true
}

// readAll reads plugins, as many at once as there are processors.
func readAll(root *os.Root, list []found, kept *codestore.Notes) []Entry {
	if len(list) == 0 {
		return nil
	}
	entries := make([]Entry, len(list))
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
func (f found) read(root *os.Root, kept *codestore.Notes) Entry {
	if f.Err == nil {
		f.Spec, f.Err = readPlugin(root, f.Name, f.module, f.manifest, kept)
	}
	return f.Entry
}

// readPlugin reads a module and the manifest beside it, if there is one. The name is "" if
// the plugin has none yet.
func readPlugin(root *os.Root, name, module, manifest string, kept *codestore.Notes) (*Spec, error) {
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

// fileName is the name that [ReadDir] gives to a module that states none: that of the file,
// or of the folder that holds plugin.wasm.
func fileName(dir, file string) string {
	if abs, err := filepath.Abs(dir); err == nil && file == pluginFile && filepath.Dir(abs) != abs {
		return filepath.Base(abs)
	}
	return strings.TrimSuffix(file, wasmSuffix)
}

// ReadFile reads the spec of one module file, and the plugin.yaml beside it if the file is
// named plugin.wasm. A module that states no name gets the one that [ReadDir] would give
// it.
func ReadFile(path string) (*Spec, error) { return Reader{codestore.Off}.ReadFile(path) }

// ReadFile is the function [ReadFile].
func (r Reader) ReadFile(path string) (*Spec, error) {
	dir, file := filepath.Split(filepath.Clean(path))
	dir = cmp.Or(dir, ".")
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

// refuseDuplicates sets Err of all plugins that share a name.
func refuseDuplicates(entries []Entry) {
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
