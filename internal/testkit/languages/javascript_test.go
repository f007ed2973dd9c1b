package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/pipeline"
)

// buildJS builds a project in JavaScript or TypeScript, or skips the test.
func buildJS(t *testing.T, dir string) *authoring.Built {
	t.Helper()
	if named := os.Getenv(languagesVar); named != "all" && !slices.Contains(strings.Split(named, ","), "js") {
		t.Skipf("set %s=js to use its toolchain", languagesVar)
	}
	built, err := authoring.Build(t.Context(), authoring.BuildOptions{Dir: dir, Output: filepath.Join(t.TempDir(), "plugin.wasm"), Messages: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// What a program in TypeScript does is what its author reads in its source: promises, timers, globals,
// and failures with the author's lines.
func TestTypeScript(t *testing.T) {
	h, err := loadHelper(t, buildJS(t, "testdata/typescript").Spec, host.PluginConfig{Limits: host.Limits{Timeout: 30 * time.Second, Fuel: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Classifier(h.Plugin, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"wait": "waited", "then": "after", "order": "micro,one,each,each", "clone": "true,0,1,g,2,true", "uuid": "36one", "typeof": "functionfunctionundefined",
		"encode": "97,195,169,240,159,152,128,239,191,189|\ufffdA\ufffd😀|😀", "url": "https://example.com/p/a%20b?x=1&y=%C3%A9&k=v+w#z éhiaGk=",
		"deep": "!TypeError: cannot read property 'a' of null", "async-throw": "!TypeError: cannot read property 'a' of null",
		"cause": "!Error: outer; caused by TypeError: cannot read property 'a' of null", "object": `!{"code":42}`, "floating": "!Error: nobody waits",
		"never": "!Error: classify: waits for a promise that nothing can settle", "late": "!Error: of a timer", "loop": "!fuel",
		"intl": "!ReferenceError: Intl is not defined (plugins have none; format numbers and dates yourself)",
	} {
		for range 2 { // a failure leaves the engine usable
			h.logs.Reset()
			label, err := c.Classify(t.Context(), &pipeline.Query{Text: query})
			if text, fails := strings.CutPrefix(want, "!"); fails && (err == nil || !strings.Contains(err.Error(), text)) || !fails && (err != nil || label != want) {
				t.Errorf("%s: %q, %v; want %s", query, label, err, want)
			}
			for place, queries := range map[string][]string{"lib.ts:8)": {"deep", "cause", "async-throw"}, "plugin.ts:": {"deep", "cause", "floating", "late"}} {
				if slices.Contains(queries, query) && !strings.Contains(h.logs.String(), place) {
					t.Errorf("%s: the log lacks %s: %s", query, place, h.logs)
				}
			}
		}
	}
}

// Metadata that an edit copies keeps its numbers, and an edit of nothing is refused.
func TestEditsOfMetadata(t *testing.T) {
	h, err := loadHelper(t, buildJS(t, "testdata/typescript").Spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	items := func(metadata map[string]any) []pipeline.Item {
		return []pipeline.Item{{ID: "a", Content: "x", Source: pipeline.SourceRetrieval, Priority: 5, Metadata: metadata}}
	}
	const id = int64(9007199254740993)
	for _, c := range []struct {
		do       string
		metadata map[string]any
		member   string
		want     any
		refused  string
	}{
		{"copy", map[string]any{"id": id, "v": 1.0}, "id", id, ""},
		{"copy", map[string]any{"id": id, "v": 1.0}, "v", 1.0, ""},
		{"copy", map[string]any{"id": 7.5}, "seen", true, ""},
		{"renamed", map[string]any{"id": id}, "other", id, ""},
		{"renamed", map[string]any{"id": id, "twin": id - 2, "third": id + 1}, "other", id, ""},
		{"renamed", map[string]any{"id": int64(1<<60 + 1), "twin": int64(1<<60 + 2)}, "", nil, "are one number in JavaScript"},
		{"misspelt", nil, "", nil, "process: edits[0] changes nothing"},
	} {
		got, err := h.run(t, map[string]any{"do": c.do}, items(c.metadata)...)
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s %v: got %v, want %q", c.do, c.metadata, err, c.refused)
			}
		case err != nil || len(got) != 1 || got[0].Metadata[c.member] != c.want:
			t.Errorf("%s %v: got %+v, %v; want %s %v", c.do, c.metadata, got, err, c.member, c.want)
		}
	}
}

// The top level runs at the build: what throws there is refused with the author's line.
func TestTopLevelThatFails(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plugin.yaml", "abi: 1\nname: top\nversion: 0.1.0\nlicense: MIT\noperations: {classify: {}}\n")
	buildJS(t, "testdata/typescript") // skips without the toolchain
	for source, want := range map[string][]string{
		"// a comment\n\nconst table = null;\nconst size = table.size;\nexport const classify = () => size;": {"plugin.js:4", "null"},
		"const p = process.env.HOME;\nexport const classify = () => p;":                                      {"plugin.js:1", "process is not defined"},
		"export const classify = 7;":                  {"classify is exported, and is no function"},
		"for (;;);\nexport const classify = () => 1;": {"not done within 5 seconds"},
		"export const classify = () => 1;":            nil,
	} {
		write("plugin.js", source)
		var said strings.Builder
		_, err := authoring.Build(t.Context(), authoring.BuildOptions{Dir: dir, Messages: &said})
		if (err == nil) != (want == nil) {
			t.Errorf("%q: %v", source, err)
		}
		for _, part := range want {
			if !strings.Contains(said.String(), part) {
				t.Errorf("%q: said %s; want %q", source, said.String(), part)
			}
		}
	}
}

// The shell changes the case of long texts in place of the engine, with the same result. Without the permission
// for requests, fetch says which one it needs.
func TestCaseOfLongTexts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plugin.yaml": "abi: 1\nname: cases\nversion: 0.1.0\nlicense: MIT\noperations: {classify: {}}\n",
		"plugin.js": `const one = (text, name) => Array.from(text, (c) => c[name]()).join("");
export async function classify() {
  const wrong = [], ascii = Array.from({ length: 128 }, (_, i) => String.fromCharCode(i)).join("").repeat(3);
  for (let n = 50; n < 90; n++) {
    for (const text of [ascii.slice(n, 2 * n + 7), ascii.slice(n) + "É"]) {
      for (const name of ["toLowerCase", "toUpperCase"]) if (text[name]() !== one(text, name)) wrong.push(name + n);
    }
  }
  if (!"ΑΣ".repeat(50).toLowerCase().endsWith("ας") || "ß".repeat(70).toUpperCase() !== "SS".repeat(70)) wrong.push("other letters");
  if ("A\ud800".repeat(70).toLowerCase() !== "a\ud800".repeat(70)) wrong.push("half a character");
  if (String.prototype.toLowerCase.call(new String("AB".repeat(50))) !== "ab".repeat(50)) wrong.push("object");
  try { String.prototype.toLowerCase.call(null); wrong.push("null"); } catch {}
  await fetch("https://example.com").catch((e) => { if (!e.message.includes("permissions: [{kind: http")) wrong.push(e.message); });
  return { label: "wrong: " + wrong };
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := loadHelper(t, buildJS(t, dir).Spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Classifier(h.Plugin, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if label, err := c.Classify(t.Context(), &pipeline.Query{Text: "x"}); err != nil || label != "wrong: " {
		t.Errorf("%q, %v", label, err)
	}
}

// Packages of npm are bundled and run as they are.
func TestPackagesOfNPM(t *testing.T) {
	packages, err := filepath.Abs("../../../build/_toolchains/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(packages, "zod")); errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("needs the packages of tools/toolchains/js.sh")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plugin.yaml": "abi: 1\nname: npm\nversion: 0.1.0\nlicense: MIT\noperations: {classify: {}}\n",
		"plugin.js": `import { XMLParser } from "fast-xml-parser";
import { stemmer } from "stemmer";
import { z } from "zod";

const Page = z.object({ title: z.string().min(1), count: z.coerce.number() });

export function classify({ query }) {
  const { page } = new XMLParser().parse(query.query_str);
  const { title, count } = Page.parse(page);
  return { label: stemmer(title) + (count + 1) };
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	h, err := loadHelper(t, buildJS(t, dir).Spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Classifier(h.Plugin, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	label, err := c.Classify(t.Context(), &pipeline.Query{Text: "<page><title>running</title><count>41</count></page>"})
	if err != nil || label != "run42" {
		t.Errorf("got %q, %v", label, err)
	}
	if _, err = c.Classify(t.Context(), &pipeline.Query{Text: "<page><title></title></page>"}); err == nil || !strings.Contains(err.Error(), "title") {
		t.Errorf("a page without a title: %v", err)
	}
}

// fetch sends requests with the permission of the plugin, and says why there is no answer.
func TestFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method+" "+r.Header.Get("X-Sent"))
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"got":%q}`, body)
	}))
	defer server.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plugin.yaml": "abi: 1\nname: fetching\nversion: 0.1.0\nlicense: MIT\npermissions: [{kind: http, hosts: [\"http://127.0.0.1:*\"], methods: [POST], reason: \"asks a server\"}]\noperations: {classify: {settings: {type: object, properties: {url: {type: string}}}}}\n",
		"plugin.js": `export async function classify({ query }, { url }) {
  const [a, b] = await Promise.all([1, 2].map((n) => fetch(new URL("/x", url), { method: "post", headers: { "X-Sent": n }, body: query.query_str })));
  return { label: [a.ok, a.status, a.headers.get("x-method"), b.headers.get("X-METHOD"), (await b.json()).got].join() };
}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := loadHelper(t, buildJS(t, dir).Spec, host.PluginConfig{Grants: host.Grants{
		HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Methods: []string{"POST"}, Private: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{server.URL: "true,201,POST 1,POST 2,wörd", "http://127.0.0.1:1": "!TypeError: fetch failed; caused by Error: connect"} {
		c, err := steps.Classifier(h.Plugin, steps.Options{Settings: map[string]any{"url": url}})
		if err != nil {
			t.Fatal(err)
		}
		label, err := c.Classify(t.Context(), &pipeline.Query{Text: "wörd"})
		if text, fails := strings.CutPrefix(want, "!"); fails && (err == nil || !strings.Contains(err.Error(), text)) || !fails && (err != nil || label != want) {
			t.Errorf("%s: %q, %v; want %s", url, label, err, want)
		}
	}
}
