package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// codeCache keeps machine code on disk between processes. What lies there is
// executed, so every entry is checked first; see codenote.go. One that is damaged,
// half-written or of somebody else goes, and its module is compiled again.
//
// wazero reads and writes files of names of its own. It is given a folder that no
// other process uses, where an entry is linked to before a module is made of it. A new
// entry is compiled by another wazero, in a folder of its own. The names depend on the
// bytes that wazero is given, which need not be those the machine code was made of: entries
// bear the names of shells, modules without code, which are much faster to decode.
// What is trusted of wazero there is tried out before the first entry is made.
type codeCache struct {
	wazero wazero.CompilationCache
	// root is the folder of all that is kept.
	root *cacheRoot
	// engine identifies what compiles: machine code of another fits nothing here. It
	// is nil where that is not known, and nothing is kept then.
	engine []byte
	// dir holds a folder for each module: wazero's file and the note on it.
	dir string
	// run is the folder wazero is given, files the one that it made below it.
	run, files string

	// making is held to load entries, and alone to try out what wazero does.
	making sync.RWMutex
	// features are those of WebAssembly that modules may use.
	features api.CoreFeatures
	// trial tries out what is trusted of wazero.
	trial func(context.Context) bool

	mu sync.Mutex
	// lent are the files offered to wazero, by name; spoiled are the keys whose
	// shells wazero may take for modules without code.
	lent, spoiled map[string]bool
}

// compileFunc has wazero compile a module.
type compileFunc func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error)

const (
	// codeCacheSize is what all entries may take, in bytes: about a hundred stock Go
	// guests.
	codeCacheSize = 1 << 30
	// staleAfter is the age at which folders of processes that are gone, and
	// half-made entries, are removed.
	staleAfter = 24 * time.Hour
	// runPrefix begins the names of the folders of processes.
	runPrefix = "run-"
)

// openCodeCache opens the cache in the folder of all that is kept.
func openCodeCache(root *cacheRoot) (*codeCache, error) {
	removeStale(root.Dir)
	run, err := os.MkdirTemp(root.Dir, runPrefix)
	if err != nil {
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	c := &codeCache{root: root, run: run, lent: map[string]bool{}, spoiled: map[string]bool{}}
	if c.wazero, c.files, err = wazerox.OpenCode(run); err == nil {
		c.dir, err = root.Folder(filepath.Base(c.files))
	}
	if err != nil {
		_ = os.RemoveAll(run)
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	return c, nil
}

// removeStale removes what processes that ended without doing so left: their
// folders, and in the folders beside them entries that were being made.
func removeStale(dir string) {
	for _, name := range removeOld(dir, runPrefix) {
		removeOld(filepath.Join(dir, name), codestore.NewPrefix)
	}
}

// removeOld removes what has the prefix and is old, and returns the names of all
// else.
func removeOld(dir, prefix string) (others []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), prefix) {
			others = append(others, e.Name())
		} else if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return others
}

// close removes the folder of this process. Entries stay.
func (c *codeCache) close() { _ = os.RemoveAll(c.run) }

// offer is the machine code of an entry, lent to wazero.
type offer struct {
	path string
	file os.FileInfo
}

// load makes a module of its shell and the machine code that is kept under key. It
// returns nil if there is none that can be used.
func (c *codeCache) load(ctx context.Context, key string, shell []byte, compile compileFunc) wazero.CompiledModule {
	c.making.RLock()
	defer c.making.RUnlock()
	key = c.nameEntry(key)
	o := c.fetch(key)
	if o == nil {
		return nil
	}
	defer c.takeBack(o)
	compiled, err := compile(context.WithoutCancel(ctx), shell)
	switch {
	case err != nil: // wazero may know the shell by now
		c.spoil(key)
	case c.taken(o):
		return compiled
	default: // it was compiled: of another processor, or damaged in a new way
		_ = compiled.Close(ctx)
	}
	c.remove(key)
	return nil
}

// fetch offers wazero the machine code of an entry, nil if there is none. A damaged
// one is removed.
func (c *codeCache) fetch(key string) *offer {
	entry := filepath.Join(c.dir, key)
	if _, err := os.Lstat(entry); key == "" || err != nil {
		return nil
	}
	note, err := c.readNote(key)
	if err != nil {
		c.root.Refuse(entry, err)
		return nil
	}
	name := note.File
	source, path := filepath.Join(entry, name), filepath.Join(c.files, name)
	c.mu.Lock()
	usable := !c.spoiled[key] && !c.lent[name]
	if usable {
		c.lent[name] = true
	}
	c.mu.Unlock()
	if !usable {
		return nil
	}
	o := &offer{path: path}
	if err := c.verify(key, note); err != nil {
		c.takeBack(o)
		c.root.Refuse(entry, err)
		return nil
	}
	c.appear()
	if err = linkOrCopy(source, path); err == nil {
		o.file, err = os.Stat(path)
	}
	if err != nil { // the entry is sound, and others can use it
		c.takeBack(o)
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(entry, now, now) // least recently used ones go first
	return o
}

// appear makes the folder of this process again where another has taken it for
// that of one that is gone, and shows that it is in use.
func (c *codeCache) appear() {
	_ = os.MkdirAll(c.files, 0o700)
	now := time.Now()
	_ = os.Chtimes(c.run, now, now)
}

// taken reports whether wazero used what it was offered: that file is still the
// same, and there are no others.
func (c *codeCache) taken(o *offer) bool {
	if same, err := o.same(); err != nil || !same {
		return false
	}
	made, err := c.made()
	return err == nil && len(made) == 0
}

// same reports whether the file is the one that was offered.
func (o *offer) same() (bool, error) {
	now, err := os.Stat(o.path)
	return err == nil && os.SameFile(now, o.file) && now.Size() == o.file.Size() && now.ModTime().Equal(o.file.ModTime()), err
}

// made are the names of the files that wazero wrote.
func (c *codeCache) made() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, err := os.ReadDir(c.files)
	var names []string
	for _, e := range list {
		if name := e.Name(); !c.lent[name] && !wazerox.Unfinished(name) {
			names = append(names, name)
		}
	}
	return names, err
}

