package pybuild

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/component"
	"github.com/anchor-host/anchor-host/internal/filecache"
)

// project writes files of a project, with an empty package anchor, and returns how to build it. No
// componentize-py is needed, since the cache never has a base.
func project(t *testing.T, files map[string]string) *Options {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("needs Python")
	}
	o := &Options{Dir: t.TempDir(), Work: t.TempDir(), Cache: t.TempDir(), Python: python, Componentize: "componentize-py", Operations: []string{"filter"}}
	o.Run = func(dir string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if len(out) > 0 {
			t.Logf("%s", out)
		}
		return err
	}
	files["anchor/__init__.py"] = ""
	for name, text := range files {
		path := filepath.Join(o.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// The bundle has all files that the plugin imports, and the base the modules of the standard library.
func TestScan(t *testing.T) {
	o := project(t, map[string]string{
		"plugin.py":     "import json, sched, part.deep\nfrom part import near\nif True:\n    from . import nothing\ndef filter(request, settings): pass\n",
		"part/near.py":  "from .deep import x\ntry:\n    import socket, gone\nexcept ImportError:\n    pass\n",
		"part/deep.py":  "import colorsys\nx = 1\n",
		"part/other.py": "import numpy\n",
		"unused.py":     "import threading\n",
	})
	if err := os.WriteFile(filepath.Join(o.Dir, "part", "__init__.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := o.scan()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range found.Modules {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := "anchor part part.deep part.near plugin"; strings.Join(names, " ") != want {
		t.Errorf("modules %q, want %s", names, want)
	}
	if want := "colorsys json sched"; strings.Join(found.Standard, " ") != want {
		t.Errorf("standard modules %q, want %s", found.Standard, want)
	}
	var m struct{ Path string }
	if err := json.Unmarshal(found.Modules["part.near"], &m); err != nil || m.Path != "part/near.py" {
		t.Errorf("path %q, %v", m.Path, err)
	}
}

// What cannot be a plugin is an error with the file, the line and what to do.
func TestScanErrors(t *testing.T) {
	for text, want := range map[string]string{
		"import os\nimport socket\n":                          "plugin.py:2: import socket: a plugin has no sockets (anchor.http sends requests)",
		"import urllib.request\n":                             "plugin.py:1: import urllib.request: a plugin has no sockets",
		"from concurrent.futures import ThreadPoolExecutor\n": "plugin.py:1: import concurrent.futures: a plugin has no threads",
		"def filter(r, s):\n    import tempfile\n":            "plugin.py:2: import tempfile: a plugin has no files (anchor.kv_get and kv_set keep data)",
		"import nowhere_at_all\n":                             "plugin.py:1: import nowhere_at_all: no such module (pip install it",
		"import compiled\n":                                   "plugin.py:1: import compiled: the package has code in C",
		"def filter(:\n":                                      "plugin.py:1: invalid syntax",
		"def filtre(request, settings): pass\n":               "plugin.py: has no function filter, an operation of plugin.yaml",
		"async def filter(r, s): pass\n":                      "plugin.py: has no function filter, an operation of plugin.yaml",
		"import large\n":                                      "plugin.py:1: import large: the package has code in C, and a plugin can have only packages in Python (large.fast)",
		"x = 1\ny = '\xff'\n":                                 "plugin.py:2: is not utf-8 (save the file as UTF-8)",
		"x = '\x00'\n":                                        "plugin.py:1: source code string cannot contain null bytes",
		"x = " + strings.Repeat("-", 50_000) + "1\n":          "plugin.py:1: ",
	} {
		o := project(t, map[string]string{
			"plugin.py": text, "compiled.abi3.so": "", "large/fast.abi3.so": "",
			"large/__init__.py": "try:\n    from . import fast\nexcept ImportError:\n    pass\n" + strings.Repeat("#", 5<<20),
		})
		if _, err := Build(*o); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// Sources are read as Python reads them, and a function may be defined in many ways.
func TestScanFindsFunctions(t *testing.T) {
	for _, text := range []string{
		"\ufefffilter = 1\n",
		"# -*- coding: latin-1 -*-\nx = '\xe9'\ndef filter(r, s): pass\n",
		"def filter(r, s):\r\n    pass\r\n",
		"from other import *\n",
		"filter: object = print\n",
		"try:\n    import gone\n    def filter(r, s): pass\nexcept ImportError:\n    if True:\n        x, filter = 1, 2\n",
	} {
		o := project(t, map[string]string{"plugin.py": text, "other.py": "def filter(r, s): pass\n", "gone.py": ""})
		if _, err := o.scan(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Packages may import what they use little of, such as a lock. The project's own files may not.
func TestScanLetsPackagesImportThreading(t *testing.T) {
	packages := project(t, map[string]string{
		"theirs/__init__.py": "from threading import Lock\nimport tempfile\ntry:\n    from . import fast\nexcept ImportError:\n    pass\n", "theirs/fast.abi3.so": "",
	})
	t.Setenv("PYTHONPATH", packages.Dir)
	o := project(t, map[string]string{"plugin.py": "import theirs\ndef filter(r, s): pass\n"})
	found, err := o.scan()
	if err != nil || !slices.Contains(found.Optional, "threading") || !slices.Contains(found.Optional, "tempfile") {
		t.Errorf("found %+v, %v", found, err)
	}
	// What is missed only in a call says so then.
	if !strings.Contains(string(found.Modules["theirs.fast"]), "theirs.fast: the package has code in C") {
		t.Errorf("module %s", found.Modules["theirs.fast"])
	}
	o = project(t, map[string]string{"plugin.py": "import theirs, threading\ndef filter(r, s): pass\n"})
	if _, err := o.scan(); err == nil || !strings.Contains(err.Error(), "plugin.py:1: import threading") {
		t.Errorf("error %v", err)
	}
}

// The first line of what fails is the exception, and names what is wrong.
func TestFailuresAreShown(t *testing.T) {
	anchor, err := os.ReadFile("../../sdk/pdk-py/__init__.py")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		"return {'items': {1, 2}}":                                   "!TypeError: Object of type set is not JSON serializable",
		"raise ExceptionGroup('many', [ValueError('a')])":            "!ExceptionGroup: many (1 sub-exception)",
		"e = ValueError('x')\n    e.add_note('a note')\n    raise e": "!ValueError: x (a note)\nTraceback",
		"raise ValueError('x' * 10**7)":                              "!ValueError: " + strings.Repeat("x", 3000),
		"open('/etc/passwd')":                                        "!FileNotFoundError: [Errno 44] a plugin has no files (anchor.kv_get",
		"import pathlib; pathlib.Path('x').read_text()":              "!FileNotFoundError: [Errno 44] a plugin has no files (anchor.kv_get",
		"anchor.kv_get('x')":                                         "!PermissionError: anchor.kv_get: plugin.yaml does not ask for the permission (kind: kv)",
	} {
		sources := map[string]string{"plugin": "import anchor\ndef filter(r, s):\n    " + body + "\n", "anchor": string(anchor)}
		modules := map[string]json.RawMessage{}
		for name, source := range sources {
			m, _ := json.Marshal(map[string]any{"path": name + ".py", "package": false, "source": source})
			modules[name] = m
		}
		text, err := bundled(modules, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := project(t, map[string]string{
			"runner.py": string(runner), "bundle.json": string(text), "wit_world.py": "def call(op, data): return bytes(8)\nclass WitWorld: pass\n",
			"run.py": "data = open('bundle.json', 'rb').read()\nimport sys, runner\nout = sys.stdout.buffer\nw = runner.WitWorld()\nassert not w.boot(data)\n" +
				"out.write(w.run(runner.OPERATIONS.index('filter'), b'{}'))\n",
		})
		if o.Run("", o.Python, "-c", "ExceptionGroup") != nil {
			t.Skip("needs Python 3.11")
		}
		cmd := exec.CommandContext(t.Context(), o.Python, "run.py")
		cmd.Dir = o.Dir
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), want) || len(out) > 10_000 {
			t.Errorf("%s: %v, %.300s", body, err, out)
		}
	}
}

// The shell is a module for every set of permissions, and imports no service without one.
func TestShell(t *testing.T) {
	imports := []component.Import{
		{Interface: "$root", Name: "call", Type: "\x60\x04\x7f\x7f\x7f\x7f\x00"},
		{Interface: "wasi:clocks/wall-clock@0.2.9", Name: "now", Type: "\x60\x01\x7f\x00"},
		{Interface: "wasi:sockets/tcp@0.2.9", Name: "connect", Type: "\x60\x01\x7f\x01\x7f"},
	}
	for _, permissions := range [][]string{nil, {"http"}, {"kv", "search"}} {
		wasm, err := shell(imports, 65536, permissions)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range callable {
			if c.permission == "count_tokens" {
				continue // an operation has this name too
			}
			wanted := c.permission == "" || slices.Contains(permissions, c.permission)
			if got := bytes.Contains(wasm, []byte(c.name)); got != wanted {
				t.Errorf("permissions %q: %s is imported: %t", permissions, c.name, got)
			}
		}
	}
}

// A base gets a bundle of any size, and loses the operations that the plugin has not.
func TestFill(t *testing.T) {
	wasm, err := shell(nil, 65536, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bundle := range []string{"", "{}", strings.Repeat("x", 70_000)} {
		out, err := fill(wasm, []byte(bundle), []string{"filter", "init"})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(out, []byte(bundle)) || bytes.Contains(out, []byte(bundleMark)) {
			t.Errorf("%d bytes: the bundle is not the end of the module", len(bundle))
		}
		for name, want := range map[string]bool{"anchor_filter": true, "anchor_init": true, "anchor_rerank": false, "anchor_abi_1": true, "anchor_mailbox": true} {
			if bytes.Contains(out, []byte(name)) != want {
				t.Errorf("%s is exported: %t", name, !want)
			}
		}
	}
	if _, err := fill(wasm[:len(wasm)-1], nil, nil); err == nil {
		t.Error("no error about a base without a place for the bundle")
	}
	if _, err := FromComponent([]byte("\x00asm\x01\x00\x00\x00"), nil, nil); !errors.Is(err, component.ErrMalformed) {
		t.Errorf("a core module: error %v", err)
	}
}

// What is kept is made once. A damaged file is made anew, and old files go.
func TestKept(t *testing.T) {
	o := &Options{Cache: filepath.Join(t.TempDir(), "cache")}
	made := 0
	get := func(name string) {
		t.Helper()
		data, err := o.cache().Get(name, func() ([]byte, error) { made++; return []byte("made"), nil })
		if err != nil || string(data) != "made" {
			t.Fatalf("%q, %v", data, err)
		}
	}
	get("a")
	get("a")
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	if err := os.WriteFile(filepath.Join(o.Cache, "a"), bytes.Repeat([]byte{1}, 40), 0o600); err != nil {
		t.Fatal(err)
	}
	get("a")
	if made != 2 {
		t.Errorf("a damaged file was used")
	}
	for i := range mostKept + 3 {
		get(filecache.Key("other", string(rune(i))))
	}
	if entries, err := os.ReadDir(o.Cache); err != nil || len(entries) != mostKept {
		t.Errorf("%d files are kept, %v", len(entries), err)
	}
	fails := errors.New("fails")
	if _, err := o.cache().Get("b", func() ([]byte, error) { return nil, fails }); !errors.Is(err, fails) {
		t.Errorf("error %v", err)
	}
}
