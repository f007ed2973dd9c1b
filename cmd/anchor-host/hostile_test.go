package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// hostile has what acts on a terminal: the title of a window, the bell, a line that looks
// like one of the command's, the other control characters, and a change of direction.
const hostile = "\x1b]0;pwned\a\r\nanchor-host: all good\u009b2J\u202e\u2028\x7f\b"

// long is a name that no line may repeat.
var long = strings.Repeat("k\x1b", 3000)

// plainText checks that a text does nothing to a terminal but print.
func plainText(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			t.Errorf("%s has the character %U:\n%.400q", what, r, text)
			return
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimPrefix(line, "anchor-host: "), "anchor-host: all good") {
			t.Errorf("%s has a line that is not the command's:\n%.400q", what, text)
			return
		}
	}
}

// plainMessages checks what a command wrote to stderr.
func plainMessages(t *testing.T, stderr string) {
	t.Helper()
	plainText(t, "stderr", stderr)
	for line := range strings.Lines(stderr) {
		if len(line) > 2200 {
			t.Errorf("a line of %d bytes: %.100q", len(line), line)
		}
	}
}

// quoted is a text as a JSON or a quoted YAML string.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string has no error
	return string(b)
}

// Nothing in the input of a command acts on a terminal or forges a line: not keys and
// not values, not in files, arguments or names of files. BAD stands for what is hostile,
// ARG for it as an argument.
func TestHostileInput(t *testing.T) {
	tests := []struct {
		stdin string
		files map[string]string
		args  string
		// data says that stdout is the data themselves, not text about them.
		data bool
	}{
		{stdin: `[{"role":"user","content":"x",BAD:1}]`, args: "assemble", data: true},
		{stdin: `[{"role":BAD,"content":"x"}]`, args: "assemble"},
		{stdin: `[{"role":"tool","content":"x","tool_call_id":BAD}]`, args: "assemble", data: true},
		{stdin: `[{"role":"assistant","tool_calls":[{"id":BAD,"type":"function","function":{"name":BAD}}]}]`, args: "assemble --explain", data: true},
		{stdin: `{"state":{BAD:1},"messages":[]}`, args: "assemble"},
		{stdin: `{"state":{"data":{BAD:1e999}},"messages":[]}`, args: "assemble"},
		{stdin: `{BAD:1}`, args: "assemble"},
		{stdin: `[{"id":BAD,"content":"a",BAD:1}]`, args: "build --items - q"},
		{stdin: `[{"id":BAD,"content":BAD,"source":"retrieval"}]`, args: "build --items - --explain -o json q", data: true},
		{stdin: `[{"id":BAD,"content":"a","source":"retrieval","metadata":{BAD:{BAD:99999999999999999999}}}]`, args: "build --items - q"},
		{stdin: `[{"id":BAD,"content":"a","source":BAD}]`, args: "build --items - q"},
		{stdin: `[{"id":BAD,"content":"a","source":"retrieval","created_at":BAD}]`, args: "build --items - q"},
		{stdin: `{"query":"q",BAD:1}`, args: "build --request -", data: true},
		{stdin: `{"query":{"query_str":"q","metadata":{BAD:1e999}}}`, args: "build --request -", data: true},
		{stdin: `{"query":"q","steps":[{"name":"BAD","use":"BAD"}]}`, args: "build --request -", data: true},
		{stdin: `{"query":"q","steps":[{"name":"BAD","use":"sort","settings":{"BAD:1":""}}]}`, args: "build --request -", data: true},
		{stdin: `{"query":"q","steps":[{"name":"BAD","use":"BAD"}]}`, args: "build --request -", data: true},
		{stdin: `{"query":"q","counting":{"tokenizer":"BAD"}}`, args: "build --request -", data: true},
		{stdin: `{"kind":"fact","id":BAD,"data":{"content":"a",BAD:1}}`, args: "memory import -"},
		{stdin: `{"kind":BAD,"id":BAD,"data":{}}`, args: "memory import -"},
		{stdin: `{BAD:1}`, args: "memory import -"},
		{stdin: `{"kind":"turn","stream":BAD,"data":{"role":BAD,"content":"a"}}`, args: "memory import -"},
		{stdin: `{"kind":"frame","stream":BAD,"data":{BAD:1}}`, args: "memory import -"},
		{stdin: `{"kind":"state","stream":BAD,"data":{"data":{BAD:1e999}}}`, args: "memory import -"},
		{args: "memory add ARG"},
		{args: "memory add --id ARG --user ARG --tag ARG ARG"},
		{args: "memory add --conversation ARG ARG"},
		{args: "memory forget ARG"},
		{args: "memory forget --run ARG"},
		{args: "memory list --type ARG"},
		{args: "frames push --run ARG --kind ARG ARG"},
		{args: "frames push --run ARG --kind checkpoint ARG"},
		{args: "frames window --run ARG"},
		{args: "ARG"},
		{args: "build --ARG q"},
		{args: "build --set window.budget.preset=ARG q"},
		{args: "build -c ARG q"},
		{args: "build --plugins ARG q"},
		{args: "plugin inspect ARG"},
		{args: "plugin call ARG ARG"},
		{args: "plugin list --plugins ARG"},
		{args: "doctor --store ARG --cache-dir off"},
		{files: map[string]string{"anchor.yaml": "BAD: 1\n"}, args: "build q"},
		{files: map[string]string{"anchor.yaml": "plugins: {instances: {BAD: {BAD: 1}}}\n"}, args: "config validate"},
		{files: map[string]string{"anchor.yaml": "plugins: {instances: {BAD: {plugin: BAD}}}\n"}, args: "config validate"},
		{files: map[string]string{"anchor.yaml": "steps: [{name: BAD, use: BAD}]\n"}, args: "config validate"},
		{files: map[string]string{"anchor.yaml": "steps: [{name: BAD, use: sort, settings: {BAD: 1}}]\n"}, args: "build q"},
		{files: map[string]string{"anchor.yaml": "steps: [{name: BAD, use: BAD}]\n"}, args: "build --log-level debug q"},
		{files: map[string]string{"anchor.yaml": "steps: [{name: BAD, use: sort}]\n"}, args: "build --explain q"},
		{files: map[string]string{"anchor.yaml": "steps: [{name: BAD, use: sort}]\n"}, args: "config show --origin"},
		{files: map[string]string{"anchor.yaml": "window: {max_tokens: BAD}\n"}, args: "doctor --cache-dir off"},
		{files: map[string]string{"anchor.yaml": "memory: {facts: {tags: [BAD, BAD]}}\ncounting: {model: BAD}\n"}, args: "build q"},
		{files: map[string]string{"plugins/b/plugin.wasm": "\x00asm\x01\x00\x00\x00", "plugins/b/plugin.yaml": "abi: 1\nname: BAD\nBAD: 1\n"}, args: "plugin list"},
		{files: map[string]string{"plugins/b/plugin.wasm": "\x00asm\x01\x00\x00\x00", "plugins/b/plugin.yaml": "abi: 1\nname: b\noperations: {BAD: {}}\n"}, args: "doctor --cache-dir off"},
		{files: map[string]string{"result.json": `{"window":{"items":[]},"diagnostics":{},BAD:1}`}, args: "explain result.json"},
		{files: map[string]string{"result.json": `{BAD:1}`}, args: "build --previous result.json q"},
		{files: map[string]string{
			"c.jsonl": `{"_id":BAD,"text":"a"}` + "\n" + `{"_id":BAD,"text":"a"}`, "q.jsonl": `{"_id":"q","text":"a"}`, "r.tsv": "q\ta\t1",
		}, args: "eval --corpus c.jsonl --queries q.jsonl --qrels r.tsv"},
		{files: map[string]string{
			"c.jsonl": `{"_id":"a","text":"a"}`, "q.jsonl": `{"_id":"q",BAD:"a","text":"a"}`, "r.tsv": "q\ta\t\x1b[2J\a",
		}, args: "eval --corpus c.jsonl --queries q.jsonl --qrels r.tsv"},
		{files: map[string]string{
			"c.jsonl": `{"_id":BAD,"text":BAD}`, "q.jsonl": `{"_id":BAD,"text":"a"}`, "r.tsv": "q\x1b\ta\t1", "anchor.yaml": "steps: [{name: BAD, use: sort}]\n",
		}, args: "eval --corpus c.jsonl --queries q.jsonl --qrels r.tsv --corpus-items"},
		{files: map[string]string{"cases/a.json": `{"name":"n",BAD:1}`}, args: "plugin test --cases cases KEEPFIRST"},
		{files: map[string]string{"cases/a.json": `{"name":"n","operation":BAD,"expect":{"no_change":true}}`}, args: "plugin test --short --cases cases KEEPFIRST"},
		{files: map[string]string{"cases/settings.json": `{BAD:{}}`}, args: "plugin test --cases cases KEEPFIRST"},
		{args: "plugin test --set ARG=1 KEEPFIRST"},
		{args: "plugin test --settings {BAD:{}} KEEPFIRST"},
	}
	fixture, err := filepath.Abs(filepath.Join(fixtureDir, "keep-first", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{hostile, long} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%.40s %.60s", tt.args, tt.stdin), func(t *testing.T) {
				files := map[string]string{}
				for name, content := range tt.files {
					files[name] = strings.ReplaceAll(content, "BAD", quoted(bad))
				}
				storeFolder(t, files)
				replace := strings.NewReplacer("BAD", quoted(bad), "ARG", bad, "KEEPFIRST", fixture)
				args := strings.Fields(tt.args)
				for i := range args {
					args[i] = replace.Replace(args[i])
				}
				_, stdout, stderr := run(t, replace.Replace(tt.stdin), args...)
				plainMessages(t, stderr)
				if tt.data {
					if !json.Valid([]byte(stdout)) {
						t.Errorf("stdout is no JSON: %q", stdout)
					}
				} else {
					plainText(t, "stdout", stdout)
				}
			})
		}
	}
}

