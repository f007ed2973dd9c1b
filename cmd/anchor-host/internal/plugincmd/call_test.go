package plugincmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

func TestPluginCall(t *testing.T) {
	t.Parallel()
	module := func(name string) string { return filepath.Join(clitest.FixtureDir, name, "plugin.wasm") }
	spinning := filepath.Join(t.TempDir(), "spinning.wasm") // its start function never ends
	if err := os.WriteFile(spinning, []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x03\x02\x00\x00"+
		"\x07\x07\x01\x03run\x00\x01\x08\x01\x00\x0a\x0c\x02\x07\x00\x03\x40\x0c\x00\x0b\x0b\x02\x00\x0b"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"output as it is", []string{module("keep-first"), "anchor_filter", "--input", `{"items": [{}]}`}, cli.CodeOK, `{"keep":[0]}`, ""},
		{"of a folder", []string{filepath.Join(clitest.FixtureDir, "foreign"), "echo", "--input", "x"}, cli.CodeOK, "x", ""},
		{"of no plugin's folder", []string{clitest.FixtureDir, "echo"}, cli.CodeNotFound, "", clitest.FixtureDir + ": no *.wasm: file does not exist (build the plugin first; of a folder of plugins name one)\n"},
		{"link of a folder", []string{filepath.Join(clitest.FixtureDir, "link-main"), "run", "--link", "lib=" + clitest.FixtureDir}, cli.CodeInvalid, "",
			"link \"lib\": module " + clitest.FixtureDir + ": a folder: not a usable module (give the .wasm file in it)\n"},
		{"repeated", []string{module("keep-first"), "anchor_filter", "--repeat", "2"}, cli.CodeOK, "{\"keep\":[0]}\n{\"keep\":[0]}\n", "anchor-host: 2 calls: fastest "},
		{"guest error", []string{module("guest-error-status-0"), "anchor_filter"}, cli.CodeFailure, "", "anchor-host: plugin \"guest-error-status-0\": anchor_filter: guest_error: half done\n"},
		{"guest output", []string{module("stderr-then-trap"), "anchor_filter"}, cli.CodeFailure, "", "panic: index out of rang\nguest stack:\n"},
		{"deadline", []string{module("spin-forever"), "anchor_filter", "--timeout", "50ms"}, cli.CodeLimit, "", "anchor-host: plugin \"spin-forever\": anchor_filter: timeout: not done within 50ms (raise --timeout, or have the plugin do less)\n"},
		{"deadline of init", []string{module("initialize-spins"), "anchor_filter", "--timeout", "50ms"}, cli.CodeLimit, "", "timeout: not done within 50ms (raise --timeout, or have the plugin do less when it starts)\n"},
		{"deadline of start", []string{spinning, "run", "--timeout", "50ms"}, cli.CodeLimit, "", "timeout: not done within 50ms (raise --timeout, or have the plugin do less when it starts)\n"},
		{"fuel", []string{module("spin-forever"), "anchor_filter", "--timeout", "30s", "--fuel", "100000"}, cli.CodeLimit, "", ", allowed 100000 (raise --fuel, or have the plugin do less)\n"},
		{"refused", []string{module("http-ungranted"), "anchor_filter"}, cli.CodeRefused, "", "anchor-host: plugin \"http-ungranted\": anchor_filter: denied: http is not permitted (its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with --allow-host)\n"},
		{"refused a foreign module", []string{module("foreign-http"), "get", "--input", `{"url":"http://a.test/"}`}, cli.CodeRefused, "",
			"anchor-host: plugin \"foreign-http\": get: denied: http is not permitted (grant it with --allow-host)\n"},
		{"refused a host", []string{module("foreign-http"), "get", "--input", `{"url":"http://a.test/"}`, "--allow-host", "b.test"}, cli.CodeRefused, "",
			"denied: http to \"http://a.test\" is not permitted (grant it with --allow-host)\n"},
		{"memory", []string{module("memory-hog"), "anchor_filter", "--memory-max", "2MiB"}, cli.CodeLimit, "",
			"anchor_filter: memory: needs more than 2MiB (raise --memory-max, or have the plugin hold less)\n"},
		{"memory to start", []string{module("foreign"), "echo", "--memory-max", "32KiB"}, cli.CodeInvalid, "",
			"anchor-host: plugin \"foreign\": --memory-max 0B: invalid configuration (the module starts with 64KiB: raise it to that at least, pages of 64KiB count)\n"},
		{"refused a method", []string{module("foreign-http"), "get", "--input", `{"url":"https://a.test/"}`, "--allow-host", "a.test", "--allow-method", "POST"}, cli.CodeRefused, "",
			"denied: http method GET to \"https://a.test\" is not permitted (grant it with --allow-method)\n"},
		{"a method without a host", []string{module("foreign-http"), "get", "--allow-method", "POST"}, cli.CodeUsage, "", "--allow-method has no meaning without --allow-host"},
		{"bad method", []string{module("foreign-http"), "get", "--allow-host", "a.test", "--allow-method", "G T"}, cli.CodeInvalid, "", "plugin \"foreign-http\": --allow-method: \"G T\": invalid configuration"},
		{"bad host", []string{module("foreign-http"), "get", "--allow-host", "*"}, cli.CodeInvalid, "", "plugin \"foreign-http\": --allow-host: invalid configuration: host \"*\" (want a host"},
		{"trap", []string{module("trap-in-named"), "anchor_filter"}, cli.CodeFailure, "",
			"guest stack:\n.divide(i32) i32\n.filter() i32\nanchor-host: plugin \"trap-in-named\": anchor_filter: trap: integer divide by zero (a fault inside the plugin)\n"},
		{"no WASI", []string{module("foreign-command"), "_start"}, cli.CodeInvalid, "", "imports WASI functions: invalid configuration (offer them: wasi: true of the instance, or --wasi of plugin call)\n"},
		{"WASI", []string{module("foreign-command"), "_start", "--wasi"}, cli.CodeOK, "", "hello"},
		{"no such function", []string{module("keep-first"), "anchor_filtre"}, cli.CodeInvalid, "", "function \"anchor_filtre\": no such export (did you mean \"anchor_filter\"?)\n"},
		{"other function", []string{module("keep-first"), "run"}, cli.CodeInvalid, "", "function \"run\": no such export (want one of anchor_filter)\n"},
		{"no function", []string{module("keep-first")}, cli.CodeUsage, "", "anchor-host: missing argument FUNCTION (want one of anchor_filter) (see: anchor-host plugin call --help)\n"},
		{"too many arguments", []string{module("keep-first"), "f", "g"}, cli.CodeUsage, "", "anchor-host: unexpected argument \"g\" (want FILE|FOLDER FUNCTION) (see: anchor-host plugin call --help)\n"},
		{"no input", []string{module("keep-first"), "anchor_filter", "--input-file", "none"}, cli.CodeNotFound, "", "anchor-host: flag --input-file: open none: "},
		{"no such file", []string{"none.wasm", "f"}, cli.CodeNotFound, "", "anchor-host: "},
		{"bad set", []string{module("keep-first"), "f", "--set", "novalue"}, cli.CodeUsage, "", "anchor-host: flag --set: want KEY=VALUE, got \"novalue\" (see: anchor-host plugin call --help)\n"},
		{"bad mount", []string{module("keep-first"), "f", "--allow-path", "ro:x"}, cli.CodeUsage, "", "anchor-host: flag --allow-path: want [ro:]HOST:GUEST, got \"ro:x\""},
		{"bad size", []string{module("keep-first"), "f", "--memory-max", "much"}, cli.CodeUsage, "", "anchor-host: flag --memory-max: want a size such as \"64MiB\", got \"much\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"plugin", "call", "--cache-dir", "off"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// plugin call treats an operation of ABI 1 as a build does.
func TestPluginCallOfAnOperation(t *testing.T) {
	t.Parallel()
	module := func(name string) string { return filepath.Join(clitest.FixtureDir, name, "plugin.wasm") }
	for _, tt := range []struct {
		name, module, function, input string
		flags                         []string
		code                          int
		stdout, stderr                string
	}{
		{"a column that is not read", "keep-first", "anchor_filter", `{"query": {"query_str": ""}, "items": [{"content": "a", "id": "x"}]}`, nil, cli.CodeOK,
			`{"keep":[0]}`, "anchor-host: note: the column \"id\" is not sent, because the manifest does not name it under reads\n"},
		{"a misspelt member", "keep-first", "anchor_filter", "{\n \"item\": []}", nil, cli.CodeInvalid,
			"", "anchor-host: input:2:2: item: unknown member (did you mean \"items\"?)\n"},
		{"a wrong type", "keep-first", "anchor_filter", `{"items": [{"score": "high"}]}`, nil, cli.CodeInvalid,
			"", "input:1:22: items[0].score: want a number, got the string \"high\""},
		{"an unknown source", "keep-first", "anchor_filter", `{"items": [{"content": "a", "source": "memoryx"}]}`, nil, cli.CodeInvalid,
			"", "input:1:39: items[0].source: unknown source \"memoryx\" (did you mean \"memory\"?)"},
		{"an answer against the rules", "keep-first", "anchor_filter", `{"items": []}`, nil, cli.CodeFailure,
			`{"keep":[0]}`, "anchor-host: the answer breaks the rule rows/exist: keep[0]: row 0 of a request with 0 rows (number rows from 0, as in the request, not by id); --unchecked does not check it\n"},
		{"unchecked", "keep-first", "anchor_filter", `{"item": []}`, []string{"--unchecked"}, cli.CodeOK, `{"keep":[0]}`, ""},
		{"no change", "no-change", "anchor_filter", `{"items": []}`, nil, cli.CodeOK, "", "anchor-host: no change\n"},
		{"the batch lane", "batch-keep-first", "anchor_batch_filter", "", nil, cli.CodeInvalid,
			"", `(it takes batches, which plugin call does not write: call "anchor_filter", or run plugin test --lane batch)`},
		{"a store that is not granted", "kv-ungranted", "anchor_filter", `{"items": []}`, nil, cli.CodeRefused, "", "grant it with --allow-kv"},
		{"no such setting", "keep-first", "anchor_filter", `{"items": []}`, []string{"--set", "key=1"}, cli.CodeUsage,
			"", `flag --set: plugin "keep-first" has no setting "key" (--config gives what the plugin reads with config_get)`},
		{"a configuration", "keep-first", "anchor_filter", `{"items": [{}]}`, []string{"--config", "key=1"}, cli.CodeOK, `{"keep":[0]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"plugin", "call", "--cache-dir", "off", module(tt.module), tt.function, "--input", tt.input}, tt.flags...)
			code, stdout, stderr := run(t, "", args...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// Modules are linked on the command line.
func TestCallLink(t *testing.T) {
	t.Parallel()
	module := func(name string) string { return filepath.Join(clitest.FixtureDir, name, "plugin.wasm") }
	for _, tc := range []struct {
		name, link     string
		code           int
		stdout, stderr string
	}{
		{"linked", "lib=" + module("link-lib"), cli.CodeOK, "HELLO", ""},
		{"not linked", "", cli.CodeInvalid, "", `import "shout" of module "lib": unusable import`},
		{"another name", "other=" + module("link-lib"), cli.CodeInvalid, "", `import "shout" of module "lib": unusable import`},
		{"no file", "lib=none.wasm", cli.CodeNotFound, "", `link "lib": module none.wasm: read: no such file or directory`},
		{"no name", "=x.wasm", cli.CodeUsage, "", `flag --link: want NAME=FILE.wasm, got "=x.wasm"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{"plugin", "call", module("link-main"), "run", "--input", "hello"}
			if tc.link != "" {
				args = append(args, "--link", tc.link)
			}
			code, stdout, stderr := run(t, "", args...)
			if code != tc.code || stdout != tc.stdout || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
			}
		})
	}
}
