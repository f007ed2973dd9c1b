package wazerox

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero"
)

// ErrOtherCode says that a file does not hold the machine code that it is to be mapped for.
var ErrOtherCode = errors.New("another machine code")

// Code returns the machine code of a module, in the memory from which it runs. It is nil where wazero has none, or
// has it elsewhere.
func Code(m wazero.CompiledModule) (code []byte) {
	defer func() {
		if recover() != nil {
			code = nil
		}
	}()
	of := reflect.ValueOf(m).Elem()
	engine := of.FieldByName("compiledEngine").Elem().Elem()
	mux := engine.FieldByName("mux")
	if mux.Type() != reflect.TypeFor[sync.RWMutex]() {
		return nil
	}
	lock := (*sync.RWMutex)(unsafe.Pointer(mux.UnsafeAddr()))
	lock.RLock()
	defer lock.RUnlock()
	id := of.FieldByName("module").Elem().FieldByName("ID")
	return engine.FieldByName("compiledModules").MapIndex(id).Elem().FieldByName("executable").Bytes()
}
