package codecache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// ErrNoCode is the error for an engine that makes no machine code on this platform.
var ErrNoCode = errors.New("wazero left no machine code")

// workshop is a folder of this process in which wazero reads and writes files.
type workshop struct {
	wazero wazero.CompilationCache
	// run is the folder that wazero gets, files the one that wazero makes in it.
	run, files string
}

// openWorkshop makes a workshop in a store.
func openWorkshop(s *codestore.Store) (*workshop, error) {
	run, err := s.RunFolder()
	if err != nil {
		return nil, err
	}
	w := &workshop{run: run}
	if w.wazero, w.files, err = wazerox.OpenCode(run); err != nil {
		_ = os.RemoveAll(run)
		return nil, err
	}
	return w, nil
}

// close removes the folder.
func (w *workshop) close(ctx context.Context) error {
	return errors.Join(w.wazero.Close(ctx), os.RemoveAll(w.run))
}

// renew marks the folder as in use. It makes the folder again if another process has removed
// it as stale.
func (w *workshop) renew() {
	_ = os.MkdirAll(w.files, 0o700)
	codestore.Use(w.run)
}

// made returns the names of the files that wazero wrote, which are all but those lent to it.
func (w *workshop) made(lent map[string]bool) ([]string, error) {
	list, err := os.ReadDir(w.files)
	var names []string
	for _, e := range list {
		if name := e.Name(); !lent[name] && !wazerox.Unfinished(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// clear removes the files. None may be lent.
func (w *workshop) clear() {
	list, _ := os.ReadDir(w.files)
	for _, e := range list {
		_ = os.Remove(filepath.Join(w.files, e.Name()))
	}
}

// apart is a wazero of its own with a workshop of its own, for one entry or one trial.
type apart struct {
	*workshop
	rt      wazero.Runtime
	compile func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error)
}

func (a *apart) close(ctx context.Context) {
	_ = a.rt.Close(ctx)
	_ = a.workshop.close(ctx)
}

// machineCode compiles a module and moves its machine code to a file that wazero does not
// find, and that is gone after close. name is what wazero called the file.
func (a *apart) machineCode(ctx context.Context, wasm []byte) (path, name string, err error) {
	if name, err = a.nameOf(ctx, wasm); err != nil {
		return "", "", err
	}
	path = filepath.Join(a.run, "code")
	return path, name, os.Rename(filepath.Join(a.files, name), path)
}

// nameOf compiles a module, and returns the name of the file that wazero leaves of it.
func (a *apart) nameOf(ctx context.Context, wasm []byte) (string, error) {
	compiled, err := a.compile(ctx, wasm)
	if err != nil && !ofFile(err) {
		return "", &refusal{err}
	}
	if err != nil {
		return "", err
	}
	if err = compiled.Close(ctx); err != nil {
		return "", err
	}
	made, err := a.made(nil)
	switch {
	case err != nil:
		return "", err
	case len(made) == 0:
		return "", ErrNoCode
	case len(made) > 1:
		return "", fmt.Errorf("wazero left %d files of one module", len(made))
	}
	return made[0], nil
}

// refusal is the error of wazero for a module that it does not compile.
type refusal struct{ error }

// ofFile reports whether an error is about a file, and says nothing about the module.
func ofFile(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// probe is a module whose function probe returns 40, using a call, a table, a global and a
// memory.
const probe = "\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x00\x01\x7f" + // type 0: () -> i32
	"\x03\x03\x02\x00\x00" + // functions 0 and 1
	"\x04\x04\x01\x70\x00\x01" + // a table of one
	"\x05\x03\x01\x00\x01" + // a memory of one page
	"\x06\x06\x01\x7f\x01\x41\x02\x0b" + // a mutable global of 2
	"\x07\x09\x01\x05probe\x00\x00" +
	"\x09\x07\x01\x00\x41\x00\x0b\x01\x01" + // function 1 in the table
	"\x0a\x14\x02" +
	"\x0a\x00\x41\x00\x11\x00\x00\x23\x00\x6c\x0b" + // table[0]() * global
	"\x07\x00\x41\x14\x3f\x00\x6c\x0b" // 20 * pages