func (c *codeCache) takeBack(o *offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = os.Remove(o.path)
	delete(c.lent, filepath.Base(o.path))
}

func (c *codeCache) spoil(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spoiled[key] = true
}

// compile compiles a module and makes its entry, by the name that its shell has; a
// module without a shell is its own. A cache that is damaged or full is no reason to
// fail: the module is compiled without it.
//
// That takes long, so it is done by another wazero with a folder of its own, and nobody
// waits for it; then the entry is loaded as any other.
func (c *codeCache) compile(ctx context.Context, key string, wasm, shell []byte, compile compileFunc) (wazero.CompiledModule, error) {
	if entry := c.nameEntry(key); entry != "" && c.make(ctx, entry, wasm, shell) {
		if shell == nil {
			shell = wasm
		}
		if compiled := c.load(ctx, key, shell, compile); compiled != nil {
			return compiled, nil
		}
	}
	return compile(ctx, wasm)
}

// tried is the trial, with the cache held alone.
func (c *codeCache) tried(ctx context.Context) bool {
	c.making.Lock()
	defer c.making.Unlock()
	return c.trial(ctx)
}

// make makes an entry, and reports whether it did.
func (c *codeCache) make(ctx context.Context, entry string, wasm, shell []byte) bool {
	if shell != nil && !c.tried(ctx) {
		return false
	}
	apart, err := openCodeCache(c.root)
	if err != nil {
		return false
	}
	defer apart.close()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(c.features).WithCompilationCache(apart.wazero))
	defer apart.wazero.Close(ctx)
	defer rt.Close(ctx)
	compile := func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
		return compileModule(ctx, rt, wasm)
	}
	compiled, code, name, err := apart.compileApart(ctx, wasm, compile)
	if err != nil || code == "" {
		return false
	}
	defer os.Remove(code)
	if err = compiled.Close(ctx); err != nil {
		return false
	}
	if shell != nil {
		name = apart.nameOf(ctx, entry, shell, compile)
	}
	if name == "" {
		return false
	}
	c.add(entry, code, name)
	return true
}

// compileApart compiles a module and moves its machine code out of wazero's reach.
// code is "" if wazero left none, otherwise name is what wazero called it.
func (c *codeCache) compileApart(ctx context.Context, wasm []byte, compile compileFunc) (compiled wazero.CompiledModule, code, name string, err error) {
	c.appear()
	c.clear()
	defer c.clear()
	if compiled, err = compile(ctx, wasm); err != nil {
		c.clear()
		if compiled, err = compile(ctx, wasm); err != nil {
			return nil, "", "", err
		}
	}
	made, err := c.made()
	if err != nil || len(made) != 1 {
		return compiled, "", "", nil //nolint:nilerr // there is no entry, then
	}
	file, err := os.CreateTemp(c.run, "code-")
	if err != nil {
		return compiled, "", "", nil //nolint:nilerr // likewise
	}
	file.Close()
	if os.Rename(filepath.Join(c.files, made[0]), file.Name()) != nil {
		return compiled, "", "", nil
	}
	return compiled, file.Name(), made[0], nil
}

// nameOf is the name of the file in which wazero looks for the machine code of a
// shell: that of what it makes of the shell itself. It is "" if there is none.
func (c *codeCache) nameOf(ctx context.Context, key string, shell []byte, compile compileFunc) string {
	defer c.clear()
	compiled, err := compile(context.WithoutCancel(ctx), shell)
	if err == nil {
		err = compiled.Close(ctx)
	}
	if err != nil { // wazero may know the shell by now
		c.spoil(key)
		return ""
	}
	made, err := c.made()
	if err != nil || len(made) != 1 {
		return ""
	}
	return made[0]
}

// add moves a file into a new entry, all or nothing. Another process may have been
// faster.
func (c *codeCache) add(key, code, name string) {
	dir, err := os.MkdirTemp(c.dir, codestore.NewPrefix)
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	if c.writeNote(dir, key, code, name) == nil && os.Rename(code, filepath.Join(dir, name)) == nil &&
		os.Rename(dir, filepath.Join(c.dir, key)) == nil {
		codestore.Prune(c.dir, codeCacheSize)
	}
}

func (c *codeCache) remove(key string) { _ = os.RemoveAll(filepath.Join(c.dir, key)) }

// clear empties the folder of wazero. Nothing must be lent.
func (c *codeCache) clear() {
	list, _ := os.ReadDir(c.files)
	for _, e := range list {
		_ = os.Remove(filepath.Join(c.files, e.Name()))
	}
}

// linkOrCopy makes a file appear under another name. A symbolic link comes first: another
// name of the file itself would change when it was changed last.
func linkOrCopy(from, to string) error {
	if os.Symlink(from, to) == nil || os.Link(from, to) == nil {
		return nil
	}
	f, err := codestore.OpenOwn(from)
	if err != nil {
		return err
	}
	defer f.Close()
	copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, f)
	return errors.Join(err, copied.Close())
}
