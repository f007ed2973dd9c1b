package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// codeCache keeps machine code on disk between processes. What lies there is
// executed, and wazero checks only part of it, so every entry carries a checksum
// of the rest: one that is damaged or half-written goes, and its module is
// compiled again. What wazero is not seen to check, the checksum covers too.
//
// wazero reads and writes files of names of its own. It is given a folder that no
// other process uses, where an entry is linked to before a module is made, and
// from which a new entry is taken afterwards. The names depend on the bytes that
// wazero is given, which need not be those the machine code was made of: entries
// bear the names of shells, modules without code, which are much faster to decode.
// What is trusted of wazero there is tried out before the first entry is made.
type codeCache struct {
	wazero wazero.CompilationCache
	// dir holds a folder for each module: wazero's file and its checksum.
	dir string
	// run is the folder wazero is given, files the one that it made below it.
	run, files string

	// making is held to load entries, and alone to make one.
	making sync.RWMutex
	// trial tries out what is trusted of wazero.
	trial func(context.Context) trial

	mu sync.Mutex
	// lent are the files offered to wazero, by name; spoiled are the keys whose
	// shells wazero may take for modules without code.
	lent, spoiled map[string]bool
}

// trial is what wazero was seen to do.
type trial struct {
	// shells: it takes the code of a shell from its file.
	shells bool
	// checks: it takes no code that does not fit the checksum in the file.
	checks bool
}

// compileFunc has wazero compile a module.
type compileFunc func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error)

const (
	// checksumFile is the name of the checksum in an entry, codeCacheSize what
	// all entries may take, in bytes: about a hundred stock Go guests.
	checksumFile  = "sum"
	codeCacheSize = 1 << 30
	// staleAfter is the age at which folders of processes that are gone, and
	// half-made entries, are removed.
	staleAfter = 24 * time.Hour
	// The beginnings of the names of folders that are no entries.
	runPrefix = "run-"
	newPrefix = "new-"
)

// openCodeCache opens the cache below dir, which need not exist.
func openCodeCache(dir string) (*codeCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	removeStale(dir)
	run, err := os.MkdirTemp(dir, runPrefix)
	if err != nil {
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	c := &codeCache{run: run, lent: map[string]bool{}, spoiled: map[string]bool{}}
	c.wazero, err = wazero.NewCompilationCacheWithDir(run)
	var made []os.DirEntry
	if err == nil {
		made, err = os.ReadDir(run)
	}
	if err == nil && len(made) != 1 {
		err = errors.New("wazero keeps its files elsewhere")
	}
	if err == nil { // the name tells versions, systems and processors apart
		c.files, c.dir = filepath.Join(run, made[0].Name()), filepath.Join(dir, made[0].Name())
		err = os.MkdirAll(c.dir, 0o700)
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
		removeOld(filepath.Join(dir, name), newPrefix)
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
	text, err := os.ReadFile(filepath.Join(entry, checksumFile))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(entry); err == nil {
			c.remove(key)
		}
		return nil
	}
	sum, name, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
	if err != nil || !ok || name != filepath.Base(name) || !filepath.IsLocal(name) {
		c.remove(key)
		return nil
	}
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
	if !fits(source, sum) {
		c.takeBack(o)
		c.remove(key)
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
		if name := e.Name(); !c.lent[name] && !strings.HasSuffix(name, ".tmp") {
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
func (c *codeCache) compile(ctx context.Context, key string, wasm, shell []byte, compile compileFunc) (wazero.CompiledModule, error) {
	c.making.Lock()
	defer c.making.Unlock()
	compiled, code, name, err := c.compileApart(ctx, wasm, compile)
	if err != nil || code == "" {
		return compiled, err
	}
	defer os.Remove(code)
	var t trial
	if shell != nil {
		name = ""
		if t = c.trial(ctx); t.shells {
			name = c.nameOf(ctx, key, shell, compile)
		}
	}
	if name != "" {
		c.add(key, code, name, t.checks)
	}
	return compiled, nil
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

// add moves a file into a new entry, all or nothing; checks says that wazero checks
// the code in it. Another process may have been faster.
func (c *codeCache) add(key, code, name string, checks bool) {
	sum, err := sumOf(code, checks)
	if err != nil {
		return
	}
	dir, err := os.MkdirTemp(c.dir, newPrefix)
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	if os.Rename(code, filepath.Join(dir, name)) == nil &&
		os.WriteFile(filepath.Join(dir, checksumFile), []byte(sum+" "+name+"\n"), 0o600) == nil &&
		os.Rename(dir, filepath.Join(c.dir, key)) == nil {
		prune(c.dir, codeCacheSize)
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

// linkOrCopy makes a file appear under another name.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
