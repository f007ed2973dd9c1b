package authoring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rustTarget is the target of projects that name none. It needs nothing from the system.
const rustTarget = "wasm32-unknown-unknown"

var rustToolchain = &Toolchain{
	Language: "rust", Title: "Rust", Marks: []string{"Cargo.toml"}, helper: "pdk-rust",
	connect: "write anchor::plugin! { filter: keep } in src/lib.rs", quick: "link-time optimization",
	remedy: randomRemedy,
	Programs: []Program{
		{
			Name: "cargo", Executables: []string{"cargo"},
			Get: "get Rust from https://rustup.rs, or on Debian: apt-get install cargo",
		},
		{
			Name: "rustc with a library for WebAssembly", Executables: []string{"rustc"}, worksIn: compilesFor,
			Get: "rustup target add " + rustTarget + ", or on Debian: apt-get install rustc libstd-rust-dev-wasm32 lld-14",
		},
	},
	commands: func(j *job) ([]Command, error) {
		source, err := j.source()
		if err != nil {
			return nil, err
		}
		target, triple := filepath.Join(source, "target"), cargoTarget(source)
		release := filepath.Join(target, triple, "release")
		j.product = func() (string, error) { return cargoProduct(release, source) }
		if err := removeModules(release); err != nil {
			return nil, err
		}
		return []Command{{
			Args: []string{j.program("cargo"), "build", "--release", "--target", triple},
			Env: slices.Concat([]string{"CARGO_TARGET_DIR=" + target}, j.quickly("CARGO_PROFILE_RELEASE_LTO=off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16",
				"CARGO_PROFILE_RELEASE_INCREMENTAL=true"), j.debug("CARGO_PROFILE_RELEASE_STRIP=none", "CARGO_PROFILE_RELEASE_DEBUG=1")),
			Dir: source,
		}}, nil
	},
}

// randomRemedy says which lines crates need that ask getrandom for random numbers.
func randomRemedy(said string) string {
	const line = `write features = ["random"] on the line of anchor in Cargo.toml`
	switch {
	case strings.Contains(said, "does not have these features: `random`"), strings.Contains(said, "does not have feature `random`"):
		return "the helper library in the folder anchor is older than its feature random: run anchor-host plugin update-helper"
	case strings.Contains(said, "__getrandom_"): // its custom backend is wanted, and not there
		return "for random numbers " + line
	case strings.Contains(said, "to use `uuid` on `wasm32-unknown-unknown`"):
		return "for random numbers " + line + `, and rng-getrandom among the features of uuid`
	case strings.Contains(said, "https://docs.rs/getrandom/#webassembly-support"): // 0.2
		return "for random numbers " + line + `, and below it getrandom = { version = "0.2", features = ["custom"] }`
	case strings.Contains(said, "https://docs.rs/getrandom/"):
		return "for random numbers " + line + `, and give rustflags in .cargo/config.toml "--cfg", "getrandom_backend=\"custom\"", as in a new project`
	}
	return ""
}

// cargoTarget returns the target of a project: that of [build] in its .cargo/config.toml if it is
// one for WebAssembly, such as wasm32-wasip1, or else rustTarget.
func cargoTarget(dir string) string {
	for _, name := range []string{"config.toml", "config"} {
		text, err := os.ReadFile(filepath.Join(dir, ".cargo", name))
		if err != nil {
			continue
		}
		section := ""
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
				section = line
			}
			key, value, _ := strings.Cut(line, "=")
			triple := strings.Trim(strings.TrimSpace(value), `"'`)
			if section == "[build]" && strings.TrimSpace(key) == "target" && strings.HasPrefix(triple, "wasm32-") {
				return triple
			}
		}
		break // cargo reads one of them
	}
	return rustTarget
}

// compilesFor returns why a rustc cannot compile for the target of a project, nil if it can. It
// compiles a function: two packages of a system can have put a compiler beside the library
// of another version, and then each line of the library is an error.
func compilesFor(rustc, dir string) error {
	triple := cargoTarget(dir)
	work, err := os.MkdirTemp("", "anchor-host-probe-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, rustc, "--target", triple, "--crate-type", "rlib", "--emit", "metadata", "-o", filepath.Join(work, "probe.rmeta"), "-")
	killChildren(cmd)
	cmd.WaitDelay = time.Second
	var said output
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader("pub fn f() {}\n"), &said
	err = cmd.Run()
	switch text := string(said.text); {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: not done within %v", rustc, probeTime)
	case err == nil:
		return nil
	case strings.Contains(text, "E0463"):
		return fmt.Errorf("%s has no standard library for %s", rustc, triple)
	case strings.Contains(text, "E0786"), strings.Contains(text, "E0514"), strings.Contains(text, "E0460"):
		return fmt.Errorf("%s and its standard library for %s are of different versions: install both from one place, in one version", rustc, triple)
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return fmt.Errorf("%s --target %s: %w: %s", rustc, triple, err, first)
	}
}

// removeModules removes the modules of earlier builds. Cargo puts the one of the present
// sources there again, even if it has nothing to compile.
func removeModules(release string) error {
	old, err := modulesIn(release)
	for _, file := range old {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// modulesIn lists the modules in a folder. The path of the folder may have any characters, also those of
// patterns. There are none if the folder does not exist.
func modulesIn(dir string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), "*.wasm")
	for i, name := range found {
		found[i] = filepath.Join(dir, name)
	}
	return found, err
}

// cargoProduct finds the module that cargo made: the only module, or the one with the name
// in Cargo.toml.
func cargoProduct(release, dir string) (string, error) {
	found, err := fs.Glob(os.DirFS(release), "*.wasm")
	if err != nil {
		return "", err
	}
	if len(found) == 1 {
		return filepath.Join(release, found[0]), nil
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "Cargo.toml"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(manifest)) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) != "name" {
			continue
		}
		name := strings.ReplaceAll(strings.Trim(strings.TrimSpace(value), `"`), "-", "_")
		path := filepath.Join(release, name+".wasm")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cargo: %d modules in %s and none of the package's name (set crate-type = [\"cdylib\"] in Cargo.toml)", len(found), release)
}
