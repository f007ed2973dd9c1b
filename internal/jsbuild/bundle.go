package jsbuild

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// bundled is a project as one script.
type bundled struct {
	// script is what the engine runs.
	script []byte
	// operations are the operations that it exports, in the order of the contract.
	operations []string
	// letters name the functions of the host that it uses, see imported.
	letters string
}

// The most that a bundle may have, in bytes. The engine reads all of it at each start without an image.
const maxScript = 16 << 20

// globalsFile has the globals of browsers that the engine lacks. A script gets those that it uses.
const globalsFile = "globals.js"

// bundle reads a project with all that it imports.
func (o *Options) bundle() (*bundled, error) {
	globals := filepath.Join(o.Work, "anchor", globalsFile)
	text, err := o.globals()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(globals), 0o700)
	}
	if err == nil {
		err = os.WriteFile(globals, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	r := api.Build(api.BuildOptions{
		AbsWorkingDir: o.Dir, EntryPoints: []string{o.Entry}, Outfile: filepath.Join(o.Dir, "anchor.script.js"),
		Bundle: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2024,
		Metafile: true, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent,
		Inject: []string{globals}, Supported: map[string]bool{"top-level-await": false},
		Define: map[string]string{
			hostName: hostAlias, "globalThis." + hostName: hostAlias, "global": "globalThis", "self": "globalThis",
			"process.env.NODE_ENV": `"production"`,
		},
		Loader: map[string]api.Loader{".txt": api.LoaderText, ".wasm": api.LoaderBinary},
	})
	if len(r.Errors) > 0 {
		return nil, o.reported(r.Errors)
	}
	var script, mapping []byte
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			mapping = f.Contents
		} else {
			script = f.Contents
		}
	}
	return o.scripted(o.placed(script), mapping, r.Metafile)
}

// placed gives the globals a name that every build has: esbuild begins them with a comment that names the work folder.
func (o *Options) placed(script []byte) []byte {
	name := "anchor/" + globalsFile
	before, after, found := bytes.Cut(script, []byte(filepath.Base(o.Work)+"/"+name+"\n"))
	if !found {
		return script
	}
	line := bytes.LastIndexByte(before, '\n') + 1
	return slices.Concat(before[:line], []byte("// "+name+"\n"), after)
}

// refusedFetch is fetch for plugins that may send no requests.
const refusedFetch = "export async function fetch() { throw new TypeError('fetch: the plugin may send no requests (in plugin.yaml: permissions: [{kind: http, hosts: [HOST], reason: WHY}])'); }\n"

// globals returns the globals of the engine's shell. Requests of fetch are sent only by plugins that may send some.
func (o *Options) globals() ([]byte, error) {
	text, err := fs.ReadFile(o.Files, globalsFile)
	if err != nil || slices.Contains(o.Permissions, "http") {
		return text, err
	}
	before, _, _ := strings.Cut(string(text), "// with http:")
	return []byte(before + refusedFetch), nil
}

// scripted makes the script of what esbuild wrote: a module that ends with its exports.
func (o *Options) scripted(module, mapping []byte, metafile string) (*bundled, error) {
	body, locals, err := splitExports(string(module))
	if err != nil {
		return nil, err
	}
	b := &bundled{}
	for _, name := range operations {
		if locals[name] != "" {
			b.operations = append(b.operations, name)
		}
	}
	if len(b.operations) == 0 {
		return nil, o.noOperation(locals, metafile)
	}
	rows, err := trace(mapping)
	if err != nil {
		return nil, err
	}
	if b.letters, err = o.services(body, rows); err != nil {
		return nil, err
	}
	table, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(string(table))
	if err != nil {
		return nil, err
	}
	var exports []string
	for _, name := range b.operations {
		exports = append(exports, name+": "+locals[name])
	}
	// The body begins on the first line, so that lines of the script are those of the module.
	b.script = fmt.Appendf(nil, "anchorRegister(function(%s, anchorRuntime){\"use strict\"; %s\nreturn {%s}}, %s);", hostAlias, body, strings.Join(exports, ", "), quoted)
	if len(b.script) > maxScript {
		return nil, fmt.Errorf("%s: is a script of %d bytes with all that it imports; %d are possible (import less)", o.Entry, len(b.script), maxScript)
	}
	return b, nil
}
