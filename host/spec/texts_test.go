package spec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
)

// packed returns a plugin with texts.
func packed(t *testing.T, texts spec.Texts) []byte {
	t.Helper()
	wasm, manifest := fixtureFiles(t, "keep-first")
	wasm, err := spec.Embed(wasm, manifest)
	if err == nil {
		wasm, err = spec.EmbedTexts(wasm, texts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func TestTexts(t *testing.T) {
	texts := spec.Texts{Readme: "# Keep first\n", Changelog: "## 0.1.0\n"}
	wasm := packed(t, texts)
	read, err := spec.Read("", wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read.Texts(); err != nil || got != texts {
		t.Errorf("%+v, %v", got, err)
	}
	if again, err := spec.EmbedTexts(wasm, texts); err != nil || !bytes.Equal(again, wasm) {
		t.Errorf("the same texts twice: %v", err)
	}
	if plain := packed(t, spec.Texts{}); bytes.Contains(plain, []byte("anchor.readme")) {
		t.Error("an empty text has a section")
	}
	if read, err = spec.Read("", packed(t, spec.Texts{}), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := read.Texts(); err != nil || got != (spec.Texts{}) {
		t.Errorf("without texts: %+v, %v", got, err)
	}
}

func TestTextsAreBounded(t *testing.T) {
	wasm := packed(t, spec.Texts{Readme: "mine"})
	for _, c := range []struct {
		texts spec.Texts
		want  string
	}{
		{spec.Texts{Readme: "another"}, `another text in its custom section "anchor.readme"`},
		{spec.Texts{Changelog: strings.Repeat("x", abi.MaxText+1)}, `"anchor.changelog": has 262145 bytes (shorten it to at most 262144)`},
		{spec.Texts{Changelog: "\xff"}, "is not UTF-8"},
	} {
		if _, err := spec.EmbedTexts(wasm, c.texts); !errors.Is(err, spec.ErrManifest) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := spec.EmbedTexts([]byte("no module"), spec.Texts{Readme: "x"}); !errors.Is(err, spec.ErrNotWasm) {
		t.Errorf("no module: %v", err)
	}
}

// Texts that another tool wrote wrongly are not shown, and the plugin is read as without them.
func TestHostileTexts(t *testing.T) {
	plain := packed(t, spec.Texts{})
	section := func(text string) []byte {
		name := "anchor.readme"
		body := append(append([]byte{byte(len(name))}, name...), text...)
		size := uint32(len(body))
		return append([]byte{0, byte(size)&0x7f | 0x80, byte(size>>7)&0x7f | 0x80, byte(size>>14)&0x7f | 0x80, byte(size >> 21)}, body...)
	}
	for name, c := range map[string]struct {
		sections []byte
		want     string
	}{
		"two":       {append(section("a"), section("a")...), `2 custom sections "anchor.readme"`},
		"not UTF-8": {section("\xff\xfe"), "is not UTF-8"},
		"long":      {section(strings.Repeat("a", abi.MaxText+1)), "262145 bytes"},
	} {
		read, err := spec.Read("", append(bytes.Clone(plain), c.sections...), nil)
		if err != nil {
			t.Errorf("%s: the plugin is refused: %v", name, err)
			continue
		}
		if _, err := read.Texts(); !errors.Is(err, spec.ErrManifest) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A deprecated plugin runs, and says so. plugin.yaml beside the module does not take that back.
func TestDeprecated(t *testing.T) {
	wasm, manifest := fixtureFiles(t, "keep-first")
	notice := append(bytes.Clone(manifest), "\ndeprecated: use keep-best\n"...)
	wasm, err := spec.Embed(wasm, notice)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range [][]byte{nil, manifest} {
		read, err := spec.Read("", wasm, side)
		if err != nil {
			t.Fatal(err)
		}
		if read.Manifest.Deprecated != "use keep-best" || len(read.Warnings) != 1 || read.Warnings[0] != "is deprecated: use keep-best" {
			t.Errorf("%q, %q", read.Manifest.Deprecated, read.Warnings)
		}
	}
	for _, value := range []string{`""`, `"a\nb"`, "3", `"` + strings.Repeat("x", 501) + `"`} {
		if _, err := spec.ParseManifest(append(bytes.Clone(manifest), "\ndeprecated: "+value+"\n"...)); !errors.Is(err, spec.ErrManifest) || !strings.Contains(err.Error(), "deprecated") {
			t.Errorf("%.20s: %v", value, err)
		}
	}
}
