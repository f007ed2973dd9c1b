package spec

import "reflect"

// SameSpec reports whether two specs say the same, wherever their modules are.
func SameSpec(a, b *Spec) bool {
	x, y := *a, *b
	m, n := *a.module, *b.module
	x.source, y.source = nil, nil
	x.module, y.module = nil, nil
	m.Bytes, n.Bytes = nil, nil
	return reflect.DeepEqual(x, y) && reflect.DeepEqual(m, n)
}

// Unread reports whether the module of a spec was not read.
func Unread(s *Spec) bool { return s.source.wasm == nil }
