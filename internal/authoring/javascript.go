package authoring

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"strings"

	"github.com/anchor-host/anchor-host/internal/cachedir"
	"github.com/anchor-host/anchor-host/internal/jsbuild"
	"github.com/anchor-host/anchor-host/sdk"
)

const mergeName = "Binaryen's wasm-merge with QuickJS beside it"

var jsToolchain = &Toolchain{
	Language: "js", Title: "JavaScript", Marks: []string{"plugin.js", "plugin.mjs"}, helper: "pdk-js",
	connect: "write a function by the name of the operation: export function filter(request, settings) { … }",
	Programs: []Program{nodeProgram, {
		Name: mergeName, Executables: []string{"wasm-merge"},
		Get: "npm install quickjs-wasi binaryen",
	}},
	build: buildJavaScript,
}

// typescriptToolchain has no file of its own that shows it: plugin.ts may also be AssemblyScript.
var typescriptToolchain = &Toolchain{
	Language: "typescript", Title: "TypeScript", helper: jsToolchain.helper, templates: jsToolchain.Language,
	connect:  jsToolchain.connect,
	Programs: jsToolchain.Programs, build: buildJavaScript,
}

// buildJavaScript builds a project in JavaScript or TypeScript where it is, as its packages are there.
func buildJavaScript(ctx context.Context, j *job) ([]byte, error) {
	entry, err := j.toolchain.entryOf(j.dir)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(sdk.Files, j.toolchain.helper)
	if err != nil {
		return nil, err
	}
	cache, err := cachedir.Folder(cachedir.JavaScript)
	if err != nil {
		return nil, err
	}
	_, permissions := asked(j.manifest)
	return jsbuild.Build(jsbuild.Options{
		Dir: j.dir, Entry: entry, Work: j.work, Cache: cache, Files: files, Permissions: permissions,
		Node: j.program(nodeProgram.Name), Tool: j.program(mergeName),
		Run: func(dir string, args ...string) error { return j.run(ctx, Command{Args: args, Dir: dir}) },
	})
}

// entryOf returns the file of a project whose exports are the operations. In TypeScript plugin.js may be what a
// compiler made of plugin.ts.
func (t *Toolchain) entryOf(dir string) (string, error) {
	names := jsbuild.Entries
	if t.Language == "typescript" {
		names = append([]string{"plugin.ts"}, names...)
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: has none of %s (write one that exports the operations)", dir, strings.Join(jsbuild.Entries, ", "))
}

// helperFile reports whether a file of the helper library belongs into projects. Those of JavaScript have the
// types; the rest is of the host's version.
func (t *Toolchain) helperFile(name string) bool {
	return t.helper != jsToolchain.helper || strings.HasSuffix(name, ".d.ts")
}

// Typed returns a parameter of a function, with its type where the language has types.
func (p Project) Typed(name, typ string) string {
	if p.Language != typescriptToolchain.Language {
		return name
	}
	return name + ": " + typ
}

// Types returns the line that imports types of the helper library, where the language has types.
func (p Project) Types(names string) string {
	if p.Language != typescriptToolchain.Language {
		return ""
	}
	return "\nimport type { " + names + " } from \"./anchor/index\";\n"
}

// Script returns the ending of the file with the operations, for the languages that share the templates of JavaScript.
func (p Project) Script() string {
	if p.Language == typescriptToolchain.Language {
		return "ts"
	}
	return "js"
}
