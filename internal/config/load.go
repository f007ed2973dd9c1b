package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/migrate"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/store"
)

// DefaultFile is the configuration file of the current folder.
const DefaultFile = "anchor.yaml"

// MaxFile bounds the size of a configuration file in bytes.
const MaxFile = 4 << 20

// Loaded is a configuration that knows the position of each of its values in the file.
type Loaded struct {
	Config
	// File is the path of the file, empty when there is none.
	File string
	// Dir is the folder that relative paths of the file refer to.
	Dir  string
	node *strict.Node
	// read reads the configuration again. nil: it is in File.
	read func() ([]byte, error)
	// lockFile is anchor.lock. Empty: it is in Dir.
	lockFile string
	// own is the host's own file if l is one that a host follows.
	own *strict.Node
	// references are the plugins that the file names by their place in a registry.
	references []string
	// overridden are the applied overrides, in order.
	overridden []overridden
}

// overridden is an applied override.
type overridden struct {
	Override
	value, origin string
}

// Default returns the configuration of an empty file in the current folder.
func Default() *Loaded {
	return &Loaded{Dir: ".", node: &strict.Node{Kind: strict.Map}}
}

// Load reads and checks a file. The error is a [strict.Problems] with
// everything that is wrong, or wraps fs.ErrNotExist.
func Load(path string) (*Loaded, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("read configuration: %w (allow this user to read the file)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read configuration: %s: is a folder (name the file, such as %s)", path, filepath.Join(path, DefaultFile))
	}
	data, err := ReadAll(path, f)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// ReadAll reads a configuration, which name identifies in errors.
func ReadAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", ErrInvalid, name, MaxFile>>20)
	}
	return data, nil
}

// LoadFrom is [Load] for a configuration that is in no file of the system. name identifies it in errors, and dir is the
// folder that its relative paths refer to. read reads it, now and again for each reload.
func LoadFrom(name, dir string, read func() ([]byte, error)) (*Loaded, error) {
	return (&Loaded{File: name, Dir: dir, read: read}).again()
}

// again reads a configuration that is in no file of the system.
func (l *Loaded) again() (*Loaded, error) {
	data, err := l.read()
	if err != nil {
		return nil, err
	}
	return (&Loaded{File: l.File, Dir: l.Dir, read: l.read, lockFile: l.lockFile, own: l.own}).parse(data)
}

// Parse decodes and checks the content of a file.
func Parse(path string, data []byte) (*Loaded, error) {
	return (&Loaded{File: path, Dir: filepath.Dir(path)}).parse(data)
}

func (l *Loaded) parse(data []byte) (*Loaded, error) {
	n, err := strict.ParseYAML(l.File, data)
	if err != nil {
		return nil, err
	}
	if l.own != nil {
		n = withOwn(n, l.own)
	}
	l.node = n
	if l.references, err = lockedNames(l.LockPath(), n); err != nil {
		return nil, err
	}
	if err := strict.Decode(l.File, n, &l.Config); err != nil {
		return nil, Former(err)
	}
	if err := l.Place(l.Check()).Err(); err != nil {
		return nil, err
	}
	l.ownShared()
	return l, nil
}

// Former says of each unknown key of an error, if it is a former one, which key there is now.
func Former(err error) error {
	var problems strict.Problems
	if !errors.As(err, &problems) {
		return err
	}
	for i := range problems {
		p := &problems[i]
		if !strings.HasPrefix(p.Message, "unknown key") && !strings.HasPrefix(p.Message, noSuchKey) {
			continue
		}
		switch to, ok := migrate.Moved(p.Path); {
		case ok && to == "":
			p.Message = "was removed (leave it out, or rewrite the file with: anchor-host config migrate)"
		case ok:
			p.Message = fmt.Sprintf("unknown key (it is %s now; rewrite the file with: anchor-host config migrate)", to)
		}
	}
	return err
}

// Absolute makes the paths of the configuration independent of the current folder.
func (l *Loaded) Absolute() error {
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return fmt.Errorf("folder of the configuration: %w", err)
	}
	l.Dir = dir
	return nil
}

// Path resolves a path of the file: a relative path refers to the folder of the file. The result
// is relative to the current folder.
func (l *Loaded) Path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(l.Dir, p)
}

// LockPath returns the path of anchor.lock. There may be no such file.
func (l *Loaded) LockPath() string { return cmp.Or(l.lockFile, l.Path(lock.Name)) }

// DefaultPluginDir is the default plugin folder, relative to the folder of the file.
const DefaultPluginDir = "plugins"

// PluginDir returns the plugin folder, seen from the current folder.
func (l *Loaded) PluginDir() string {
	if l.Plugins.Dir == "" {
		return l.Path(DefaultPluginDir)
	}
	return l.overridable("plugins.dir", l.Plugins.Dir)
}

// CachePath returns the folder of compiled plugins as the host takes it.
func (l *Loaded) CachePath() string {
	if l.Plugins.CacheDir == host.CacheOff {
		return l.Plugins.CacheDir
	}
	return l.overridable("plugins.cache_dir", l.Plugins.CacheDir)
}

// StorePath returns the file of the store, seen from the current folder, or the URL of its database, with
// the settings of that; empty for the default.
func (l *Loaded) StorePath() string {
	if s := &l.Store; storeurl.Is(s.Path) {
		return storeurl.With(s.Path, storeurl.Settings{Pool: s.Pool, Timeout: time.Duration(s.Timeout), Replica: s.Replica})
	}
	return l.overridable("store.path", l.Store.Path)
}

// TenantName returns the tenant, which is [store.DefaultTenant] if there is none.
func (c *Config) TenantName() string { return cmp.Or(c.Tenant, store.DefaultTenant) }

// overridable is Path for a value that a flag or the environment may have set. Such paths refer
// to the current folder.
func (l *Loaded) overridable(key, p string) string {
	if _, ok := l.overriddenAt(key); ok {
		return p
	}
	return l.Path(p)
}

// Place gives findings their line and column in the file.
func (l *Loaded) Place(findings []Finding) strict.Problems {
	return Place(l.File, l.node, findings)
}

// Place gives findings their line and column in a document.
func Place(file string, n *strict.Node, findings []Finding) strict.Problems {
	var problems strict.Problems
	for _, f := range findings {
		at, _ := n.Find(f.Path)
		problems = append(problems, strict.Problem{File: file, Pos: at.Pos, Path: f.Path, Message: f.Message})
	}
	return problems
}

// Schema returns the JSON Schema (2020-12) of anchor.yaml.
func Schema() map[string]any {
	s := strict.Schema(reflect.TypeFor[Config]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "anchor.yaml"
	return s
}
