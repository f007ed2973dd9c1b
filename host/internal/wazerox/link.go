package wazerox

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Resolving returns a context under which a module is instantiated with its
// imports from the modules that resolve returns; nil leaves it to the runtime.
// resolve must not return a module for a name that the guest was not checked
// against: all its exports are within reach.
func Resolving(ctx context.Context, resolve func(module string) api.Module) context.Context {
	return experimental.WithImportResolver(ctx, resolve)
}

// linkedProbe is a guest that is linked to the probe, as first:
//
//	(import "first" "deep" (func $deep (param i64) (result i64)))
//	(import "first" "memory" (memory 1))
//	(func (export "linked") (result i64)
//	  (i64.add (call $deep (i64.const 7)) (i64.extend_i32_u (i32.load8_u (i32.const 0)))))
const linkedProbe = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0a\x02\x60\x01\x7e\x01\x7e\x60\x00\x01\x7e" +
	"\x02\x1e\x02\x05first\x04deep\x00\x00\x05first\x06memory\x02\x00\x01" +
	"\x03\x02\x01\x01" +
	"\x07\x0a\x01\x06linked\x00\x01" +
	"\x0a\x0f\x01\x0d\x00\x42\x07\x10\x00\x41\x00\x2d\x00\x00\xad\x7c\x0b"

// probeLinking tries out whether a module is linked to an instance without a name: to its
// functions, and to its memory, which must be that of the host's.
func probeLinking(l *lab) error {
	m, first, _, err := l.withMemory(2)
	if err != nil {
		return err
	}
	defer m.Memory.Free()
	defer first.Close(l.ctx)
	asked := false
	ctx := Resolving(l.ctx, func(module string) api.Module {
		asked = asked || module == "first"
		return first
	})
	linked, err := l.rt.InstantiateWithConfig(ctx, []byte(linkedProbe), unnamed)
	if err != nil {
		return err
	}
	defer linked.Close(l.ctx)
	if !asked || !first.Memory().WriteByte(0, 5) {
		return errors.New("a module is not linked to the one that was chosen")
	}
	return check(l.ctx, linked.ExportedFunction("linked"), 12)
}
