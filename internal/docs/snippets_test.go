package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/authoring"
)

// snippetLanguage says how the code of a language in the documents becomes a plugin.
type snippetLanguage struct {
	// file is the source of a plugin, and programs are those that build it.
	file     string
	programs []string
	// whole is in the code of every complete plugin. top begins code that stands outside of functions.
	whole, top string
	// head and tail are around the rest; {CALLS} in tail stands for a call of each piece. frame is
	// a function for a piece: its number, and the piece.
	head, tail, call, frame string
	// spans are what the text of authoring.md says in passing: the words, and a piece with them.
	spans map[string]string
}

var snippetLanguages = map[string]snippetLanguage{
	"go": {
		file: "main.go", whole: "package main",
		head: "package main\n\nimport (\n\t\"errors\"\n\t\"github.com/anchor-host/anchor-host/sdk/pdk-go\"\n\t\"github.com/anchor-host/anchor-host/sdk/pdk-go/filter\"\n)\n\nfunc main() {}\n",
		tail: "func init() { filter.Each(func(it pdk.Item, _ *struct{}) bool {{CALLS} return true }) }\n",
		call: " _ = f%d();", frame: "func f%d() error {\n%s\nreturn nil }\n",
		spans: map[string]string{"`pdk.Log` in Go": `pdk.Log(pdk.LevelInfo, "text")`, "`errors.New` in Go": `if false { return errors.New("no") }`},
	},
	"rust": {
		file: "src/lib.rs", programs: []string{"cargo"}, whole: "anchor::plugin!",
		head: "#![allow(unused, unreachable_code)]\nuse anchor::{host, Error, Request, Result};\nanchor::plugin! { filter: keep }\n",
		tail: "fn keep(r: &Request) -> Result<Vec<u32>> {{CALLS} Ok(vec![]) }\n",
		call: " f%d(r)?;", frame: "fn f%d(r: &Request) -> Result<()> {\nlet other = host::HttpRequest::get(\"https://a.example\");\n%s\nOk(()) }\n",
		spans: map[string]string{"`anchor::log_info(\"…\")` in Rust": `anchor::log_info("…");`, "`Error::from(\"…\")` in Rust": `if r.rows().count() > 99 { return Err(Error::from("…")); }`},
	},
	"c": {
		file: "plugin.c", programs: []string{"clang", "wasm-ld"}, whole: "ANCHOR_FILTER",
		head: "#include \"anchor_services.h\"\n",
		tail: "static int keep(anchor_request *r, anchor_reply *c) {{CALLS} return ANCHOR_NO_CHANGE; }\nANCHOR_FILTER(keep)\n",
		call: " f%d(r);", frame: "static int f%d(anchor_request *r) {\n%s\nreturn ANCHOR_DONE; }\n",
		spans: map[string]string{"`anchor_log_info(anchor_str(\"…\"))` in C": `anchor_log_info(anchor_str("…"));`, "`return anchor_fail(\"…\")` in C": `return anchor_fail("…");`},
	},
	"zig": {
		file: "plugin.zig", programs: []string{"zig"}, whole: "anchor.plugin(", top: "pub const ",
		head: "const anchor = @import(\"anchor/anchor.zig\");\nconst a = \"https://a.example\";\nconst b = a;\ncomptime { anchor.plugin(.{ .filter = keep }); }\n",
		tail: "fn keep(_: *const anchor.Request, _: *anchor.Changes) anchor.Error!void {{CALLS} }\n",
		call: " try f%d();", frame: "fn f%d() anchor.Error!void {\n%s\n}\n",
		spans: map[string]string{"`anchor.fail(\"why\")`": `return anchor.fail("why");`, "`pub const panic = anchor.panic;` writes": "pub const panic = anchor.panic;"},
	},
	"ts": {
		file: "plugin.ts", programs: []string{"asc"}, whole: "import {", top: "export ",
		head: "import { Changes, DONE, embed, fail, http, httpBatch, HttpRequest, inBatch, inDocument, inJSON, llm, LlmRequest, NO_CHANGE, quote, Request, Search, search, Value } from \"./anchor/index\";\n" +
			"export { anchor_abi_1, anchor_mailbox, anchor_reserve } from \"./anchor/serve\";\nconst other = new HttpRequest(\"https://a.example\");\n" +
			"export function anchor_filter(): i32 { return inJSON(filter); }\nexport function anchor_batch_filter(at: usize, n: u32): i32 { return inBatch(filter, at, n); }\n",
		tail: "function filter(request: Request, changes: Changes): i32 {{CALLS} return DONE; }\n",
		call: " f%d();", frame: "function f%d(): i32 {\n%s\nreturn DONE; }\n",
		spans: map[string]string{"`fail(\"why\")`": `return fail("why");`},
	},
	"js": {
		file: "plugin.js", programs: []string{"wasm-merge"}, whole: "export function",
		head: "const a = \"https://a.example\", b = a;\n",
		tail: "export function filter(request, settings) {{CALLS} return null; }\n",
		call: " f%d(request);", frame: "function f%d(request) {\n%s\n}\n",
	},
}

