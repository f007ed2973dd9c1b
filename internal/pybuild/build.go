// Package pybuild makes plugins of Python projects. CPython comes from componentize-py, which makes
// a component of it with the modules of the standard library that it imports. The component becomes
// one core module, the base, which is kept: most plugins share one. The sources of a plugin and of
// its packages are data of the module, which Python executes when the module starts.
package pybuild

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/component"
	"github.com/anchor-host/anchor-host/internal/filecache"
)

// Version is the version of componentize-py that this package works with.
const Version = "0.25.1"

var (
	//go:embed runner.py
	runner []byte
	//go:embed scan.py
	scanner []byte
	//go:embed modules.txt
	defaultModules string
)

// ErrSource means that a plugin's sources cannot become a plugin.
var ErrSource = errors.New("cannot be a plugin")

// Options say what to build.
type Options struct {
	// Dir is the folder of the project, Work an empty folder for files of the build.
	Dir, Work string
	// Cache is the folder that keeps bases.
	Cache string
	// Python is a Python in whose environment the packages of the project are, Componentize the
	// program componentize-py.
	Python, Componentize string
	// Run runs a command in a folder.
	Run func(dir string, args ...string) error
	// Operations are those of the manifest, Permissions the words of its permissions: http, kv, and
	// the names of services.
	Operations, Permissions []string
}

// bundle is what Python executes. runner.py reads it.
type bundle struct {
	// Operations are all operations: the number that run gets is a place in this list.
	Operations  []string                   `json:"operations"`
	Permissions []string                   `json:"permissions"`
	Modules     map[string]json.RawMessage `json:"modules"`
}

// scan is what scan.py finds.
type scan struct {
	Modules  map[string]json.RawMessage `json:"modules"`
	Standard []string                   `json:"standard"`
	Optional []string                   `json:"optional"`
	Errors   []string                   `json:"errors"`
	Names    []string                   `json:"names"`
}

// Build returns the module of a project, without its manifest. An error about the sources wraps
// ErrSource.
func Build(o Options) ([]byte, error) {
	found, err := o.scan()
	if err != nil {
		return nil, err
	}
	text, err := bundled(found.Modules, o.Permissions)
	if err != nil {
		return nil, err
	}
	base, err := o.base(found, pagesFor(len(text)))
	if err != nil {
		return nil, err
	}
	return fill(base, text, o.Operations)
}

// bundled returns the text of a bundle.
func bundled(modules map[string]json.RawMessage, permissions []string) ([]byte, error) {
	b := bundle{Permissions: append([]string{}, permissions...), Modules: modules} // for none a list too
	for _, info := range abi.Operations {
		b.Operations = append(b.Operations, string(info.Op))
	}
	return json.Marshal(b)
}

// FromComponent returns the module of a component of the world [component.WIT], from any toolchain. Its
// function boot gets a bundle without modules.
func FromComponent(bin []byte, operations, permissions []string) ([]byte, error) {
	text, err := bundled(map[string]json.RawMessage{}, permissions)
	if err != nil {
		return nil, err
	}
	base, err := link(bin, permissions, pagesFor(len(text)))
	if err != nil {
		return nil, err
	}
	return fill(base, text, operations)
}

// scan finds what the project consists of.
func (o *Options) scan() (*scan, error) {
	script, result := filepath.Join(o.Work, "scan.py"), filepath.Join(o.Work, "scan.json")
	if err := os.WriteFile(script, scanner, 0o600); err != nil {
		return nil, err
	}
	if err := o.Run(o.Dir, o.Python, "-B", script, o.Dir, result); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	found := &scan{}
	if err := json.Unmarshal(data, found); err != nil {
		return nil, fmt.Errorf("%s: read: %w", result, err)
	}
	for _, operation := range o.Operations {
		if len(found.Errors) == 0 && !slices.Contains(found.Names, operation) && !slices.Contains(found.Names, "*") {
			found.Errors = append(found.Errors, fmt.Sprintf("plugin.py: has no function %s, an operation of plugin.yaml (write: def %s(request, settings):)", operation, operation))
		}
	}
	if len(found.Errors) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrSource, strings.Join(found.Errors, "; "))
	}
	return found, nil
}

// leastPages is how many pages every base has for the bundle. Bases of plugins with larger bundles
// have more.
const leastPages = 16

func pagesFor(size int) uint32 {
	pages := uint32(leastPages)
	for int64(pages)<<16 < int64(size)+bundleAt+4 {
		pages *= 2
	}
	return pages
}

