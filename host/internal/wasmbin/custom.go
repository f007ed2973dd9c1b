package wasmbin

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Custom returns the content of the first custom section of that name. It reads only the
// headers of sections. data aliases bin.
func Custom(bin []byte, name string) (data []byte, ok bool, err error) {
	if err := checkMagic(bin); err != nil {
		return nil, false, err
	}
	m := &module{bin: bin}
	if err := m.split(); err != nil {
		return nil, false, err
	}
	data, ok = m.info.Custom(name)
	return data, ok, nil
}

// AppendCustom returns a copy of the module with a custom section added at its
// end. Sections of the same name are kept; readers take the first.
func AppendCustom(bin []byte, name string, data []byte) ([]byte, error) {
	if err := checkMagic(bin); err != nil {
		return nil, err
	}
	if err := (&module{bin: bin}).split(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(name) {
		return nil, fmt.Errorf("custom section name %q: not valid UTF-8", name)
	}
	size := uint64(sizeU32(uint32(len(name)))) + uint64(len(name)) + uint64(len(data))
	if size > math.MaxUint32 {
		return nil, &LimitError{What: fmt.Sprintf("custom section %q", name), Value: size, Max: math.MaxUint32, Unit: "bytes"}
	}
	out := make([]byte, 0, len(bin)+6+int(size))
	out = append(out, bin...)
	out = appendU32(append(out, secCustom), uint32(size))
	out = appendName(out, name)
	return append(out, data...), nil
}
