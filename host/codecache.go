package host

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// codeCache keeps machine code on disk between processes. What lies there is
// executed, and wazero checks only part of it, so every entry carries a checksum
// of all of it: one that is damaged or half-written goes, and its module is
// compiled again.
//
// wazero reads and writes files of names of its own. It is given a folder that no
// other process uses, where an entry is linked to before a module is compiled, and
// from which a new entry is taken afterwards.
type codeCache struct {
	wazero wazero.CompilationCache
	// dir holds a folder for each module: wazero's file and its checksum.
	dir string
	// run is the folder wazero is given, files the one that it made below it.
	run, files string
}

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
	c := &codeCache{run: run}
	c.wazero, err = wazero.NewCompilationCacheWithDir(run)
	var made []string
	if err == nil {
		made, err = filepath.Glob(filepath.Join(run, "*"))
	}
	if err == nil && len(made) != 1 {
		err = errors.New("wazero keeps its files elsewhere")
	}
	if err == nil { // the name tells versions, systems and processors apart
		c.files, c.dir = made[0], filepath.Join(dir, filepath.Base(made[0]))
		err = os.MkdirAll(c.dir, 0o700)
	}
	if err != nil {
		_ = os.RemoveAll(run)
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	return c, nil
}

// removeStale removes the folders of processes that ended without doing so.
func removeStale(dir string) {
	for _, pattern := range []string{runPrefix + "*", filepath.Join("*", newPrefix+"*")} {
		old, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range old {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > staleAfter {
				_ = os.RemoveAll(path)
			}
		}
	}
}

// close removes the folder of this process. Entries stay.
func (c *codeCache) close() { _ = os.RemoveAll(c.run) }

// fetch offers wazero the entry of a module and returns the name of its file, ""
// if there is none. A damaged one is removed.
func (c *codeCache) fetch(key string) string {
	c.clear()
	entry := filepath.Join(c.dir, key)
	text, err := os.ReadFile(filepath.Join(entry, checksumFile))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(entry); err == nil {
			c.remove(key)
		}
		return ""
	}
	sum, name, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
	if err != nil || !ok || name != filepath.Base(name) || !filepath.IsLocal(name) {
		c.remove(key)
		return ""
	}
	source := filepath.Join(entry, name)
	if got, err := sumOf(source); err != nil || got != sum || linkOrCopy(source, filepath.Join(c.files, name)) != nil {
		c.remove(key)
		return ""
	}
	now := time.Now()
	_ = os.Chtimes(entry, now, now) // least recently used ones go first
	return name
}

// keep makes what wazero wrote the entry of a module; had is the name that fetch
// returned. A cache that cannot be written to is none.
func (c *codeCache) keep(key, had string) {
	defer c.clear()
	made, err := filepath.Glob(filepath.Join(c.files, "*"))
	if err != nil {
		return
	}
	for _, file := range made {
		if name := filepath.Base(file); name != had && !strings.HasSuffix(name, ".tmp") {
			if had != "" { // of another processor: wazero's name tells
				c.remove(key)
			}
			c.add(key, file)
		}
	}
}

// add moves a file into a new entry, all or nothing. Another process may have
// been faster.
func (c *codeCache) add(key, file string) {
	sum, err := sumOf(file)
	if err != nil {
		return
	}
	dir, err := os.MkdirTemp(c.dir, newPrefix)
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Base(file)
	if os.Rename(file, filepath.Join(dir, name)) == nil &&
		os.WriteFile(filepath.Join(dir, checksumFile), []byte(sum+" "+name+"\n"), 0o600) == nil &&
		os.Rename(dir, filepath.Join(c.dir, key)) == nil {
		prune(c.dir, codeCacheSize)
	}
}

func (c *codeCache) remove(key string) { _ = os.RemoveAll(filepath.Join(c.dir, key)) }

// clear empties the folder of wazero.
func (c *codeCache) clear() {
	old, _ := filepath.Glob(filepath.Join(c.files, "*"))
	for _, path := range old {
		_ = os.Remove(path)
	}
}

// sumOf returns the length of a file and its CRC-32C, which takes a tenth of the
// time of a cryptographic hash: it guards against damage, and who can forge a file
// here can forge its checksum too.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("compile cache: %w", err)
	}
	defer f.Close()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(h, f)
	if err != nil {
		return "", fmt.Errorf("compile cache: %w", err)
	}
	return fmt.Sprintf("%d-%08x", n, h.Sum32()), nil
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
