package pybuild

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/component"
)

// The shell is small, so it is written as text here, and put together when a base is made. A line
// is one instruction in stack form. A word with $ is a function, global or local by its name.

// assembly is a module that is being written.
type assembly struct {
	imports []wasmFunc
	funcs   []wasmFunc
	globals []string // changeable numbers of 32 bits that begin at 0
	memory  [2]string
	datas   []wasmData
	err     error
}

// wasmFunc is a function. Its parameters and locals are names and types, such as "p i32".
type wasmFunc struct {
	name string
	// module and field say where an import comes from.
	module, field string
	export        string
	params        []string
	result        string
	locals        []string
	body          string
	// typ is the type in the binary format, if it is not that of params and result.
	typ string
}

type wasmData struct {
	at    uint32
	bytes []byte
}

var valueTypes = map[string]byte{"i32": 0x7f, "i64": 0x7e}

// opcodes are the instructions that the shell has. The second byte says what follows: nothing, an
// index, a signed number, an alignment and an offset, the type of a block, or zeros.
var opcodes = map[string][2]byte{
	"unreachable": {0x00}, "nop": {0x01}, "block": {0x02, 'b'}, "loop": {0x03, 'b'}, "if": {0x04, 'b'}, "else": {0x05}, "end": {0x0b},
	"br": {0x0c, 'x'}, "br_if": {0x0d, 'x'}, "return": {0x0f}, "call": {0x10, 'x'}, "drop": {0x1a},
	"local.get": {0x20, 'x'}, "local.set": {0x21, 'x'}, "local.tee": {0x22, 'x'}, "global.get": {0x23, 'x'}, "global.set": {0x24, 'x'},
	"i32.load": {0x28, 'm'}, "i64.load": {0x29, 'm'}, "i32.load8_u": {0x2d, 'm'}, "i32.store": {0x36, 'm'}, "i64.store": {0x37, 'm'},
	"i32.store8": {0x3a, 'm'}, "i32.const": {0x41, 's'}, "i64.const": {0x42, 's'}, "i32.eqz": {0x45}, "i32.eq": {0x46}, "i32.gt_u": {0x4b},
	"i32.ge_u": {0x4f}, "i32.add": {0x6a}, "i32.sub": {0x6b}, "i64.add": {0x7c}, "i64.div_u": {0x80}, "i64.rem_u": {0x82},
	"i32.wrap_i64": {0xa7}, "i64.extend_i32_u": {0xad}, "memory.copy": {0xfc, 'c'}, "i32.or": {0x72}, "i32.shl": {0x74}, "i32.ne": {0x47},
}

// module returns the binary format.
func (a *assembly) module() ([]byte, error) {
	var types, imports, funcs, exports, codes, globals, datas [][]byte
	index := map[string]uint32{}
	for i, g := range a.globals {
		index[g] = uint32(i)
		globals = append(globals, []byte{0x7f, 1, 0x41, 0, 0x0b})
	}
	for i, f := range append(a.imports[:len(a.imports):len(a.imports)], a.funcs...) {
		index[f.name] = uint32(i)
		types = append(types, f.types())
		if f.export != "" {
			exports = append(exports, binary.AppendUvarint(append(named(f.export), 0), uint64(i)))
		}
		if i < len(a.imports) {
			imports = append(imports, binary.AppendUvarint(append(append(named(f.module), named(f.field)...), 0), uint64(i)))
		} else {
			funcs = append(funcs, binary.AppendUvarint(nil, uint64(i)))
		}
	}
	imports = append(imports, append(append(named(a.memory[0]), named(a.memory[1])...), 2, 0, 1))
	exports = append(exports, append(named("memory"), 2, 0))
	for i := range a.funcs {
		codes = append(codes, a.code(&a.funcs[i], index))
	}
	for _, d := range a.datas {
		b := append(component.Signed([]byte{0, 0x41}, int64(int32(d.at))), 0x0b)
		datas = append(datas, append(binary.AppendUvarint(b, uint64(len(d.bytes))), d.bytes...))
	}
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	for _, s := range []struct {
		id   byte
		list [][]byte
	}{{1, types}, {2, imports}, {3, funcs}, {6, globals}, {7, exports}, {10, codes}, {11, datas}} {
		body := append(binary.AppendUvarint(nil, uint64(len(s.list))), bytes.Join(s.list, nil)...)
		out = append(binary.AppendUvarint(append(out, s.id), uint64(len(body))), body...)
	}
	return out, a.err
}

// types returns the type of a function.
func (f *wasmFunc) types() []byte {
	if f.typ != "" {
		return []byte(f.typ)
	}
	t := []byte{0x60, byte(len(f.params))}
	for _, p := range f.params {
		t = append(t, valueTypes[lastWord(p)])
	}
	if f.result == "" {
		return append(t, 0)
	}
	return append(t, 1, valueTypes[f.result])
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// code returns the body of a function after its size.
func (a *assembly) code(f *wasmFunc, index map[string]uint32) []byte {
	local := map[string]uint32{}
	body := binary.AppendUvarint(nil, uint64(len(f.locals)))
	for i, l := range append(f.params[:len(f.params):len(f.params)], f.locals...) {
		name, _, _ := strings.Cut(l, " ")
		local[name] = uint32(i)
		if i >= len(f.params) {
			body = append(body, 1, valueTypes[lastWord(l)])
		}
	}
	for line := range strings.Lines(f.body) {
		line, _, _ = strings.Cut(line, ";")
		for words := strings.Fields(line); len(words) > 0; {
			op, ok := opcodes[words[0]]
			if !ok {
				a.fail(f, line)
				return nil
			}
			n := 1
			body = append(body, op[0])
			switch op[1] {
			case 'c':
				body = append(body, 10, 0, 0)
			case 'b':
				body = append(body, 0x40)
			case 'm':
				offset := uint64(0)
				if len(words) > 1 && strings.HasPrefix(words[1], "+") {
					offset, n = a.parsed(f, line, words[1][1:]), 2
				}
				body = binary.AppendUvarint(append(body, 0), offset)
			case 'x', 's':
				if n = 2; len(words) < 2 {
					a.fail(f, line)
					return nil
				}
				v := a.operand(f, line, words[1], local, index)
				if op[1] == 'x' {
					body = binary.AppendUvarint(body, uint64(v))
				} else {
					body = component.Signed(body, v)
				}
			}
			words = words[n:]
		}
	}
	body = append(body, 0x0b)
	return append(binary.AppendUvarint(nil, uint64(len(body))), body...)
}

// operand is the number of an index or constant.
func (a *assembly) operand(f *wasmFunc, line, word string, local, index map[string]uint32) int64 {
	name, ok := strings.CutPrefix(word, "$")
	if !ok {
		v, err := strconv.ParseInt(word, 0, 64)
		if err != nil {
			a.fail(f, line)
		}
		return v
	}
	if i, ok := local[name]; ok {
		return int64(i)
	}
	i, ok := index[name]
	if !ok {
		a.fail(f, line)
	}
	return int64(i)
}

func (a *assembly) parsed(f *wasmFunc, line, word string) uint64 {
	v, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		a.fail(f, line)
	}
	return v
}

func (a *assembly) fail(f *wasmFunc, line string) {
	if a.err == nil {
		a.err = fmt.Errorf("shell: function %s: line %q is wrong", f.name, strings.TrimSpace(line))
	}
}

func named(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }
