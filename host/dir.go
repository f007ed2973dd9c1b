package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
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
func ReadDir(dir string) ([]DirEntry, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("plugin directory %s: open: %w (create it, or set plugins.dir)", dir, cause(err))
	}
	defer root.Close()
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("plugin directory %s: list: %w", dir, cause(err))
	}
	var entries []DirEntry
	for _, e := range list {
		if entry, ok := readEntry(root, dir, e.Name()); ok {
			entries = append(entries, entry)
		}
	}
	refuseDuplicates(entries)
	return entries, nil
}

// readEntry reads the plugin that name stands for, if it is one.
func readEntry(root *os.Root, dir, name string) (DirEntry, bool) {
	if strings.HasPrefix(name, ".") {
		return DirEntry{}, false
	}
	info, err := root.Stat(name)
	isFile := strings.HasSuffix(name, wasmSuffix) && (err != nil || !info.IsDir())
	switch {
	case isFile:
		e := DirEntry{Name: strings.TrimSuffix(name, wasmSuffix), Path: filepath.Join(dir, name)}
		e.Spec, e.Err = readPlugin(root, e.Name, name, "")
		return e, true
	case err != nil:
		return DirEntry{Name: name, Path: filepath.Join(dir, name), Err: unreadable(name, err)}, true
	case !info.IsDir():
		return DirEntry{}, false
	}
	module, manifest := filepath.Join(name, pluginFile), filepath.Join(name, manifestFile)
	e := DirEntry{Name: name, Path: filepath.Join(dir, module)}
	if _, err := root.Lstat(module); errors.Is(err, fs.ErrNotExist) {
		if _, err := root.Lstat(manifest); err != nil {
			return DirEntry{}, false
		}
		e.Err = fmt.Errorf("plugin %q: there is %s but no %s: %w (build the plugin into this folder)", name, manifestFile, pluginFile, fs.ErrNotExist)
		return e, true
	}
	e.Spec, e.Err = readPlugin(root, name, module, manifest)
	return e, true
}

// readPlugin reads a module and the manifest beside it, if there is one.
func readPlugin(root *os.Root, name, module, manifest string) (*Spec, error) {
	wasm, err := readBounded(root, module, wasmbin.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	var side []byte
	if manifest != "" {
		side, err = readBounded(root, manifest, maxManifest)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("plugin %q: %w", name, err)
		}
	}
	return ReadSpec(name, wasm, side)
}

// ReadFile reads the spec of one module file, with the plugin.yaml beside it
// when the file is named plugin.wasm.
func ReadFile(path string) (*Spec, error) {
	dir, file := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("module %s: open: %w", path, cause(err))
	}
	defer root.Close()
	manifest, name := "", ""
	if file == pluginFile {
		manifest = manifestFile
	}
	spec, err := readPlugin(root, name, file, manifest)
	if err != nil {
		return nil, err
	}
	if spec.Name == "" {
		spec.Name = strings.TrimSuffix(file, wasmSuffix)
	}
	return spec, nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
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
