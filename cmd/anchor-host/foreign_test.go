package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeConfig writes a configuration whose plugins are the fixtures.
func writeConfig(t *testing.T, steps string) string {
	t.Helper()
	dir, err := filepath.Abs(fixtureDir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "anchor.yaml")
	text := "counting: {tokenizer: words}\nformat: generic\nplugins:\n  dir: '" + dir + "'\n" + strings.TrimPrefix(strings.TrimPrefix(steps, "\n"), "plugins:\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Functions of a foreign module are steps of a build.
func TestForeignSteps(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, `
plugins:
  instances:
    tool: {plugin: foreign-step, must: true}
steps:
  - {name: shout, use: foreign-step, function: upper}
  - {name: more, use: tool, function: items, output: items, top_k: 1}
  - {name: louder, use: foreign-step, function: upper, input: text}
  - {name: broken, use: foreign-step, function: fails}
`)
	code, stdout, stderr := run(t, "", "build", "-c", file, "hello there")
	if code != codeOK || !strings.Contains(stdout, "FIRST") || !strings.Contains(stdout, "HELLO THERE") || strings.Contains(stdout, "SECOND") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
	if want := `step "broken": plugin "foreign-step": fails: guest_error: status 7 without a message (skipped)`; !strings.Contains(stderr, want) {
		t.Errorf("stderr:\n%s\nwant the line\n%s", stderr, want)
	}
	if code, _, stderr := run(t, "", "config", "validate", "-c", file); code != codeOK {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}

func TestForeignStepsAreValidated(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, `
steps:
  - {name: a, use: foreign-step, function: uper}
  - {name: b, use: no-change, function: anchor_filter}
  - {name: c, use: foreign-step}
`)
	code, _, stderr := run(t, "", "config", "validate", "-c", file)
	for _, want := range []string{
		`:6:44: steps[0].function: plugin "foreign-step": "uper": no such export (did you mean "upper"?)`,
		`:7:41: steps[1].function: plugin "no-change": "anchor_filter": no such operation: the plugin has operations`,
		`:8:5: steps[2]: plugin "foreign-step": no such operation: the module does not implement the plugin contract (name the function a step calls`,
	} {
		if code != codeInvalid || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, stderr:\n%s\nwant\n%s", code, stderr, want)
		}
	}
}

// A configuration that offers no WASI to a module that needs it is found before the
// build, where the module is named.
func TestMissingWASIIsValidated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ instance, want string }{
		{"{plugin: foreign-command}", ":6:11: plugins.instances.tool: the module imports WASI functions: invalid configuration (offer them: wasi: true of the instance, or --wasi of plugin call)"},
		{"{plugin: foreign-command, wasi: true}", ""},
	} {
		file := writeConfig(t, "plugins:\n  instances:\n    tool: "+tc.instance+"\nsteps:\n  - {name: a, use: tool, function: exit_2}\n")
		code, _, stderr := run(t, "", "config", "validate", "-c", file)
		if (code == codeOK) != (tc.want == "") || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s: exit code %d, stderr:\n%s", tc.instance, code, stderr)
		}
	}
	file := writeConfig(t, "steps:\n  - {name: a, use: foreign-command, function: exit_2}\n")
	code, _, stderr := run(t, "", "config", "validate", "-c", file)
	if want := `:6:5: steps[0]: plugin "foreign-command": the module imports WASI functions`; code != codeInvalid || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}

// Modules are linked in the configuration.
func TestLinkedSteps(t *testing.T) {
	t.Parallel()
	config := func(links string) string {
		return writeConfig(t, "plugins:\n  instances:\n    main: {plugin: link-main"+links+"}\nsteps:\n"+
			"  - {name: search, use: foreign-step, function: items, output: items}\n"+
			"  - {name: shout, use: main, function: run, input: text}\n")
	}
	file := config(", state: reset, links: {lib: link-lib}")
	code, stdout, stderr := run(t, "", "build", "-c", file, "hello there")
	if code != codeOK || !strings.Contains(stdout, "FIRST") || strings.Contains(stderr, "skipped") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, "", "config", "validate", "-c", file); code != codeOK {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	code, _, stderr = run(t, "", "config", "validate", "-c", config(", must: true, links: {lib: link-li}"))
	if want := `instances.main.links.lib: `; code != codeInvalid || !strings.Contains(stderr, want) || !strings.Contains(stderr, `did you mean "link-lib"?`) {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	code, _, stderr = run(t, "", "config", "validate", "-c", config(", links: {lib: Lib}"))
	if code != codeInvalid || !strings.Contains(stderr, `"Lib" is not a valid plugin name`) {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	for _, links := range []string{"", ", links: {other: link-lib}", ", links: {lib: foreign-step}"} {
		for _, args := range [][]string{{"build", "hello there"}, {"config", "validate"}} {
			code, _, stderr = run(t, "", append(args, "-c", config(links))...)
			if (code == codeInvalid) != (args[0] == "config") || !strings.Contains(stderr, `import "shout" of module "lib": unusable import`) {
				t.Errorf("%s%s: exit code %d, stderr:\n%s", args[0], links, code, stderr)
			}
		}
	}
	code, _, stderr = run(t, "", "config", "validate", "-c", config(`, links: {"extism:host/env": link-lib}`))
	if code != codeInvalid || !strings.Contains(stderr, "instances.main.links: ") || !strings.Contains(stderr, "the name is taken by this host") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}
