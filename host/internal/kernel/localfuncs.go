package kernel

// LocalFunctions are the implementations of Functions on a Local, by name. s has the
// arguments, and gets the result.
var LocalFunctions = map[string]func(k *Local, s []uint64){
	"alloc":         func(k *Local, s []uint64) { s[0] = k.alloc(s[0]) },
	"free":          func(k *Local, s []uint64) { k.free(s[0]) },
	"length":        func(k *Local, s []uint64) { s[0] = k.Length(s[0]) },
	"length_unsafe": func(k *Local, s []uint64) { s[0] = k.Length(s[0]) },

	"load_u8":   func(k *Local, s []uint64) { s[0] = k.load8(s[0]) },
	"load_u64":  func(k *Local, s []uint64) { s[0] = k.load64(s[0]) },
	"store_u8":  func(k *Local, s []uint64) { k.store8(s[0], s[1]) },
	"store_u64": func(k *Local, s []uint64) { k.store64(s[0], s[1]) },

	"input_length":   func(k *Local, s []uint64) { s[0] = k.inLen },
	"input_offset":   func(k *Local, s []uint64) { s[0] = k.inOff },
	"input_load_u8":  func(k *Local, s []uint64) { s[0] = k.inputLoad8(s[0]) },
	"input_load_u64": func(k *Local, s []uint64) { s[0] = k.inputLoad64(s[0]) },
	"output_set":     func(k *Local, s []uint64) { k.setOutput(s[0], s[1]) },
	"error_set":      func(k *Local, s []uint64) { k.setError(s[0]) },
}
