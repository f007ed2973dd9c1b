package authoring

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk"
)

// Clang before 17 loses the strings of .export_name in file-level assembly.
func TestHeadersHaveNoFileLevelAssembly(t *testing.T) {
	for _, name := range []string{"pdk-c/anchor.h", "pdk-c/anchor_batch.h", "pdk-c/anchor_services.h"} {
		text, err := sdk.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "__asm__") {
			t.Errorf("%s: has assembly; name exports with __attribute__((export_name(…)))", name)
		}
	}
}

// Every clang of the machine exports the same names.
func TestEachClang(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	linker, _ := cToolchain.Programs[1].find("") // "" without one
	n := 0
	for _, name := range versions("clang") {
		clang, err := exec.LookPath(name)
		if err != nil || forWasm(clang) != nil || linker == "" {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			for program, path := range map[string]string{"clang": clang, "clang++": filepath.Join(filepath.Dir(clang), strings.Replace(filepath.Base(clang), "clang", "clang++", 1))} {
				script := "#!/bin/sh\nexec " + shellWord(path) + ` -B"$(dirname "$0")" "$@"` + "\n"
				if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(linker, filepath.Join(bin, "wasm-ld")); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			for _, language := range []string{"c", "cpp"} {
				built, err := Build(t.Context(), BuildOptions{Dir: newProject(t, language, "filter"), Messages: os.Stderr})
				if err != nil {
					t.Fatal(err)
				}
				if w := built.Spec.Warnings; len(w) > 0 {
					t.Errorf("%s: warnings %q", language, w)
				}
				if len(built.Spec.Operations[0].Lanes) != 2 {
					t.Errorf("%s: lanes %v, want both", language, built.Spec.Operations[0].Lanes)
				}
			}
		})
	}
	if n == 0 {
		t.Skip("NOT TESTED: no clang that builds WebAssembly")
	}
}

// A build with Debug has the names of functions.
func TestDebugKeepsNames(t *testing.T) {
	for _, language := range []string{"go", "wat"} { // the others are in TestTrapsNameLines
		t.Run(language, func(t *testing.T) {
			if testing.Short() && language != "go" {
				t.Skip("runs compilers")
			}
			dir := newProject(t, language, "filter")
			plain, err := Build(t.Context(), BuildOptions{Dir: dir, Messages: os.Stderr})
			if errors.Is(err, ErrMissing) {
				t.Skipf("NOT TESTED: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			without, err := os.ReadFile(plain.Path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Build(t.Context(), BuildOptions{Dir: dir, Debug: true, Messages: os.Stderr}); err != nil {
				t.Fatal(err)
			}
			with, err := os.ReadFile(plain.Path)
			if err != nil {
				t.Fatal(err)
			}
			name := []byte("\x04name") // the custom section
			if !bytes.Contains(with, name) || len(with) <= len(without) {
				t.Errorf("%d bytes with names, %d without; the section is there: %v", len(with), len(without), bytes.Contains(with, name))
			}
		})
	}
}

// What other clangs than that of the machine need: no headers of the system, and the linker itself
// instead of a clang that links, which may run the wasm-opt of the machine.
func TestClangCommands(t *testing.T) {
	for _, debug := range []bool{false, true} {
		j := &job{options: BuildOptions{Debug: debug}, toolchain: cToolchain, dir: t.TempDir(), work: t.TempDir(),
			programs: map[string]string{"clang": "/bin/clang", "wasm-ld": "/bin/wasm-ld"}}
		commands, err := cToolchain.commands(j)
		if err != nil || len(commands) != 2 {
			t.Fatalf("%v, %v; want a command that compiles and one that links", commands, err)
		}
		compile, link := commands[0].String(), commands[1].String()
		if !strings.Contains(compile, " -nostdlibinc ") || !strings.HasPrefix(link, "/bin/wasm-ld -m wasm32 ") || strings.Contains(link, " -O") || strings.Contains(link, "strip-all") == debug {
			t.Errorf("debug %v: %s\n%s", debug, compile, link)
		}
	}
}
