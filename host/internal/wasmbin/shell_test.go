package wasmbin

import (
	"bytes"
	"maps"
	"slices"
	"testing"
)

// wholes are modules that can be prepared: the spec modules and a Go guest.
func wholes(t *testing.T) map[string][]byte {
	t.Helper()
	all := maps.Clone(specModules(t))
	all["bulk"], all["go guest"] = fixture(t, "bulk"), goGuest(t)
	maps.DeleteFunc(all, func(_ string, bin []byte) bool {
		_, err := Prepare(bin, MeterOptions{MaxMemoryPages: 1024})
		return err != nil
	})
	if len(all) < 2 {
		t.Fatalf("%d modules", len(all))
	}
	return all
}

// A shell is what Prepare returns for the module, except for the code and the mark.
func TestShellIsAllButTheCode(t *testing.T) {
	o := MeterOptions{MaxMemoryPages: 1024}
	for name, bin := range wholes(t) {
		info, err := Inspect(bin)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Prepare(bin, o)
		if err != nil {
			t.Fatal(err)
		}
		shell, err := Shell(bin, info.Facts(), o, "mark")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(shell.Globals, whole.Globals) || shell.Start != whole.Start || shell.Lifted != whole.Lifted || !sameData(shell.Data, whole.Data) {
			t.Errorf("%s: the state is opened otherwise", name)
		}
		if data, err := Lifted(bin, info.Facts()); err != nil || !sameData(data, whole.Data) {
			t.Errorf("%s: other data on its own, error %v", name, err)
		}
		want, got := sectionsOf(t, whole.Wasm), sectionsOf(t, shell.Wasm)
		if mark := got[len(got)-1]; mark != "\x00\x0canchor.shellmark" {
			t.Errorf("%s: the last section is %q", name, mark)
		}
		if got = got[:len(got)-1]; !slices.Equal(got, want) {
			t.Errorf("%s: sections differ", name)
		}
	}
}

func sameData(a, b Data) bool {
	return slices.EqualFunc(pieces(a), pieces(b), func(a, b piece) bool { return a.at == b.at && bytes.Equal(a.bytes, b.bytes) })
}

// piece is one data segment.
type piece struct {
	at    uint32
	bytes []byte
}

func pieces(d Data) (out []piece) {
	for at, b := range d.Segments() {
		out = append(out, piece{at, b})
	}
	return out
}

// sectionsOf returns the sections of a module, without the content of the code section.
func sectionsOf(t *testing.T, bin []byte) []string {
	t.Helper()
	m, err := parse(bin)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range m.sections {
		content := append([]byte{s.id}, m.bin[s.pos:s.end]...)
		switch s.id {
		case secCode:
			content = appendU32([]byte{s.id}, uint32(m.info.Functions))
		case secCustom:
			content = append(appendName([]byte{s.id}, s.name), m.bin[s.pos:s.end]...)
		}
		out = append(out, string(content))
	}
	return out
}

func TestShellsOfOtherMarks(t *testing.T) {
	bin := fixture(t, "bulk")
	info, err := Inspect(bin)
	if err != nil {
		t.Fatal(err)
	}
	one, err := Shell(bin, info.Facts(), MeterOptions{}, "one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := Shell(bin, info.Facts(), MeterOptions{}, "two")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(one.Wasm, two.Wasm) {
		t.Error("two marks make one shell")
	}
}

// FuzzShell tests that Shell, for a module and the facts of another, returns an error or a shell
// and does not panic.
func FuzzShell(f *testing.F) {
	for _, bin := range specModules(f) {
		f.Add(bin)
	}
	f.Fuzz(func(t *testing.T, bin []byte) {
		p, err := Shell(bin, Facts{}, MeterOptions{}, "mark")
		if (p == nil) == (err == nil) {
			t.Errorf("shell %v, error %v", p, err)
		}
	})
}

// Modules that differ only in data which Prepare takes out have one digest of their code, and Prepare
// makes the same of them. With other code, or data that the code needs, they have not.
func TestCodeDigest(t *testing.T) {
	o := MeterOptions{MaxMemoryPages: 1024}
	for name, bin := range wholes(t) {
		info, err := Inspect(bin)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Prepare(bin, o)
		if err != nil {
			t.Fatal(err)
		}
		if lifted := info.Code != [32]byte{}; lifted != whole.Lifted {
			t.Errorf("%s: has a digest: %t, its data are taken out: %t", name, lifted, whole.Lifted)
		}
	}
	module := func(code byte, data string, custom ...byte) (*Info, []byte) {
		t.Helper()
		bin := []byte(header + "\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x05\x03\x01\x00\x01\x0a\x06\x01\x04\x00\x41" + string(code) + "\x0b\x0b")
		data = "\x01\x00\x41\x00\x0b" + string(byte(len(data))) + data
		bin = append(append(append(bin, byte(len(data))), data...), custom...)
		info, err := Inspect(bin)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prepare(bin, o)
		if err != nil || !p.Lifted {
			t.Fatal(err)
		}
		return info, p.Wasm
	}
	one, wasm := module(1, "abc")
	if other, same := module(1, "defghi", 0, 2, 1, 'x'); other.Code != one.Code || !bytes.Equal(wasm, same) {
		t.Error("other data and a custom section make other code")
	}
	if other, _ := module(2, "abc"); other.Code == one.Code {
		t.Error("other code has the same digest")
	}
}