// discarded are the constants that a piece of Zig states. One that is not used does not compile.
var discarded = regexp.MustCompile(`(?m)^const ([a-z]+) =`)

// The code of the documents compiles: complete plugins as they are, and the pieces of a language
// together in one plugin.
func TestSnippetsCompile(t *testing.T) {
	needPages(t)
	guide, err := os.ReadFile(filepath.Join(root, "docs", "authoring.md"))
	pages, missing := filepath.Glob(filepath.Join(root, "docs", "languages", "*.md"))
	for _, page := range pages {
		text, failed := os.ReadFile(page)
		guide, err = append(guide, text...), errors.Join(err, failed)
	}
	if err := errors.Join(err, missing); err != nil {
		t.Fatal(err)
	}
	blocks := codeBlocks(t)
	for name, l := range snippetLanguages {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", toolPath(t, name, l.programs))
			top, frames, calls := "", "", ""
			add := func(code string) {
				switch {
				case l.top != "" && strings.HasPrefix(code, l.top):
					top += code + "\n"
				default:
					if name == "zig" {
						for _, m := range discarded.FindAllStringSubmatch(code, -1) {
							if len(regexp.MustCompile(`\b`+m[1]+`\b`).FindAllString(code, -1)) == 1 {
								code += "\n_ = " + m[1] + ";"
							}
						}
					}
					n := strings.Count(calls, ";")
					frames += fmt.Sprintf(l.frame, n, code)
					calls += fmt.Sprintf(l.call, n)
				}
			}
			for span, code := range l.spans {
				if !strings.Contains(string(guide), span) {
					t.Errorf("docs/authoring.md and docs/languages lack %s, which this test compiles", span)
				}
				add(code)
			}
			for _, code := range blocks[name] {
				if strings.Contains(code, l.whole) {
					compileSnippet(t, name, l.file, code)
				} else {
					add(code)
				}
			}
			if calls != "" || top != "" {
				compileSnippet(t, name, l.file, l.head+top+frames+strings.Replace(l.tail, "{CALLS}", calls, 1))
			}
		})
	}
}

// compileSnippet builds a plugin of a source. A test in Go is vetted.
func compileSnippet(t *testing.T, language, file, source string) {
	t.Helper()
	dir, err := authoring.New(authoring.Project{Name: "snippet", Language: language, Kind: "filter", Dir: filepath.Join(t.TempDir(), "snippet")})
	if err != nil {
		t.Fatal(err)
	}
	test := strings.Contains(source, `"testing"`)
	if test {
		file = "main_test.go"
	} else if err := os.Remove(filepath.Join(dir, "main_test.go")); err != nil && language == "go" {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if test {
		vet := exec.Command("go", "vet", ".")
		vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=")
		if out, err := vet.CombinedOutput(); err != nil {
			t.Errorf("go vet: %v\n%s", err, out)
		}
		return
	}
	var said bytes.Buffer
	if _, err := authoring.Build(t.Context(), authoring.BuildOptions{Dir: dir, Messages: &said}); err != nil {
		t.Errorf("%v\n%s\n%s", err, said.String(), source)
	}
}

// codeBlocks are the blocks of code of the pages for authors, by language. A block of another language
// than those of the tests is an error.
func codeBlocks(t *testing.T) map[string][]string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "sdk", "pdk-*", "README.md"))
	if err != nil || len(pages) < 6 {
		t.Fatalf("%v: %d pages of helpers", err, len(pages))
	}
	if err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// Other tests run the commands, with what they write, and read the configurations.
	others := map[string]bool{"sh": true, "python": true, "java": true, "yaml": true, "toml": true, "json": true, "text": true}
	blocks := map[string][]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split("\n"+string(text), "\n```") {
			if i%2 == 0 {
				continue
			}
			language, code, _ := strings.Cut(part, "\n")
			if _, known := snippetLanguages[language]; !known && !others[language] {
				t.Errorf("%s: no test knows code of %q", page, language)
			}
			blocks[language] = append(blocks[language], code)
		}
	}
	return blocks
}
