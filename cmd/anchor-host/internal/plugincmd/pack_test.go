package plugincmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// A module of another toolchain becomes a plugin, which says what it is.
func TestPluginPack(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join(clitest.FixtureDir, "batch-keep-first", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	const manifest = "abi: 1\nname: first\nversion: 0.1.0\noperations: {filter: {reads: [text], writes: [keep]}}\n"
	dir := clitest.Write(t, map[string]string{
		"out.wasm": string(wasm), "plugin.yaml": manifest, "cut.wasm": string(wasm[:len(wasm)/2]), "text.wasm": "hello", "empty.wasm": "",
		"component.wasm": "\x00asm\x0d\x00\x01\x00", "rerank.yaml": strings.Replace(manifest, "filter: {reads: [text], writes: [keep]}", "rerank: {}", 1),
		"wrong.yaml": "abi: 1\nname: first\nversion: 0.1.0\noperatoins: {}\n", "big.yaml": strings.Repeat("# x\n", 3<<20),
		"other.yaml": strings.Replace(manifest, "0.1.0", "0.2.0", 1),
	})
	t.Chdir(dir)
	out := must(t, "", "plugin", "build", "out.wasm")
	if !strings.Contains(out, "first 0.1.0") || !strings.Contains(out, "first.wasm") {
		t.Error(out)
	}
	must(t, "", "plugin", "inspect", "first.wasm")
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, "", "plugin", "build", "out.wasm", "plugin.yaml", "-o", "folder")
	a, err := os.ReadFile("first.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile("folder/first.wasm"); err != nil || !bytes.Equal(a, b) {
		t.Errorf("two packings differ: %v", err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"first.wasm", cli.CodeFailure, "is the module itself"},
		{"none.wasm", cli.CodeNotFound, "none.wasm"},
		{"out.wasm none.yaml", cli.CodeNotFound, "none.yaml"},
		{"out.wasm rerank.yaml", cli.CodeInvalid, "anchor_rerank"},
		{"out.wasm wrong.yaml", cli.CodeInvalid, "wrong.yaml:4"},
		{"out.wasm big.yaml", cli.CodeFailure, "larger than 1MiB"},
		{"first.wasm other.yaml -o again.wasm", cli.CodeInvalid, "another manifest"},
		{"cut.wasm", cli.CodeInvalid, "cut.wasm"},
		{"text.wasm", cli.CodeInvalid, "text.wasm"},
		{"empty.wasm", cli.CodeInvalid, "empty.wasm"},
		{"component.wasm", cli.CodeInvalid, "component"},
	} {
		code, _, stderr := run(t, "", append([]string{"plugin", "build"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %d %s", c.args, code, stderr)
		}
	}
	if _, err := os.Stat("again.wasm"); err == nil {
		t.Error("a failed packing left a file")
	}
}
