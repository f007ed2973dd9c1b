package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/codecache"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// codeKey identifies the machine code of a module. Modules that differ in nothing but their data share
// it: a language's runtime that runs the sources in its data is compiled once for many plugins.
func codeKey(s *Source, o wasmbin.MeterOptions) (key Key) {
	h := sha256.New()
	if s.Facts.Code == [sha256.Size]byte{} {
		fmt.Fprintf(h, "%s %s sha256:%x\n", codecache.Format, wasmbin.Revision(), s.Digest)
	} else {
		fmt.Fprintf(h, "%s %s code:%x\n", codecache.Format, wasmbin.Revision(), s.Facts.Code)
	}
	fmt.Fprintf(h, "%q %q %q %d %d %+v\n", o.TickModule, o.TickName, o.FuelExport, o.MaxMemoryPages, o.MaxTable, o.Bounds)
	if o.Trace != nil {
		fmt.Fprintf(h, "trace %q\n", o.Trace)
	}
	for _, im := range s.Imports {
		fmt.Fprintf(h, "%q %q %t %t\n", im.Module, im.Name, o.Light(im.Module, im.Name), o.Inert(im.Module, im.Name))
	}
	h.Sum(key[:0])
	return key
}

// compile makes a module from cached machine code, or meters and compiles it.
func (c *Compiler) compile(ctx context.Context, e *Engine, s *Source, pages uint32) (*Module, error) {
	o := c.o.meter(s, e.Interpreted, pages)
	code := codeKey(s, o)
	var shell []byte
	if e.code != nil && e.Features.On(wazerox.Shells) { // an error is ignored here, because Prepare returns it too
		if open, err := c.shell(s, o, code); err == nil {
			shell, open.Wasm = open.Wasm, nil
			if compiled := e.load(ctx, code, shell); compiled != nil {
				return newModule(e, compiled, s, o, code, open), nil
			}
		}
	}
	return c.compileAnew(ctx, e, s, o, code, shell)
}

// shell returns the shell of a module, without its data segments, kept or made anew.
func (c *Compiler) shell(s *Source, o wasmbin.MeterOptions, code Key) (*wasmbin.Prepared, error) {
	var kept wasmbin.Prepared
	if c.o.Shells != nil && c.o.Shells.Get(code, &kept) {
		return &kept, nil
	}
	wasm, err := s.Bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Shell(wasm, s.Facts, o, hex.EncodeToString(code[:]))
	if err == nil && c.o.Shells != nil {
		c.o.Shells.Put(code, open)
	}
	return open, err
}

// compileAnew meters and compiles a module as soon as its estimate fits beside those of others.
func (c *Compiler) compileAnew(ctx context.Context, e *Engine, s *Source, o wasmbin.MeterOptions, code Key, shell []byte) (*Module, error) {
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(errClosed) })()
	leave, err := c.queue.enter(wait, s.need(e.Interpreted))
	if err != nil {
		return nil, err
	}
	defer leave()
	wasm, err := s.Bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Prepare(wasm, o)
	if err != nil {
		return nil, &Refusal{TooLarge: errors.Is(err, wasmbin.ErrLimit), Err: err}
	}
	if c.o.Parallel {
		ctx = parallel(ctx)
	}
	var compiled wazero.CompiledModule
	kept := code
	if e.Features.On(wazerox.Shells) {
		compiled, err = e.build(ctx, code, open.Wasm, shell)
	} else {
		kept = sha256.Sum256(open.Wasm)
		compiled, err = e.own(ctx, open.Wasm)
	}
	if err != nil {
		return nil, refusef("compile: %s", guesttext.Line(err.Error()))
	}
	open.Wasm = nil // it is compiled
	m := newModule(e, compiled, s, o, code, open)
	m.code = kept
	return m, nil
}
