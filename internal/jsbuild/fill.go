package jsbuild

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What stands in the data of a shell for the script and for its size.
const (
	scriptMark = "anchor: the script of the plugin"
	sizeMark   = "anch"
)

// The sections of a module that have its exports and its data.
const (
	exportSection = 7
	dataSection   = 11
)

// renamed gives the export that boots the engine the name that hosts call. Exports come before code and
// data, so the first match is it.
func renamed(wasm []byte) ([]byte, error) {
	at := bytes.Index(wasm, []byte(boot))
	if at < 0 {
		return nil, errors.New("the merged module has no start")
	}
	copy(wasm[at:], initialize)
	return wasm, nil
}

// filled puts a script into the data of a shell, and leaves it the exports of some operations.
func filled(wasm, script []byte, names []string) ([]byte, error) {
	text := append(slices.Clip(script), 0)
	out, found := slices.Clone(wasm[:min(8, len(wasm))]), false
	for at := 8; at < len(wasm); {
		length, n := binary.Uvarint(wasm[at+1:])
		start := at + 1 + n
		if n <= 0 || length > uint64(len(wasm)-start) {
			break
		}
		content, err := wasm[start:start+int(length)], error(nil)
		switch wasm[at] {
		case exportSection:
			content, err = withExports(content, names)
		case dataSection:
			// The script comes last: it may hold any bytes, those of a mark too.
			content, err = replaced(content, sizeMark, binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
			if err == nil {
				content, err = replaced(content, scriptMark, text)
			}
			found = true
		}
		if err != nil {
			return nil, err
		}
		out = append(binary.AppendUvarint(append(out, wasm[at]), uint64(len(content))), content...)
		at = start + int(length)
	}
	if !found {
		return nil, errors.New("the merged module has no data")
	}
	return out, nil
}

// withExports returns an export section without the exports of other operations than names. An export is the size
// of its name, the name, a byte for its kind, and an index.
func withExports(content []byte, names []string) ([]byte, error) {
	count, at := binary.Uvarint(content)
	var out []byte
	kept := uint64(0)
	for range count {
		size, n := binary.Uvarint(content[min(at, len(content)):])
		end := at + n + int(min(size, uint64(len(content)))) + 1
		if n <= 0 || end > len(content) {
			return nil, errors.New("the exports of the merged module end early")
		}
		name := string(content[at+n : end-1])
		_, n = binary.Uvarint(content[end:])
		if n <= 0 {
			return nil, errors.New("the exports of the merged module end early")
		}
		operation, ok := strings.CutPrefix(name, "anchor_")
		if !ok || !slices.Contains(operations, operation) || slices.Contains(names, operation) {
			out, kept = append(out, content[at:end+n]...), kept+1
		}
		at = end + n
	}
	return append(binary.AppendUvarint(nil, kept), out...), nil
}

// replaced replaces a passive segment of a data section, which consists of a text. A segment is 1, its
// size and its bytes.
func replaced(data []byte, text string, with []byte) ([]byte, error) {
	segment := func(b []byte) []byte { return append(binary.AppendUvarint([]byte{1}, uint64(len(b))), b...) }
	old := segment([]byte(text))
	if bytes.Count(data, old) != 1 {
		return nil, fmt.Errorf("the merged module has not one data segment %q", text)
	}
	return bytes.Replace(data, old, segment(with), 1), nil
}
