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
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// codeCache keeps machine code on disk between processes. The host executes it, so every
// entry is checked first; see codenote.go. An entry that is damaged, half-written or
// belongs to another user is removed, and its module is compiled again.
//
// wazero reads and writes files under its own names. It gets a folder that no other process
// uses. An entry is linked into that folder before its module is made. A new entry is
// compiled by a second wazero in a folder of its own.
//
// wazero names a file after the bytes of the module that it is given. The machine code may
// have been compiled from other bytes. The cache makes use of this: it files machine code
// under the name of the module's shell, a module without code, which is much faster to
// decode. Before the first such entry is made, a trial checks that wazero behaves like
// this.
type codeCache struct {
	wazero wazero.CompilationCache
	// root is the cache folder.
	root *cacheRoot
	// engine identifies the compiler, as machine code of another one does not fit. It is
	// nil if the compiler is not known; then nothing is kept.
	engine []byte
	// dir holds the entries: a folder for each module, with wazero's file and its note.
	dir string
	// run is the folder that wazero gets, files the one that wazero makes in it.
	run, files string

	// making is read-locked while an entry is loaded, and locked for the trial.
	making sync.RWMutex
	// features are those of WebAssembly that modules may use.
	features api.CoreFeatures
	// once guards works: whether wazero treats shells as the cache needs it to.
	once  sync.Once
	works bool

	mu sync.Mutex
	// lent are the names of the files offered to wazero. spoiled are the keys of entries
	// whose shells wazero may have compiled as modules without code.
	lent, spoiled map[string]bool
}

type compileFunc func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error)

// by returns the function with which a runtime compiles a module.
func by(rt wazero.Runtime) compileFunc {
	return func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
		return compile.Wasm(ctx, rt, wasm)
	}
}

const (
	// codeCacheSize bounds all entries together, in bytes: about a hundred stock Go guests.
	codeCacheSize = 1 << 30
	// staleAfter is the age at which the folders of processes that are gone, and half-made
	// entries, are removed.
	staleAfter = 24 * time.Hour
	// runPrefix is the prefix of the folders of processes.
	runPrefix = "run-"
)

// openCodeCache opens the cache in the cache folder.
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

// removeStale removes what processes left that ended without calling close: their folders,
// and half-made entries in the folders of entries.
func removeStale(dir string) {
	for _, name := range removeOld(dir, runPrefix) {
		removeOld(filepath.Join(dir, name), codestore.NewPrefix)
	}
}

// removeOld removes the old entries of dir that have the prefix. It returns the names of
// those without the prefix.
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

// offer is the file of an entry, linked into the folder that wazero reads.
type offer struct {
	path string
	file os.FileInfo
}

// load makes a module from its shell and the machine code kept under key. It returns nil if
// there is no usable entry.
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
	case err != nil: // wazero may have compiled the shell itself
		c.spoil(key)
	case c.taken(o):
		return compiled
	default: // wazero rejected the code: it is of another processor, or damaged in a new way
		_ = compiled.Close(ctx)
	}
	c.remove(key)
	return nil
}

// fetch offers an entry to wazero. It returns nil if there is none, and removes a damaged
// one.
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
	if err != nil { // the entry itself is sound
		c.takeBack(o)
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(entry, now, now) // least recently used ones go first
	return o
}

// appear marks the folder of this process as in use. It makes the folder again if another
// process has removed it as stale.
func (c *codeCache) appear() {
	_ = os.MkdirAll(c.files, 0o700)
	now := time.Now()
	_ = os.Chtimes(c.run, now, now)
}

// taken reports whether wazero used the offered file: the file is unchanged, and wazero
// wrote no other.
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

// made returns the names of the files that wazero wrote.
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

// compile compiles a module and makes its entry, under the name that wazero gives to the
// shell; nil stands for the module itself. If the entry cannot be made, as on a full disk,
// the module is compiled without the cache.
//
// Compiling takes long. So a second wazero does it in a folder of its own, where it keeps
// nobody waiting. Then the entry is loaded like any other.
func (c *codeCache) compile(ctx context.Context, rt wazero.Runtime, key string, wasm, shell []byte) (wazero.CompiledModule, error) {
	if entry := c.nameEntry(key); entry != "" && c.make(ctx, rt, entry, wasm, shell) {
		if shell == nil {
			shell = wasm
		}
		if compiled := c.load(ctx, key, shell, by(rt)); compiled != nil {
			return compiled, nil
		}
	}
	return compile.Wasm(ctx, rt, wasm)
}

// tried runs the trial with the cache locked.
func (c *codeCache) tried(ctx context.Context, rt wazero.Runtime) bool {
	c.making.Lock()
	defer c.making.Unlock()
	c.once.Do(func() {
		var tried bool
		if c.works, tried = c.try(ctx, rt); tried && !c.works {
			wazerox.Failed(wazerox.Shells, "tried out in vain: wazero does not take what lies under the name of a shell")
			logFeature(c.root.Log, wazerox.Look(false)[wazerox.Shells])
		}
	})
	return c.works
}

// make makes an entry and reports whether it did.
func (c *codeCache) make(ctx context.Context, rt wazero.Runtime, entry string, wasm, shell []byte) bool {
	if shell != nil && !c.tried(ctx, rt) {
		return false
	}
	apart, err := openCodeCache(c.root)
	if err != nil {
		return false
	}
	defer apart.close()
	second := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(c.features).WithCompilationCache(apart.wazero))
	defer apart.wazero.Close(ctx)
	defer second.Close(ctx)
	compiled, code, name, err := apart.compileApart(ctx, wasm, by(second))
	if err != nil || code == "" {
		return false
	}
	defer os.Remove(code)
	if err = compiled.Close(ctx); err != nil {
		return false
	}
	if shell != nil {
		name = apart.nameOf(ctx, entry, shell, by(second))
	}
	if name == "" {
		return false
	}
	c.add(entry, code, name)
	return true
}

// compileApart compiles a module and moves its machine code to a file that wazero does not
// find. code is the path of that file and name what wazero called it. code is "" if wazero
// left no file.
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
		return compiled, "", "", nil //nolint:nilerr // the module is usable without an entry
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

// nameOf returns the name of the file in which wazero looks for the machine code of a
// shell, found by having wazero compile the shell. It is "" if wazero writes none.
func (c *codeCache) nameOf(ctx context.Context, key string, shell []byte, compile compileFunc) string {
	defer c.clear()
	compiled, err := compile(context.WithoutCancel(ctx), shell)
	if err == nil {
		err = compiled.Close(ctx)
	}
	if err != nil { // wazero may have compiled the shell itself
		c.spoil(key)
		return ""
	}
	made, err := c.made()
	if err != nil || len(made) != 1 {
		return ""
	}
	return made[0]
}

// add moves a file into a new entry, all or nothing. It fails if another process has
// already made the entry.
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

// clear removes the files in wazero's folder. No file may be lent.
func (c *codeCache) clear() {
	list, _ := os.ReadDir(c.files)
	for _, e := range list {
		_ = os.Remove(filepath.Join(c.files, e.Name()))
	}
}

// linkOrCopy makes a file available under a second name. It prefers a symbolic link: a hard
// link would change the time of the file's last change, on which verify relies.
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