// What a guest logs and what it fails with does nothing to a terminal, nor do the names of
// files in the plugin folder.
func TestHostileNamesOfFiles(t *testing.T) {
	name := strings.ReplaceAll(hostile, "/", "")
	t.Chdir(write(t, map[string]string{"plugins/" + name + ".wasm": "no module", "plugins/" + name + "2/plugin.wasm": "no module"}))
	for _, args := range [][]string{{"plugin", "list"}, {"doctor", "--cache-dir", "off"}, {"plugin", "inspect", "plugins/" + name + ".wasm"}} {
		_, stdout, stderr := run(t, "", args...)
		plainText(t, fmt.Sprint("stdout of ", args), stdout)
		plainMessages(t, stderr)
	}
}

// On a terminal data are escaped too; anything else gets their bytes.
func TestDataOnATerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	item := `[{"id":"a","content":` + quoted("text\x1b[2J") + `,"source":"retrieval"}]`
	if out := must(t, item, "build", "--items", "-", "q"); !strings.Contains(out, "text\x1b[2J") {
		t.Errorf("data were changed: %q", out)
	}
	tty, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	a := newApp(t.Context(), strings.NewReader(""), tty, tty)
	w, ok := a.Out.(*plain.Writer)
	if !ok {
		t.Fatalf("a character device is written by %T", a.Out)
	}
	var b bytes.Buffer
	w.To = &b
	if err := a.Emit(bytes.NewBufferString("text\x1b[2J\n")); err != nil || b.String() != `text\u001b[2J`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// jsonString finds the strings of a JSON document.
