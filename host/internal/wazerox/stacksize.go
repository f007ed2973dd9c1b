package wazerox

import (
	"errors"
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// StackOf is the size of the stack of a handle that is wazero's own, in bytes. Where the
// handle looks other than expected it counts as larger than StackKept.
func StackOf(fn api.Function) int {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return StackKept + 1
	}
	stack := v.Elem().FieldByName("stack")
	if stack.Kind() != reflect.Slice {
		return StackKept + 1
	}
	return stack.Cap() * int(stack.Type().Elem().Size())
}

// probeStackSizes tries out whether the size of a stack shows how deep calls went.
func probeStackSizes(l *lab) error {
	mod, err := l.guest(l.ctx)
	if err != nil {
		return err
	}
	defer mod.Close(l.ctx)
	const depth = 1500 // what the interpreter nests, too
	for _, name := range []string{"deep", "calls"} {
		fn := mod.ExportedFunction(name)
		unused := StackOf(fn)
		if _, err := fn.Call(l.ctx, depth); err != nil {
			return err
		}
		if used := StackOf(fn); unused > StackKept || used < unused+8*depth {
			return errors.New("the size of a stack is not found")
		}
	}
	return nil
}
