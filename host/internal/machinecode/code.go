package machinecode

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero"
)

// Close closes a compiled module and gives the memory of its code back, unless others
// have compiled the same module. No instance of it may be left: what ran the code would
// end the process.
func Close(ctx context.Context, m wazero.CompiledModule) error {
	c, found := find(m)
	err := m.Close(ctx)
	if found && !c.known() {
		discard(c.bytes)
		discard(c.entries)
	}
	runtime.KeepAlive(c.owner) // or the mapping could be another by then
	return err
}

// code is the machine code of a compiled module.
type code struct {
	engine, id reflect.Value
	// owner is what wazero's finalizer is set on, which unmaps both parts: the functions,
	// and what calls them.
	owner          unsafe.Pointer
	bytes, entries []byte
}

// errFields says that wazero is not made as expected.
var errFields = errors.New("wazero's engine has other fields")

// find finds the code of a module, if it is where it is expected and has one user.
func find(m wazero.CompiledModule) (c code, found bool) {
	defer func() {
		if recover() != nil {
			c, found = code{}, false
		}
	}()
	compiled := reflect.ValueOf(m).Elem()
	c.engine, c.id = compiled.FieldByName("compiledEngine").Elem().Elem(), compiled.FieldByName("module").Elem().FieldByName("ID")
	c.locked(func(entry reflect.Value) {
		owner := entry.Elem().FieldByName("executables")
		c.owner = owner.UnsafePointer()
		c.bytes, c.entries = owner.Elem().FieldByName("executable").Bytes(), owner.Elem().FieldByName("entryPreambles").Bytes()
		found = entry.Elem().FieldByName("refCount").Int() == 1 && len(c.bytes) > 0
	})
	return c, found
}

// known reports whether the engine knows this code, and true where it cannot say.
func (c *code) known() (known bool) {
	defer func() {
		if recover() != nil {
			known = true
		}
	}()
	c.locked(func(entry reflect.Value) {
		known = entry.IsValid() && entry.Elem().FieldByName("executables").UnsafePointer() == c.owner
	})
	return known
}

// locked shows what the engine knows of the module, while that does not change.
func (c *code) locked(see func(entry reflect.Value)) {
	f := c.engine.FieldByName("mux")
	if f.Type() != reflect.TypeFor[sync.RWMutex]() {
		panic(errFields)
	}
	mux := (*sync.RWMutex)(f.Addr().UnsafePointer())
	mux.RLock()
	defer mux.RUnlock()
	see(c.engine.FieldByName("compiledModules").MapIndex(c.id))
}
