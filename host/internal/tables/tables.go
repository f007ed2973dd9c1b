// Package tables fills the tables of instances in place of wazero.
//
// wazero evaluates an expression for every element of a table each time it makes an
// instance. A stock Go guest has thousands, as any of its functions may be called
// through the table: that takes most of the time which a further instance needs, and
// makes three objects for each. All that such an expression says is the number of a
// function, so [Take] notes the numbers and takes the expressions out of the compiled
// module, and [Elements.Fill] asks an instance for its functions, or copies what the
// first instance was given.
//
// wazero has no interface for that. What it has is reached by reflection: the
// element section in a compiled module, the tables of an instance, the method of
// its engine by which wazero itself gets a reference, and the objects that are made
// for them. [Works] tries it out on a runtime.
package tables

import (
	"encoding/binary"
	"errors"
	"reflect"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Elements are what the tables of a module begin with. They may be used by several
// goroutines.
type Elements struct {
	segments []segment
	// imported is how many functions come before the module's own.
	imported uint32
	// pattern is what the first instance was given, nil before, and where the
	// engine is none to copy from.
	pattern atomic.Pointer[pattern]
}

// segment are functions that lie in a table from offset on.
type segment struct {
	table, offset int
	funcs         []uint32
}

// references are what wazero keeps in tables. They are no pointers to Go's collector:
// the engine of the instance holds on to what they point to.
type references = []uintptr

// engine is how an instance gives out references to its functions.
type engine interface {
	FunctionInstanceReference(function uint32) uintptr
}

// Opcodes of constant expressions.
const (
	opEnd      = 0x0b
	opI32Const = 0x41
	opRefFunc  = 0xd2
)

// Take takes the elements out of a module of which there is no instance yet. nil
// says that it left them there: where they are not plainly functions at a constant
// place, where an instance would notice that they come late, or where wazero looks
// other than expected.
func Take(compiled wazero.CompiledModule) (e *Elements) {
	defer func() {
		if recover() != nil {
			e = nil
		}
	}()
	pointer := reflect.ValueOf(compiled).Elem().FieldByName("module")
	module := reflect.NewAt(pointer.Type().Elem(), pointer.UnsafePointer()).Elem()
	section := module.FieldByName("ElementSection")
	if section.Len() == 0 || !module.FieldByName("StartSection").IsNil() {
		return nil
	}
	e = &Elements{imported: uint32(module.FieldByName("ImportFunctionCount").Uint())}
	var taken []reflect.Value
	for i := range section.Len() {
		applies, s, ok := read(section.Index(i), module)
		if !ok {
			return nil
		}
		if applies {
			e.segments = append(e.segments, s)
			taken = append(taken, section.Index(i).FieldByName("Init"))
		}
	}
	for _, init := range taken { // nothing is taken until all is known to be read well
		if !init.CanSet() {
			return nil
		}
	}
	for _, init := range taken {
		init.SetZero()
	}
	return e
}

// active is wazero's mark of the segments that it applies.
const active = 0

// read reads an element segment. ok is false where it must stay with wazero.
func read(elem, module reflect.Value) (applies bool, s segment, ok bool) {
	init := elem.FieldByName("Init")
	if elem.FieldByName("Mode").Uint() != active {
		return false, s, true
	}
	offset, ok := expression(elem.FieldByName("OffsetExpr"), opI32Const)
	at, n := signed(offset)
	imported := int(module.FieldByName("ImportTableCount").Uint())
	s = segment{table: int(elem.FieldByName("TableIndex").Uint()), offset: int(at), funcs: make([]uint32, init.Len())}
	if !ok || n != len(offset) || at < 0 || s.table < imported {
		return true, s, false
	}
	table := module.FieldByName("TableSection").Index(s.table - imported)
	if s.offset+len(s.funcs) > int(table.FieldByName("Min").Uint()) {
		return true, s, false
	}
	for i := range s.funcs {
		number, ok := expression(init.Index(i), opRefFunc)
		f, n := binary.Uvarint(number)
		if !ok || n != len(number) || f > 1<<32-1 {
			return true, s, false
		}
		s.funcs[i] = uint32(f)
	}
	return true, s, true
}

// expression is the operand of an expression that is one instruction.
func expression(e reflect.Value, op byte) (operand []byte, ok bool) {
	data := e.FieldByName("Data").Bytes()
	if len(data) < 3 || data[0] != op || data[len(data)-1] != opEnd {
		return nil, false
	}
	return data[1 : len(data)-1], true
}

// signed reads a signed LEB128 number of up to 32 bits, and returns its length.
func signed(b []byte) (v int32, n int) {
	for shift := 0; n < len(b) && shift < 35; shift += 7 {
		c := b[n]
		n++
		v |= int32(c&0x7f) << shift
		if c&0x80 == 0 {
			if shift < 25 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v, n
		}
	}
	return -1, 0
}

var errTables = errors.New("the module lost its tables")

// Fill puts the elements into the tables of a new instance.
func (e *Elements) Fill(mod api.Module) (err error) {
	if e == nil || len(e.segments) == 0 {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = errTables
		}
	}()
	from := reflect.ValueOf(mod).Elem().FieldByName("Engine").Interface().(engine)
	p := e.pattern.Load()
	if p != nil && e.fillCopies(from, tables(mod), p) {
		return nil
	}
	asked := e.fillAsking(from, tables(mod))
	if p == nil {
		e.pattern.Store(newPattern(from, asked))
	}
	return nil
}

// fillAsking asks the engine for every reference, and returns those to the module's
// own functions.
func (e *Elements) fillAsking(from engine, tables reflect.Value) (own references) {
	for _, s := range e.segments {
		to := table(tables, s.table)[s.offset:]
		for i, f := range s.funcs {
			to[i] = from.FunctionInstanceReference(f)
			if f >= e.imported {
				own = append(own, to[i])
			}
		}
	}
	return own
}

// fillCopies fills the tables after a pattern, and reports whether it did.
func (e *Elements) fillCopies(from engine, tables reflect.Value, p *pattern) bool {
	next := p.copy(from, e.own())
	if next == 0 {
		return false
	}
	for _, s := range e.segments {
		to := table(tables, s.table)[s.offset:]
		for i, f := range s.funcs {
			if f < e.imported {
				to[i] = from.FunctionInstanceReference(f)
				continue
			}
			to[i], next = next, next+p.size
		}
	}
	return true
}

// own is one of the module's own functions among the elements.
func (e *Elements) own() uint32 {
	for _, s := range e.segments {
		for _, f := range s.funcs {
			if f >= e.imported {
				return f
			}
		}
	}
	return 0
}
