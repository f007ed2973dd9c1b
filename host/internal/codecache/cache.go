package codecache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// Format is for the keys of entries: it changes when entries are made in another way. Changes
// of wasmbin need no new one.
const Format = "3"

// maxSize bounds all entries together, in bytes: about fifty stock Go guests, whose code is in two files.
const maxSize = 1 << 30

// Key identifies a module and everything that its machine code depends on, except the sources
// of wazero and the processor.
type Key [sha256.Size]byte

// Options are what a cache needs.
type Options struct {
	// Store is the folder of the cache. Notes keep which entries were checked; nil means that
	// each process checks them.
	Store *codestore.Store
	Notes *codestore.Notes
	// Build identifies the sources of wazero in this program and the compiler that compiled
	// them. Entries of another build are not used.
	Build string
	// Features are those of WebAssembly that modules may use.
	Features api.CoreFeatures
	// Meter is how guests are metered, for the trial.
	Meter wasmbin.MeterOptions
	// Compile has a runtime compile a module. It must not panic.
	Compile func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error)
	// Refuted is called, at most once, when the trial shows that wazero does not use the
	// machine code under the name of a shell.
	Refuted func()
}

// Cache is an open cache. It is safe for concurrent use.
type Cache struct {
	o Options
	// engine identifies the compiler, as machine code of another one does not fit.
	engine []byte
	// dir holds the entries: a folder for each module, with wazero's file and its note.
	dir string
	// workshop is where the runtime of the cache's user finds machine code.
	*workshop

	// making is read-locked while an entry is loaded, and locked while the user's runtime
	// compiles a module without an entry.
	making sync.RWMutex
	trial  trial

	mu sync.Mutex
	// lent are the names of the files offered to wazero. unsafe are the names of entries
	// whose shells wazero may have compiled as modules without code.
	lent, unsafe map[string]bool
	// unmade is why the last entry that could not be made was not.
	unmade error
}

