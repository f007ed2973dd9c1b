package callstack

import (
	"bytes"
	"context"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// probe is a module whose function calls itself n times and returns n:
//
//	(func $f (export "f") (param i64) (result i64)
//	  (if (result i64) (i64.eqz (local.get 0))
//	    (then (i64.const 0))
//	    (else (i64.add (call $f (i64.sub (local.get 0) (i64.const 1))) (i64.const 1)))))
var probe = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x06\x01\x60\x01\x7e\x01\x7e" +
	"\x03\x02\x01\x00" +
	"\x07\x05\x01\x01f\x00\x00" +
	"\x0a\x17\x01\x15\x00\x20\x00\x50\x04\x7e\x42\x00\x05\x20\x00\x42\x01\x7d\x10\x00\x42\x01\x7c\x0b\x0b")

const (
	// tried is the size of the stack on which Works tries calls out.
	tried = 64<<10 + margin
	// shallow and deep are depths of calls that fit onto it and that do not, with
	// frames of 16 to 300 bytes.
	shallow, deep = 200, 5000
)

// Works tries out on a runtime whether a stack can be lent: calls must use it, must end
// with a stack overflow where it ends, must reach nothing beyond, and must work after
// that as before.
func Works(ctx context.Context, rt wazero.Runtime) (works bool) {
	defer func() {
		if recover() != nil {
			works = false
		}
	}()
	s, err := reserve(tried, 0)
	if err != nil {
		return false
	}
	defer s.Free()
	mod, err := rt.InstantiateWithConfig(ctx, probe, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return false
	}
	defer mod.Close(ctx)
	f := mod.ExportedFunction("f")
	if !s.Lend(f) {
		return false
	}
	for range 2 {
		r, err := f.Call(ctx, shallow)
		if err != nil || len(r) != 1 || r[0] != shallow || !s.ends(ctx, f) {
			return false
		}
	}
	return true
}

// ends reports whether a deep call of the probe ends with the stack.
func (s *Stack) ends(ctx context.Context, f api.Function) bool {
	_, err := f.Call(ctx, deep)
	if err == nil || !strings.Contains(err.Error(), "stack overflow") {
		return false
	}
	h, ok := placeOf(f)
	end := len(s.mem) - s.limit
	zero := make([]byte, margin)
	return ok && &(*h.stack)[0] == &s.mem[0] && *h.bottom == &s.mem[end] &&
		bytes.Equal(s.mem[end-margin:end], zero) && !bytes.Equal(s.mem[end:end+margin/16], zero[:margin/16])
}