// base returns the module without a bundle, kept or made anew.
func (o *Options) base(found *scan, pages uint32) ([]byte, error) {
	extra := slices.DeleteFunc(slices.Concat(found.Standard, found.Optional), func(name string) bool {
		return slices.Contains(strings.Fields(defaultModules), name)
	})
	slices.Sort(extra)
	source := runnerWith(found, slices.Compact(extra))
	permissions := slices.Compact(slices.Sorted(slices.Values(o.Permissions)))
	made := filecache.Key("component", Version, string(component.WIT), string(source))
	linked := filecache.Key("base", linkRevision, made, strings.Join(permissions, " "), fmt.Sprint(pages))
	return o.cache().Get(linked, func() ([]byte, error) {
		bin, err := o.cache().Get(made, func() ([]byte, error) { return o.componentize(source) })
		if err != nil {
			return nil, err
		}
		return link(bin, permissions, pages)
	})
}

// linkRevision changes with the shell and with package component, so that bases of an older release
// are not used.
const linkRevision = "3"

// link makes a base of a component.
func link(bin []byte, permissions []string, pages uint32) ([]byte, error) {
	c, err := component.Read(bin)
	if err != nil {
		return nil, err
	}
	imports, end, err := c.Imports()
	if err != nil {
		return nil, err
	}
	around, err := shell(imports, end, permissions)
	if err != nil {
		return nil, err
	}
	return c.Link(around, pages)
}

// runnerWith returns runner.py with the imports of the standard library.
func runnerWith(found *scan, extra []string) []byte {
	var b bytes.Buffer
	for _, name := range strings.Fields(defaultModules) {
		fmt.Fprintf(&b, "import %s\n", name)
	}
	for _, name := range extra {
		if slices.Contains(found.Standard, name) {
			fmt.Fprintf(&b, "import %s\n", name)
		} else {
			fmt.Fprintf(&b, "try:\n    import %s\nexcept ImportError:\n    pass\n", name)
		}
	}
	b.Write(runner)
	return b.Bytes()
}

// componentize runs componentize-py.
func (o *Options) componentize(source []byte) ([]byte, error) {
	dir := filepath.Join(o.Work, "base")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"anchor.wit": component.WIT, "runner.py": source} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	if err := o.Run(dir, o.Componentize, "-d", "anchor.wit", "-w", "plugin", "componentize", "runner", "-o", "base.wasm"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "base.wasm"))
}

// fill puts the bundle into a base, whose last data segment is the last thing in the file, and removes
// the exports of other operations. Code and numbers stay, so that hosts compile a base once.
func fill(base, bundle []byte, operations []string) ([]byte, error) {
	mark := append(binary.AppendUvarint(nil, uint64(len(bundleMark))), bundleMark...)
	cut, found := bytes.CutSuffix(base, mark)
	if !found {
		return nil, errors.New("the base has no place for the bundle")
	}
	sized := binary.LittleEndian.AppendUint32(nil, uint32(len(bundle)))
	base = slices.Concat(cut, binary.AppendUvarint(nil, uint64(len(sized)+len(bundle))), sized, bundle)
	out := make([]byte, 0, len(base)+16)
	out = append(out, base[:8]...)
	for next := 8; next < len(cut); {
		length, k := binary.Uvarint(base[next+1:])
		end := uint64(next+1+k) + length
		if base[next] == dataSection { // its length has changed
			end = uint64(len(base))
		}
		if k <= 0 || end > uint64(len(base)) {
			return nil, errors.New("the base is cut short")
		}
		content := base[next+1+k : end]
		if base[next] == exportSection {
			content = exportsOf(content, operations)
		}
		out = append(binary.AppendUvarint(append(out, base[next]), uint64(len(content))), content...)
		next = int(end)
	}
	return out, nil
}

// The sections of a module that fill changes.
const (
	exportSection = 7
	dataSection   = 11
)

// exportsOf returns the exports without operations that a plugin does not have.
func exportsOf(section []byte, operations []string) []byte {
	n, k := binary.Uvarint(section)
	var kept []byte
	count := uint64(0)
	for rest := section[k:]; n > 0; n-- {
		length, k := binary.Uvarint(rest)
		name := string(rest[k : k+int(length)])
		_, i := binary.Uvarint(rest[k+int(length)+1:])
		end := k + int(length) + 1 + i
		operation, prefixed := strings.CutPrefix(name, "anchor_")
		if !prefixed || !known(operation) || slices.Contains(operations, operation) {
			kept = append(kept, rest[:end]...)
			count++
		}
		rest = rest[end:]
	}
	return append(binary.AppendUvarint(nil, count), kept...)
}

func known(operation string) bool {
	return slices.ContainsFunc(abi.Operations, func(o abi.OperationInfo) bool { return string(o.Op) == operation })
}

// mostKept is how many files are kept. Each has about 20 MB.
const mostKept = 12

// cache is the folder of what bases are made of.
func (o *Options) cache() filecache.Folder { return filecache.Folder{Dir: o.Cache, Most: mostKept} }
