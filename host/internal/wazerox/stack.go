package wazerox

import (
	"reflect"
	"unsafe"

	"github.com/tetratelabs/wazero/api"
)

// Stack is a stack of a fixed size for the calls of one guest, one call at a time.
//
// wazero gives each handle of a function a stack of 10 KB and doubles it whenever
// calls need more, up to 80 MB. Each time it clears the new one and copies the old one,
// which takes 40 ms in the end, and nothing stops the guest meanwhile. A Stack is a
// mapping instead. Its pages come into being as calls reach them, it never moves, and
// where it is full wazero ends the call with a stack overflow.
//
// wazero has no interface for this. Its handle is a struct with fields that say where
// its stack lies. [Stack.Lend] sets them, provided that they hold what those of a new
// handle hold. A stack of more than 50,000,000 bytes wazero does not make larger, so the
// mapping is; but what lies beyond what calls may use cannot be touched.
//
// The interpreter has a slice for the values of each handle, to which it appends. While one grows
// it is there twice, and what it was before is garbage, so four guests that may use 64 MiB each took
// 400 to 580 MiB. A Stack for the interpreter is a mapping as large as calls can need.
type Stack struct {
	// mapped is the whole mapping, mem the stack as wazero sees it.
	mapped, mem []byte
	// limit is how many of its topmost bytes calls may use.
	limit int
	// values is the stack of the interpreter, nil for compiled guests.
	values []uint64
}

// NewStack reserves a stack. It takes no memory until it is used.
func NewStack() (*Stack, error) { return reserve(small, huge) }

// reserve makes a stack of two parts.
func reserve(small, huge int) (*Stack, error) {
	mapped, mem, err := mapStack(small, huge)
	if err != nil {
		return nil, err
	}
	return &Stack{mapped: mapped, mem: mem, limit: small + huge - margin}, nil
}

// NewInterpreterStack reserves a stack for interpreted calls that need so many bytes at most. It takes
// no memory until it is used.
func NewInterpreterStack(bytes int64) (*Stack, error) {
	mapped, err := mapValues(bytes)
	if err != nil {
		return nil, err
	}
	return &Stack{mapped: mapped, values: unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(mapped))), len(mapped)/8)}, nil
}

// Lend has a new handle run its calls on the stack, and reports whether it does. The
// handle must not be used after Free, nor while another runs.
func (s *Stack) Lend(fn api.Function) bool {
	if s.values != nil {
		values, ok := valuesOf(fn)
		if !ok || cap(*values) > 0 {
			return false
		}
		*values = s.values[:0]
		return true
	}
	h, ok := placeOf(fn)
	if !ok || !h.fresh() || len(*h.stack) > s.limit/2 {
		return false
	}
	*h.stack, *h.top, *h.bottom = s.mem, topOf(s.mem), &s.mem[len(s.mem)-s.limit]
	return true
}

// Held is how many bytes of memory the stack holds at most, 0 for no more than StackKept. Of the
// interpreter's it does not say: who makes one counts all that it may need.
func (s *Stack) Held() int {
	if s.values != nil {
		return 0
	}
	below := s.mem[len(s.mem)-s.limit-margin : len(s.mem)-StackKept]
	if at := touched(below); at < len(below) {
		return len(below) - at + StackKept
	}
	return 0
}

// Shed gives the memory back that deep calls took, but for the topmost part. No call
// may be running. The margin goes with it: of a huge page that is given back in part,
// nothing is.
func (s *Stack) Shed() {
	if s.values != nil {
		discard(s.mapped)
		return
	}
	discard(s.mem[len(s.mem)-s.limit-margin : len(s.mem)-StackKept])
}

// Free gives the stack back.
func (s *Stack) Free() { unmap(s.mapped) }

// place is where a handle says its stack is: the bytes, the address of their upper end
// rounded down to 16, and the lowest that calls may use.
type place struct {
	stack  *[]byte
	top    *uintptr
	bottom **byte
}

// valuesOf finds the values of a handle of the interpreter, if they are there and of the type expected.
func valuesOf(fn api.Function) (values *[]uint64, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return field[[]uint64](reflect.ValueOf(fn).Elem(), "stack")
}

// placeOf finds the fields of a handle, if they are there and of the types expected.
func placeOf(fn api.Function) (h place, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	engine := reflect.ValueOf(fn).Elem()
	if h.stack, ok = field[[]byte](engine, "stack"); !ok {
		return place{}, false
	}
	if h.top, ok = field[uintptr](engine, "stackTop"); !ok {
		return place{}, false
	}
	h.bottom, ok = field[*byte](engine.FieldByName("execCtx"), "stackBottomPtr")
	return h, ok
}

// field returns the address of a field, if it is of type T.
func field[T any](of reflect.Value, name string) (*T, bool) {
	f := of.FieldByName(name)
	if f.Type() != reflect.TypeFor[T]() {
		return nil, false
	}
	return (*T)(f.Addr().UnsafePointer()), true
}

// fresh reports whether the fields hold what those of a new handle hold.
func (h place) fresh() bool {
	s := *h.stack
	return len(s) > 0 && *h.top == topOf(s) && *h.bottom == &s[0]
}

func topOf(s []byte) uintptr { return uintptr(unsafe.Pointer(&s[len(s)-1])) &^ 15 }
