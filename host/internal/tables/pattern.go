package tables

import (
	"reflect"
	"unsafe"

	"github.com/tetratelabs/wazero/api"
)

// wazero's compiler makes an object for each reference, which tells the code of the
// function and the instance it belongs to. Those of two instances of a module differ
// in nothing else. So the references of the first instance are the pattern for the
// others: their objects are copied in one piece, and told their instance.

// Names in wazero's engine of an instance: the list by which it holds on to the
// objects, and the field of an object that leads to the instance.
const (
	objectsField  = "localFunctionInstances"
	instanceField = "moduleContextOpaquePtr"
)

// pattern are the objects of the references to a module's own functions, in the order
// of its elements, without an instance.
type pattern struct {
	objects reflect.Value
	// size is that of an object, instance the offset of its field.
	size, instance uintptr
}

// newPattern makes a pattern of the references that were asked of an engine last. It
// returns nil where the engine has no such objects.
func newPattern(from engine, asked references) *pattern {
	list := objects(from)
	if !list.IsValid() || list.Len() < len(asked) || len(asked) == 0 {
		return nil
	}
	object := list.Type().Elem().Elem()
	field, ok := object.FieldByName(instanceField)
	if !ok || field.Type != reflect.TypeFor[*byte]() {
		return nil
	}
	p := &pattern{reflect.MakeSlice(reflect.SliceOf(object), len(asked), len(asked)), object.Size(), field.Offset}
	first := list.Len() - len(asked)
	for i, ref := range asked {
		from := list.Index(first + i)
		if uintptr(from.UnsafePointer()) != ref {
			return nil
		}
		p.objects.Index(i).Set(from.Elem())
		*p.field(p.objects.UnsafePointer(), i) = nil
	}
	return p
}

// objects is the list of an engine, the zero Value if it has none.
func objects(e engine) reflect.Value {
	list := reflect.ValueOf(e).Elem().FieldByName(objectsField)
	if !list.IsValid() || list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Pointer {
		return reflect.Value{}
	}
	return reflect.NewAt(list.Type(), list.Addr().UnsafePointer()).Elem()
}

// field is the field for the instance of one of the objects that begin at base.
func (p *pattern) field(base unsafe.Pointer, i int) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(base, uintptr(i)*p.size+p.instance))
}

// copy makes the objects of another instance, on which its engine holds, and returns
// where they begin. some is a function of the module. It returns 0 where the engine
// is not as that of the first instance was.
func (p *pattern) copy(from engine, some uint32) uintptr {
	ref := from.FunctionInstanceReference(some) // which leads to the instance
	list := objects(from)
	last := list.Index(list.Len() - 1).UnsafePointer()
	if uintptr(last) != ref {
		return 0
	}
	instance := *p.field(last, 0)
	n := p.objects.Len()
	copies := reflect.MakeSlice(p.objects.Type(), n, n)
	reflect.Copy(copies, p.objects)
	base := copies.UnsafePointer()
	for i := range n {
		*p.field(base, i) = instance
	}
	list.Set(reflect.Append(list, copies.Index(0).Addr()))
	return uintptr(base)
}

// tables are those of an instance.
func tables(mod api.Module) reflect.Value { return reflect.ValueOf(mod).Elem().FieldByName("Tables") }

// table is one of them.
func table(tables reflect.Value, i int) references {
	return tables.Index(i).Elem().FieldByName("References").Interface().(references)
}