var jsonString = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// Documents in which strings, keys and values alike, are replaced at random by hostile
// ones, or which are damaged, do nothing to a terminal.
func TestHostileDocuments(t *testing.T) {
	storeFolder(t, nil)
	documents := []struct{ args, doc string }{
		{"assemble", `{"state":{"run_id":"r","observations":["a"],"data":{"k":{"l":[1,2.5,"x"]}}},"messages":[{"role":"user","content":"a"},
			{"role":"assistant","content":"b","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","content":"r","tool_call_id":"c1","name":"f"}],"budget":{"max_tokens":50},"phase":"llm"}`},
		{"build --items - q", `{"items":[{"id":"a","content":"b","source":"retrieval","score":0.5,"priority":3,"metadata":{"k":[1]},"created_at":"2026-01-01T00:00:00Z"}]}`},
		{"build --request -", `{"query":{"query_str":"q","metadata":{"a":1}},"window":{"max_tokens":50,"budget":{"preset":"rag"}},"counting":{"tokenizer":"words"},"items":[{"id":"a","content":"b","source":"retrieval"}],"steps":[{"name":"s","use":"sort","settings":{"by":"score"}}],"format":"openai"}`},
		{"memory import -", `{"kind":"fact","id":"f","time":"2026-01-01T00:00:00Z","seq":1,"data":{"content":"a","tags":["t"],"metadata":{"k":1}}}`},
		{"memory import -", `{"kind":"frame","stream":"r","data":{"id":0,"kind":"checkpoint","content":"x"}}`},
	}
	random := rand.New(rand.NewPCG(1, 2))
	bad := []string{hostile, "\u009b", "\x1b[31m", "a\nanchor-host: all good", "\u202e", long, "k\r"}
	rounds := 20
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		rounds = 500
	}
	for _, d := range documents {
		for range rounds {
			doc := jsonString.ReplaceAllStringFunc(d.doc, func(s string) string {
				if random.IntN(8) == 0 {
					return quoted(bad[random.IntN(len(bad))])
				}
				return s
			})
			if random.IntN(4) == 0 {
				at := random.IntN(len(doc))
				doc = doc[:at] + bad[random.IntN(len(bad))] + doc[at:]
			}
			_, _, stderr := run(t, doc, strings.Fields(d.args)...)
			plainMessages(t, stderr)
			if t.Failed() {
				t.Fatalf("%s < %q", d.args, doc)
			}
		}
	}
	for _, args := range []string{"memory list", "memory list --conversations", "memory search a", "frames list", "memory gc --dry-run"} {
		_, stdout, stderr := run(t, "", strings.Fields(args)...)
		plainText(t, args, stdout)
		plainMessages(t, stderr)
	}
}
