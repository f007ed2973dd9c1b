package authoring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The target of a project is that of its .cargo/config.toml, if it is one for WebAssembly.
func TestRustTargets(t *testing.T) {
	for config, want := range map[string]string{
		"": rustTarget,
		"[build]\ntarget = \"wasm32-wasip1\" # with a clock\n":           "wasm32-wasip1",
		"[build]\njobs = 2\ntarget='wasm32-wasi'":                        "wasm32-wasi",
		"[build]\n# target = \"wasm32-wasip1\"\n":                        rustTarget,
		"[build]\ntarget = \"x86_64-unknown-linux-gnu\"\n":               rustTarget,
		"[target.wasm32-wasip1]\ntarget = \"wasm32-wasip1\"\n":           rustTarget,
		"[build]\n[target.x]\ntarget = \"wasm32-wasip1\"\n":              rustTarget,
		"target = \"wasm32-wasip1\"\n[build]\ntarget = [\"wasm32-a\"]\n": rustTarget,
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".cargo"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".cargo", "config.toml"), config)
		if got := cargoTarget(dir); got != want {
			t.Errorf("%q: got %s, want %s", config, got, want)
		}
	}
	if got := cargoTarget(t.TempDir()); got != rustTarget {
		t.Errorf("without a file: %s", got)
	}
}

// What a compiler says of its library becomes one line.
func TestCompilesFor(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("it uses scripts")
	}
	for said, want := range map[string]string{
		"error[E0786]: found invalid metadata files for crate `std`":                        "are of different versions: install both",
		"error[E0514]: found crate `std` compiled by an incompatible version of rustc":      "are of different versions: install both",
		"error[E0463]: can't find crate for `std`":                                          "has no standard library for wasm32-unknown-unknown",
		"error: Error loading target specification: Could not find specification\n  = help": "exit status 1: error: Error loading target specification: Could not find specification",
	} {
		rustc := filepath.Join(t.TempDir(), "rustc")
		script := "#!/bin/sh\ncat >&2 <<'END'\n" + said + "\nEND\nexit 1\n"
		if err := os.WriteFile(rustc, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := compilesFor(rustc, ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", said, err, want)
		}
	}
}

// What getrandom and uuid say of a target without random numbers becomes the lines to write.
func TestRandomRemedy(t *testing.T) {
	const feature = `features = ["random"] on the line of anchor`
	for said, want := range map[string][]string{
		"error: the wasm*-unknown-unknown targets are not supported by default, you may need to enable the \"js\" feature. For more information see: https://docs.rs/getrandom/#webassembly-support":                        {feature, `getrandom = { version = "0.2", features = ["custom"] }`},
		"error: The wasm32-unknown-unknown targets are not supported by default; you may need to enable the \"wasm_js\" configuration flag. For more information see: https://docs.rs/getrandom/0.3.4/#webassembly-support": {feature, `.cargo/config.toml`},
		"error: to use `uuid` on `wasm32-unknown-unknown`, specify a source of randomness using one of the `js`, `rng-getrandom`, or `rng-rand` features":                                                                   {feature, "rng-getrandom"},
		`import "__getrandom_v03_custom" of module "env": unusable import`:                                                         {feature},
		"the package `p` depends on `anchor-pdk`, with features: `random` but `anchor-pdk` does not have these features: `random`": {"update-helper"},
	} {
		j := &job{toolchain: rustToolchain}
		failed := errors.New(said)
		err := j.unconnected(failed)
		for _, part := range want {
			if !errors.Is(err, failed) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: got %v, want %q", said, err, part)
			}
		}
	}
	if got := randomRemedy("error[E0425]: cannot find value `rand`"); got != "" {
		t.Errorf("another error: %s", got)
	}
}
