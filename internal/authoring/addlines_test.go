package authoring

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// What compilers write beside the code may be wrong: then a build has no lines, and goes on.
func TestBadDebugInformation(t *testing.T) {
	module := func(sections ...string) []byte {
		out := []byte("\x00asm\x01\x00\x00\x00\x0a\x01\x00")
		for i := 0; i < len(sections); i += 2 {
			content := append(append([]byte{byte(len(sections[i]))}, sections[i]...), sections[i+1]...)
			out = append(append(out, 0), append(binary.AppendUvarint(nil, uint64(len(content))), content...)...)
		}
		return out
	}
	for name, tc := range map[string]struct {
		wasm []byte
		maps string
		bad  bool
	}{
		"nothing":          {wasm: module()},
		"empty":            {wasm: nil, bad: true},
		"a cut section":    {wasm: []byte("\x00asm\x01\x00\x00\x00\x00\x05a"), bad: true},
		"an endless size":  {wasm: []byte("\x00asm\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), bad: true},
		"no units":         {wasm: module(".debug_line", "abc"), bad: true},
		"a cut unit":       {wasm: module(".debug_info", "\x09\x00\x00\x00\x04\x00", ".debug_line", "abc"), bad: true},
		"no map":           {wasm: module(), maps: "sourceMap", bad: true},
		"no such source":   {wasm: module(), maps: `{"sources":["a"],"mappings":"AACA,AADA,gggggggB"}`, bad: true},
		"a negative line":  {wasm: module(), maps: `{"sources":["a"],"mappings":"UADA"}`},
		"no digit":         {wasm: module(), maps: `{"sources":["a"],"mappings":"U!"}`, bad: true},
		"a negative place": {wasm: module(), maps: `{"sources":["a"],"mappings":"DAAA"}`},
	} {
		file := filepath.Join(t.TempDir(), "plugin.wasm.map")
		if tc.maps != "" {
			if err := os.WriteFile(file, []byte(tc.maps), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := addLines(bytes.Clone(tc.wasm), file)
		if (err != nil) != tc.bad || !bytes.Equal(out, tc.wasm) && err == nil {
			t.Errorf("%s: %d bytes of %d, error %v (want one: %t)", name, len(out), len(tc.wasm), err, tc.bad)
		}
	}
}
