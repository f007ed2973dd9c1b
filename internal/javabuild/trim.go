package javabuild

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// errModule means that what TeaVM wrote is no module.
var errModule = errors.New("teavm: the module is damaged")

// The sections of a module that trim changes.
const (
	customSection = 0
	importSection = 2
	exportSection = 7
)

// trim removes the exports of TeaVM's own, and without names also the names of functions.
func trim(module []byte, names bool) ([]byte, error) {
	if len(module) < 8 || string(module[:4]) != "\x00asm" {
		return nil, errModule
	}
	out := append(make([]byte, 0, len(module)), module[:8]...)
	for rest := module[8:]; len(rest) > 0; {
		id := rest[0]
		content, after, err := sized(rest[1:])
		if err != nil {
			return nil, err
		}
		rest = after
		switch id {
		case customSection:
			name, _, err := sized(content)
			if err != nil {
				return nil, err
			}
			if string(name) != "name" || !names {
				continue
			}
		case importSection:
			if err := imported(content); err != nil {
				return nil, err
			}
		case exportSection:
			if content, err = exported(content); err != nil {
				return nil, err
			}
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(content))), content...)
	}
	return out, nil
}

// imported returns an error if a module imports what browsers have. TeaVM has no other answer to some methods.
func imported(section []byte) error {
	_, rest, found := bytes.Cut(section, []byte("teavm")) // modules of hosts are not named so, and the functions come after their module
	if !found {
		return nil
	}
	if bytes.HasPrefix(rest, []byte("\x0fteavm_interrupt")) {
		return fmt.Errorf("%w: it, or a library, starts a thread or waits (Thread, Object.wait), and a plugin has one thread", ErrSource)
	}
	i := bytes.IndexFunc(rest, func(r rune) bool { return r < ' ' })
	if i < 0 {
		return errModule
	}
	name, _, err := sized(rest[i:])
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it, or a library, uses the method %s of TeaVM, which browsers alone have", ErrSource, name)
}

// sized takes a length and so many bytes, and returns them and the rest.
func sized(b []byte) (content, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, errModule
	}
	return b[k : k+int(n)], b[k+int(n):], nil
}

// exported returns the exports of the contract.
func exported(section []byte) ([]byte, error) {
	count, k := binary.Uvarint(section)
	if k <= 0 {
		return nil, errModule
	}
	var kept []byte
	n, rest := uint64(0), section[k:]
	for range count {
		name, after, err := sized(rest)
		if err != nil || len(after) == 0 {
			return nil, errModule
		}
		_, k := binary.Uvarint(after[1:])
		if k <= 0 {
			return nil, errModule
		}
		if s := string(name); s == "memory" || s == "_initialize" || strings.HasPrefix(s, "anchor_") {
			kept = append(kept, rest[:len(rest)-len(after)+1+k]...)
			n++
		}
		rest = after[1+k:]
	}
	return append(binary.AppendUvarint(nil, n), kept...), nil
}