// Open opens the cache in a store. The runtime of its user must be made with [Cache.Wazero].
// The error is [ErrNoCode], or one of the system.
func Open(ctx context.Context, o Options) (*Cache, error) {
	c := &Cache{o: o, lent: map[string]bool{}, unsafe: map[string]bool{}}
	var err error
	if c.workshop, err = openWorkshop(o.Store); err != nil {
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	if c.dir, err = o.Store.Folder(filepath.Base(c.files)); err == nil {
		c.engine, err = c.identify(ctx)
	}
	if err != nil {
		_ = c.Close(ctx)
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	return c, nil
}

// identify returns the hash of the build and of the machine code that wazero makes of the
// probe. That code depends on the processor too.
func (c *Cache) identify(ctx context.Context) ([]byte, error) {
	a, err := c.openApart(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close(ctx)
	path, name, err := a.machineCode(ctx, []byte(probe))
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q%q %d ", c.o.Build, name, len(code))
	h.Write(code)
	return h.Sum(nil), nil
}

// Wazero is what the runtime of the cache's user must be made with.
func (c *Cache) Wazero() wazero.CompilationCache { return c.wazero }

// Close removes the folder of this process. Entries stay. The runtime must be closed before.
func (c *Cache) Close(ctx context.Context) error { return c.close(ctx) }

// nameEntry returns the name of the entry of a key.
func (c *Cache) nameEntry(key Key) string {
	h := sha256.New()
	h.Write(c.engine)
	h.Write([]byte(hex.EncodeToString(key[:])))
	return hex.EncodeToString(h.Sum(nil))
}

// offer is the file of an entry, linked into the folder that wazero reads.
type offer struct {
	path string
	file os.FileInfo
}

// Load makes a module from its shell and the machine code kept under key. It returns nil if
// there is no usable entry.
func (c *Cache) Load(ctx context.Context, rt wazero.Runtime, key Key, shell []byte) wazero.CompiledModule {
	c.making.RLock()
	defer c.making.RUnlock()
	entry := c.nameEntry(key)
	o := c.fetch(entry)
	if o == nil {
		return nil
	}
	defer c.takeBack(o)
	compiled, err := c.o.Compile(context.WithoutCancel(ctx), rt, shell)
	switch {
	case err != nil: // wazero may have compiled the shell itself
		c.distrust(entry)
	case c.taken(o):
		_ = c.mapped(entry, compiled, leastMapped) // it says why not
		return compiled
	default: // wazero rejected the code: it is of another processor, or damaged in a new way
		_ = compiled.Close(ctx)
	}
	c.remove(entry)
	return nil
}

// fetch offers an entry to wazero. It returns nil if there is none, and removes a damaged
// one.
func (c *Cache) fetch(entry string) *offer {
	dir := filepath.Join(c.dir, entry)
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	note, err := c.readNote(entry)
	if err != nil {
		c.o.Store.Refuse(dir, err)
		return nil
	}
	name := note.File
	source, path := filepath.Join(dir, name), filepath.Join(c.files, name)
	c.mu.Lock()
	usable := !c.unsafe[entry] && !c.lent[name]
	if usable {
		c.lent[name] = true
	}
	c.mu.Unlock()
	if !usable {
		return nil
	}
	o := &offer{path: path}
	if err := c.verify(entry, note); err != nil {
		c.takeBack(o)
		c.o.Store.Refuse(dir, err)
		return nil
	}
	c.renew()
	if err = linkOrCopy(source, path); err == nil {
		o.file, err = os.Stat(path)
	}
	if err != nil { // the entry itself is sound
		c.takeBack(o)
		return nil
	}
	codestore.Use(dir)
	return o
}

// taken reports whether wazero used the offered file: the file is unchanged, and wazero
// wrote no other.
func (c *Cache) taken(o *offer) bool {
	if same, err := o.same(); err != nil || !same {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	others, err := c.made(c.lent)
	return err == nil && len(others) == 0
}

// same reports whether the file is the one that was offered.
func (o *offer) same() (bool, error) {
	now, err := os.Stat(o.path)
	return err == nil && os.SameFile(now, o.file) && now.Size() == o.file.Size() && now.ModTime().Equal(o.file.ModTime()), err
}

func (c *Cache) takeBack(o *offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = os.Remove(o.path)
	delete(c.lent, filepath.Base(o.path))
}

func (c *Cache) distrust(entry string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsafe[entry] = true
}

// Compile compiles a module and makes its entry, under the name that wazero gives to the
// shell; nil stands for the module itself. If the entry cannot be made, as on a full disk,
// the module is compiled without one. The error is that of Options.Compile.
//
// Compiling takes long. So a second wazero does it in a folder of its own, where it keeps
// nobody waiting. Then the entry is loaded like any other.
func (c *Cache) Compile(ctx context.Context, rt wazero.Runtime, key Key, wasm, shell []byte) (wazero.CompiledModule, error) {
	err := c.make(ctx, c.nameEntry(key), wasm, shell)
	if refusal := (*refusal)(nil); errors.As(err, &refusal) {
		return nil, refusal.error
	}
	if err == nil {
		if shell == nil {
			shell = wasm
		}
		if compiled := c.Load(ctx, rt, key, shell); compiled != nil {
			return compiled, nil
		}
	} else {
		c.o.Store.Log.Debug("machine code of a module is not kept", "reason", err)
		c.mu.Lock()
		c.unmade = err
		c.mu.Unlock()
	}
	return c.compileAlone(ctx, rt, wasm)
}

// compileAlone compiles a module without an entry. wazero leaves a file of it, which must be
// gone before the next entry is loaded. So such compilations run one at a time, and loads wait
// for them: that is the price of a full disk. If wazero cannot write that file, it says so in an
// error, but has the module in its memory from then on.
func (c *Cache) compileAlone(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	c.making.Lock()
	defer c.making.Unlock()
	c.renew()
	defer c.clear()
	compiled, err := c.o.Compile(ctx, rt, wasm)
	if ofFile(err) {
		compiled, err = c.o.Compile(ctx, rt, wasm)
	}
	return compiled, err
}

// Kept returns nil if the cache has an entry for a key, else why it has none.
func (c *Cache) Kept(key Key) error {
	_, err := os.Lstat(filepath.Join(c.dir, c.nameEntry(key)))
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.unmade, err)
}

func (c *Cache) remove(entry string) { _ = os.RemoveAll(filepath.Join(c.dir, entry)) }

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

func (c *Cache) openApart(ctx context.Context) (*apart, error) {
	w, err := openWorkshop(c.o.Store)
	if err != nil {
		return nil, err
	}
	a := &apart{workshop: w}
	a.rt = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(c.o.Features).WithCompilationCache(w.wazero))
	a.compile = func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
		return c.o.Compile(ctx, a.rt, wasm)
	}
	return a, nil
}

// make makes an entry. The error is a refusal if wazero does not compile the module.
func (c *Cache) make(ctx context.Context, entry string, wasm, shell []byte) error {
	if shell != nil {
		if err := c.try(ctx); err != nil {
			return err
		}
	}
	a, err := c.openApart(ctx)
	if err != nil {
		return err
	}
	defer a.close(ctx)
	code, name, err := a.machineCode(ctx, wasm)
	if err != nil {
		return err
	}
	if shell != nil {
		if name, err = a.nameOf(ctx, shell); err != nil {
			return fmt.Errorf("shell: %s", err.Error()) // no refusal of the module
		}
	}
	return c.add(entry, code, name)
}

// add moves a file into a new entry, all or nothing. If another process has already made the
// entry, that one stays.
func (c *Cache) add(entry, code, name string) error {
	dir, err := os.MkdirTemp(c.dir, codestore.NewPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(c.dir, entry)
	if err = c.writeNote(dir, entry, code, name); err == nil {
		err = os.Rename(code, filepath.Join(dir, name))
	}
	if err == nil {
		err = os.Rename(dir, path)
	}
	if err != nil {
		if _, there := os.Lstat(path); there == nil {
			return nil
		}
		return err
	}
	codestore.Prune(c.dir, maxSize)
	return nil
}

// trial is whether wazero executes the machine code under the name of a shell.
type trial struct {
	mu sync.Mutex
	// done says that this is known, works that it does.
	done, works bool
}
