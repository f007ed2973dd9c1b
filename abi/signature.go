package abi

import "slices"

// ValueType is a type of a parameter or a result, with the code the Wasm
// binary format gives it.
type ValueType byte

// The value types. Signatures of this contract use I32 and I64 only.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
	F32 ValueType = 0x7d
	F64 ValueType = 0x7c
)

// String returns the name in WebAssembly text.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	}
	return "unknown"
}

// Signature is one function of the contract. Module is empty for exports.
type Signature struct {
	Module, Name    string
	Params, Results []ValueType
}

// Is reports whether s has these types.
func (s Signature) Is(params, results []ValueType) bool {
	return slices.Equal(s.Params, params) && slices.Equal(s.Results, results)
}

// String returns the types as "(i32, i32) -> (i32)".
func (s Signature) String() string { return typeList(s.Params) + " -> " + typeList(s.Results) }

func typeList(ts []ValueType) string {
	s := "("
	for i, t := range ts {
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	return s + ")"
}

// Exports is every function that a module may export for this contract.
var Exports = exportTable()

func exportTable() []Signature {
	one, two, ret := []ValueType{I32}, []ValueType{I32, I32}, []ValueType{I32}
	t := []Signature{
		{Name: Marker},
		{Name: MailboxExport, Results: ret},
		{Name: ReserveExport, Params: one, Results: ret},
	}
	for _, op := range Operations {
		t = append(t, Signature{Name: op.Op.JSONExport(), Results: ret})
	}
	for _, op := range Operations {
		if op.Batch {
			t = append(t, Signature{Name: op.Op.BatchExport(), Params: two, Results: ret})
		}
	}
	return t
}

// Imports is every function that a module may import: Extism's own, and the
// host services under anchor_*.
var Imports = []Signature{
	env("alloc", p64, r64), env("free", p64, nil),
	env("length", p64, r64), env("length_unsafe", p64, r64),
	env("load_u8", p64, r32), env("load_u64", p64, r64),
	env("store_u8", []ValueType{I64, I32}, nil), env("store_u64", pp64, nil),
	env("input_length", nil, r64), env("input_offset", nil, r64),
	env("input_load_u8", p64, r32), env("input_load_u64", p64, r64),
	env("output_set", pp64, nil), env("error_set", p64, nil),
	env("config_get", p64, r64), env("var_get", p64, r64), env("var_set", pp64, nil),
	env("http_request", pp64, r64), env("http_status_code", nil, r32), env("http_headers", nil, r64),
	env("log_trace", p64, nil), env("log_debug", p64, nil), env("log_info", p64, nil),
	env("log_warn", p64, nil), env("log_error", p64, nil), env("get_log_level", nil, r32),
	{Module: UserModule, Name: ImportKVGet, Params: p64, Results: r64},
	{Module: UserModule, Name: ImportKVSet, Params: pp64, Results: r32},
	{Module: UserModule, Name: ImportCountTokens, Params: p64, Results: r64},
	{Module: UserModule, Name: ImportHTTPBatch, Params: p64, Results: r64},
	{Module: UserModule, Name: ImportEmbed, Params: p64, Results: r64},
	{Module: UserModule, Name: ImportSearch, Params: p64, Results: r64},
	{Module: UserModule, Name: ImportLLM, Params: p64, Results: r64},
}

var (
	p64, r64 = []ValueType{I64}, []ValueType{I64}
	r32      = []ValueType{I32}
	pp64     = []ValueType{I64, I64}
)

func env(name string, params, results []ValueType) Signature {
	return Signature{Module: EnvModule, Name: name, Params: params, Results: results}
}

// LookupExport returns the signature of the export of that name.
func LookupExport(name string) (Signature, bool) { return lookup(Exports, "", name) }

// LookupImport returns the signature of the import of that module and name.
func LookupImport(module, name string) (Signature, bool) { return lookup(Imports, module, name) }

func lookup(table []Signature, module, name string) (Signature, bool) {
	for _, s := range table {
		if s.Name == name && s.Module == module {
			return s, true
		}
	}
	return Signature{}, false
}
