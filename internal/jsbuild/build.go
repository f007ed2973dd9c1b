// Package jsbuild makes plugins of projects in JavaScript and TypeScript. esbuild reads the
// project: it checks and bundles its files and packages. The result is a script, which runs in the
// engine QuickJS. The engine and the shell around it are made once for each list of services, and kept.
//
//	build.go   Build, from the project to the module
//	bundle.go  the project as one script
//	scope.go   what the script exports, and which functions of the host it uses
//	trace.go   from lines of the script to lines of the project
//	report.go  messages of esbuild as errors of this project
//	shell.go   the engine in its shell
//	cache.go   shells that are kept
//	fill.go    the script in its shell
package jsbuild

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Options say what to build.
type Options struct {
	// Dir is the folder of the project, and Entry the file in it whose exports are the operations.
	Dir, Entry string
	// Work is a temporary folder, and Cache the folder of shells.
	Work, Cache string
	// Files has the sources of the shell: glue.wat, runtime.js, globals.js and check.mjs.
	Files fs.FS
	// Permissions are what the manifest asks for: "http", "kv", "llm" and so on.
	Permissions []string
	// Node is the path of Node.js, and Tool the path of Binaryen's wasm-merge, "" if it is not in PATH.
	Node, Tool string
	// Run runs a command in a folder. Its error says what failed.
	Run func(dir string, args ...string) error
}

// Entries are the names that the file with the operations may have, the best one first.
var Entries = []string{"plugin.js", "plugin.ts", "plugin.mjs"}

// Build returns the module of a project. An error names the file, the line and the remedy, or is one
// of Run or of the file system.
func Build(o Options) ([]byte, error) {
	b, err := o.bundle()
	if err != nil {
		return nil, err
	}
	if err := o.check(b); err != nil {
		return nil, err
	}
	shell, err := o.shell(b)
	if err != nil {
		return nil, err
	}
	return filled(shell, b.script, b.operations)
}

// check runs the top level of a script in Node.js, so that what throws there fails the build and
// not the first start of the plugin. Node.js says why.
func (o *Options) check(b *bundled) error {
	paths := map[string][]byte{"script.js": b.script}
	for _, name := range []string{"runtime.js", "check.mjs"} {
		text, err := fs.ReadFile(o.Files, name)
		if err != nil {
			return err
		}
		paths[name] = text
	}
	for name, text := range paths {
		if err := os.WriteFile(filepath.Join(o.Work, name), text, 0o600); err != nil {
			return err
		}
	}
	if err := o.Run(o.Dir, o.Node, filepath.Join(o.Work, "check.mjs"), filepath.Join(o.Work, "runtime.js"), filepath.Join(o.Work, "script.js")); err != nil {
		return fmt.Errorf("%s: its top level fails: %w", o.Entry, err)
	}
	return nil
}
