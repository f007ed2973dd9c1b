package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// planOf returns a plan in a home folder, with the receipts in another.
func planOf(t *testing.T, client, home, command string, project bool) *Plan {
	t.Helper()
	o := Options{Command: command, Home: home, Receipts: filepath.Join(home, "receipts"), Env: func(string) string { return "" }}
	if project {
		o.Project = filepath.Join(home, "project")
	}
	p, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func apply(t *testing.T, changes func() ([]Change, error)) int {
	t.Helper()
	list, err := changes()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := list[i].Apply(); err != nil {
			t.Fatal(err)
		}
	}
	return len(list)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read returns a file, and "none" if there is none.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// settings are files as people and programs write them.
var settings = []string{
	"none", "", "{}", "{}\n", "{ }", "{\n}\n", "{\n\n}",
	`{"a":1}`, `{"a": 1, "b": [1, 2]}`, "{\n  \"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"b\": {}\n}", "{\r\n  \"a\": 1\r\n}\r\n",
	"{\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
	"{\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]},\n  \"z\": null\n}\n",
	"{\n    \"mcpServers\": {\n        \"x\": {\"command\": \"x\"}\n    },\n    \"servers\": {\"y\": {\"command\": \"y\"}}\n}\n",
	"// mine\n{\n  // first\n  \"a\": 1, // why\n  /* b */ \"b\": 2 // last\n  // end\n}\n// after\n",
	"{\n  \"a\": 1,\n  \"servers\": {\n    \"y\": {}, // trailing\n  },\n}\n",
	"\n\n  {\"a\": \"\\u00e9 // no comment {\"}  \n\n",
	"\ufeff{\r\n  \"a\": 1\r\n}\r\n", "\ufeff",
}

func TestConnectAndRemoveLeaveBytesEqual(t *testing.T) {
	for _, client := range Names {
		for _, project := range []bool{false, true} {
			for i, text := range settings {
				if project && i%3 > 0 { // each write waits for the disk
					continue
				}
				t.Run(fmt.Sprintf("%s %v %d", client, project, i), func(t *testing.T) {
					home := t.TempDir()
					p := planOf(t, client, home, "/usr/bin/anchor-host", project)
					before := map[string]string{}
					for _, target := range p.targets {
						if before[target.path] = text; target.toml {
							before[target.path] = []string{"none", "", "# mine\n[a]\nb = 1 # c", "x = 1\n\n", "\ufeffa = 1\r\n[b]\r\n", "\ufeff"}[i%6]
						}
						if text := before[target.path]; text != "none" {
							write(t, target.path, text)
						}
					}
					if n := apply(t, p.Connect); n != len(p.targets) {
						t.Fatalf("%d of %d files changed", n, len(p.targets))
					}
					for _, target := range p.targets {
						now := read(t, target.path)
						if !target.toml {
							checkEntries(t, &target, now)
						}
						if old := before[target.path]; old != "none" && !subsequence(old, now) {
							t.Errorf("bytes of others are gone:\n%s\nbefore:\n%s", now, old)
						}
					}
					if n := apply(t, p.Connect); n != 0 {
						t.Errorf("connecting again changes %d files", n)
					}
					upgraded := planOf(t, client, home, "/opt/new path/anchor-host", project)
					if n := apply(t, upgraded.Connect); n != len(p.targets) {
						t.Errorf("an upgrade changes %d files", n)
					}
					if all := read(t, p.targets[0].path); strings.Contains(all, "/usr/bin/anchor-host") || !strings.Contains(all, "/opt/new path/anchor-host") {
						t.Errorf("the old path is there after an upgrade: %s", all)
					}
					apply(t, upgraded.Remove)
					for path, want := range before {
						if got := read(t, path); got != want {
							t.Errorf("after removal:\n%q\nwant:\n%q", got, want)
						}
					}
					if n := apply(t, upgraded.Remove); n != 0 {
						t.Errorf("removing again changes %d files", n)
					}
				})
			}
		}
	}
}

// checkEntries checks that a file has what the client gets, as JSON with comments.
func checkEntries(t *testing.T, target *target, text string) {
	t.Helper()
	plain, err := hujson.Standardize(bytes.TrimPrefix([]byte(text), bom))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var doc map[string]any
	if err := json.Unmarshal(plain, &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range target.entries {
		var v any = doc
		for _, name := range e.path {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		if v == nil {
			t.Errorf("no %s in\n%s", strings.Join(e.path, "."), text)
		}
		if list, ok := v.([]any); e.list && (!ok || len(list) == 0) {
			t.Errorf("%s: %v", strings.Join(e.path, "."), v)
		}
	}
}

// subsequence reports whether all bytes of a text but white space are in another, in their order.
func subsequence(text, in string) bool {
	i := 0
	for _, r := range text {
		if strings.ContainsRune(" \t\r\n", r) {
			continue
		}
		at := strings.IndexRune(in[i:], r)
		if at < 0 {
			return false
		}
		i += at
	}
	return true
}

func TestRemovalKeepsWhatOthersChangedSince(t *testing.T) {
	home := t.TempDir()
	p := planOf(t, "claude", home, "/usr/bin/anchor-host", false)
	path := p.targets[0].path
	write(t, path, "{\n  \"a\": 1 // mine\n}\n")
	apply(t, p.Connect)
	write(t, path, strings.Replace(read(t, path), "\"a\": 1", "\"a\": 2,\n  \"b\": [3]", 1))
	apply(t, p.Remove)
	if got, want := read(t, path), "{\n  \"a\": 2,\n  \"b\": [3] // mine\n}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A program that writes the file anew.
	apply(t, p.Connect)
	plain, err := hujson.Standardize([]byte(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(plain, &doc); err != nil {
		t.Fatal(err)
	}
	anew, _ := json.MarshalIndent(doc, "", "    ")
	write(t, path, string(anew))
	apply(t, p.Remove)
	if got, want := read(t, path), "{\n    \"a\": 2,\n    \"b\": [\n        3\n    ]\n}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	codex := planOf(t, "codex", home, "/usr/bin/anchor-host", false)
	file := codex.targets[1].path
	write(t, file, "x = 1\n")
	apply(t, codex.Connect)
	write(t, file, read(t, file)+"\n# theirs\n[theirs]\ny = 2\n")
	apply(t, codex.Remove)
	if got, want := read(t, file), "x = 1\n\n# theirs\n[theirs]\ny = 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"broken":          {`{"a": `, "not valid JSON"},
		"no object":       {`[1]`, "not a JSON object"},
		"text after":      {`{} {}`, "not valid JSON"},
		"hooks is a list": {`{"hooks": []}`, "hooks is no object"},
		"event is a map":  {`{"hooks": {"Stop": {}}}`, "hooks.Stop is no list"},
		"deep":            {strings.Repeat("[", 1<<20), "nested deeper"},
		"binary":          {"\x00\xff", "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, "claude", t.TempDir(), "/usr/bin/anchor-host", false)
			path := p.targets[0].path
			write(t, path, tt.text)
			if _, err := p.Connect(); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
			if got := read(t, path); got != tt.text {
				t.Errorf("the file changed: %q", got)
			}
		})
	}
	home := t.TempDir()
	p := planOf(t, "claude", home, "/usr/bin/anchor-host", false)
	refused := func(want string) {
		t.Helper()
		if _, err := p.Connect(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	path := p.targets[0].path
	write(t, path, "{}")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	refused("read-only")
	if err := os.Rename(path, path+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".real", path); err != nil {
		t.Skip(err)
	}
	refused("is a link")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, p.targets[1].path, `{"mcpServers": {"anchor-host": {"command": "something-else"}}}`)
	refused("is not ours")
}

func TestOthersMeanwhile(t *testing.T) {
	p := planOf(t, "cursor", t.TempDir(), "/usr/bin/anchor-host", false)
	write(t, p.targets[0].path, "{}")
	list, err := p.Connect()
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.targets[0].path, `{"new": 1}`)
	if err := list[0].Apply(); err == nil || read(t, p.targets[0].path) != `{"new": 1}` {
		t.Errorf("error %v, file %q", err, read(t, p.targets[0].path))
	}
}

func TestDiff(t *testing.T) {
	p := planOf(t, "cursor", t.TempDir(), "/usr/bin/anchor-host", false)
	write(t, p.targets[0].path, "{\n  \"a\": 1\n}\n")
	list, err := p.Connect()
	if err != nil {
		t.Fatal(err)
	}
	want := "  {\n-   \"a\": 1\n+   \"a\": 1,\n+   \"mcpServers\": {\n"
	if got := list[0].Diff(); !strings.Contains(got, want) || !strings.HasSuffix(got, "+   }\n  }\n") {
		t.Errorf("%s", got)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range settings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries := []entry{{path: []string{"servers", serverName}, value: members{{"command", "/x/anchor-host"}}}, {path: []string{"hooks", "Stop"}, list: true, value: members{{"command", "/x/anchor-host hook claude"}}}}
		base, err := stripJSON(data, entries)
		if err != nil {
			return
		}
		with, err := addJSON(base, entries)
		if err != nil {
			return
		}
		if _, err := hujson.Parse(bytes.TrimPrefix(with, bom)); err != nil {
			t.Fatalf("%v: %q", err, with)
		}
		without, err := stripJSON(with, entries)
		if err != nil {
			t.Fatal(err)
		}
		a, err1 := hujson.Standardize(bytes.TrimPrefix(base, bom))
		b, err2 := hujson.Standardize(bytes.TrimPrefix(without, bom))
		if err1 != nil || err2 != nil || !subsequence(string(b), string(a)) {
			t.Fatalf("%q, was %q", without, base)
		}
	})
}

// Claude Code reads no settings with comments, so connect says so, also when nothing else is to be done.
func TestCommentsThatClaudeDoesNotRead(t *testing.T) {
	for text, warns := range map[string]bool{"{\"a\": 1}": false, "\ufeff{}": false, "{\"a\": 1,}": true, "// mine\n{}": true} {
		home := t.TempDir()
		write(t, filepath.Join(home, ".claude", "settings.json"), text)
		for range 2 {
			p := planOf(t, "claude", home, "/usr/bin/anchor-host", false)
			apply(t, p.Connect)
			if strings.Contains(p.Next, "settings.json") != warns {
				t.Errorf("%q: %q", text, p.Next)
			}
		}
	}
}

// Entries that somebody edited: ours go, what others added stays.
func TestRemoveTakesOnlyOurs(t *testing.T) {
	const ours, theirs = `{"command": "'/opt/a & b/anchor-host' hook claude || true"}`, `{"command": "say done"}`
	for before, after := range map[string]string{
		`[{"hooks": [` + ours + `,` + theirs + `]}]`:                                 `[{"hooks": [` + theirs + `]}]`,
		`[{"hooks": [` + theirs + `, ` + ours + `]}]`:                                `[{"hooks": [` + theirs + `]}]`,
		`[{"hooks": [{"command": "say; /usr/bin/anchor-host hook claude"}]}]`:        "",
		`[{"hooks": [{"command": "'/usr/bin/anchor-host' hook claude || say no"}]}]`: "",
	} {
		home := t.TempDir()
		path := filepath.Join(home, ".claude", "settings.json")
		write(t, path, `{"hooks": {"Stop": `+before+`}}`)
		if after == "" {
			after = before
		}
		p := planOf(t, "claude", home, "/usr/bin/anchor-host", false)
		apply(t, p.Remove)
		if got := read(t, path); got != `{"hooks": {"Stop": `+after+`}}` {
			t.Errorf("%s\nbecame\n%s", before, got)
		}
		apply(t, p.Connect)
		apply(t, p.Remove)
		if got := read(t, path); got != `{"hooks": {"Stop": `+after+`}}` {
			t.Errorf("connected and removed: %s\nbecame\n%s", before, got)
		}
	}
}
