package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	fixtureDir    = "../../testdata/wasm"
	fixtureGolden = "testdata/fixtures.golden"
)

var manifestOperation = regexp.MustCompile(`operations: \{(\w+)`)

// Every fixture is a plugin with one misdeed. A build with it must leave the
// window of a build without it and say on stderr, in one line, what is wrong:
// the golden file holds these lines. The few fixtures that behave change the
// window instead.
func TestFixturesThroughTheBinary(t *testing.T) {
	t.Parallel()
	names := fixtureNames(t)
	if len(names) < 40 {
		t.Fatalf("%d fixtures, want at least 40", len(names))
	}
	golden := readGolden(t)
	without, _ := fixtureBuild(t, write(t, map[string]string{"anchor.yaml": ""}), `[{"name": "sorted", "use": "sort"}]`)
	var lines []string
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			line := runFixture(t, name, golden[name], without)
			lines = append(lines, name+"\t"+line)
			if want, ok := golden[name]; !*update && (!ok || line != want) {
				t.Errorf("got  %s\nwant %s\n(if the new line is right: go test -update)", line, want)
			}
		})
	}
	if *update {
		if err := os.WriteFile(fixtureGolden, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fixtureNames lists the fixtures that are plugins.
func fixtureNames(t *testing.T) []string {
	t.Helper()
	var names []string
	modules, err := filepath.Glob(filepath.Join(fixtureDir, "*", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		switch name := filepath.Base(filepath.Dir(m)); name {
		case "distill": // no step: see observing_test.go
		case "services": // has no misdeed and needs what answers it: see services_test.go of host
		case "unsent-column": // warns and does not fail: see TestUnsentColumn
		default:
			names = append(names, name)
		}
	}
	return names
}

func readGolden(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(fixtureGolden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	golden := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		golden[name] = text
	}
	return golden
}

// fixtureItems are what the step is shown.
const fixtureItems = `[
  {"id": "a", "content": "one two", "source": "retrieval", "score": 0.5, "created_at": "2026-01-01T00:00:00Z"},
  {"id": "b", "content": "three", "source": "retrieval", "score": 0.4, "created_at": "2026-01-01T00:00:00Z"}]`

// timedOut finds the time that a fixture has before it is ended.
var timedOut = regexp.MustCompile(`timeout: not done within (\w+) `)

// fixtureLimits returns the limits of a fixture. Only those that never end have little time. The fate
// of all others must not be a question of speed, nor may a fast machine use up the fuel before the
// time.
func fixtureLimits(name, golden string) string {
	if m := timedOut.FindStringSubmatch(golden); m != nil {
		init := "10m" // or the start of a busy machine would not be done
		if strings.Contains(golden, "init_failed") {
			init = m[1]
		}
		return fmt.Sprintf("timeout: %s, init_timeout: %s, fuel: 1000000000000", m[1], init)
	}
	limits := "timeout: 10m, init_timeout: 10m"
	if name == "memory-hog" {
		limits += ", memory: 2MiB"
	}
	return limits
}

// runFixture builds with the fixture as a step and returns the line on stderr, or the ids of the
// window when there is none. golden is what it is expected to be, and without a build without plugin.
func runFixture(t *testing.T, name, golden string, without map[string]any) string {
	t.Helper()
	op := "filter"
	if manifest, err := os.ReadFile(filepath.Join(fixtureDir, name, "plugin.yaml")); err == nil {
		if m := manifestOperation.FindSubmatch(manifest); m != nil {
			op = string(m[1])
		}
	}
	dir := write(t, map[string]string{"anchor.yaml": fmt.Sprintf(
		"plugins: {instances: {%[1]s-1: {plugin: %[1]s, limits: {%[2]s}}}}", name, fixtureLimits(name, golden))})
	with, stderr := fixtureBuild(t, dir, fmt.Sprintf(
		`[{"name": "guest", "use": "%s-1", "operation": "%s"}, {"name": "sorted", "use": "sort"}]`, name, op))
	if stderr == "" {
		return fmt.Sprint(windowIDs(with))
	}
	for _, key := range []string{"window", "formatted_output", "overflow_items"} {
		if !reflect.DeepEqual(with[key], without[key]) {
			t.Errorf("%s differs from a build without the plugin: %v, want %v", key, with[key], without[key])
		}
	}
	if skipped := with["diagnostics"].(map[string]any)["skipped_steps"]; !reflect.DeepEqual(skipped, []any{"guest"}) {
		t.Errorf("skipped steps %v", skipped)
	}
	if strings.HasPrefix(stderr, "level=ERROR ") { // the guest logs before it fails
		_, stderr, _ = strings.Cut(stderr, "\n")
	}
	if strings.Count(stderr, "\n") != 1 {
		t.Errorf("more than one line on stderr:\n%s", stderr)
	}
	// Where stacks grow no bound is named.
	return strings.Replace(strings.TrimSuffix(stderr, "\n"), "too deep for its stack", "too deep for 9MiB of stack", 1)
}

func fixtureBuild(t *testing.T, dir, steps string) (result map[string]any, stderr string) {
	t.Helper()
	doc := fmt.Sprintf(`{"query": "q", "counting": {"tokenizer": "words"}, "items": %s, "steps": %s}`, fixtureItems, steps)
	code, stdout, stderr := run(t, doc, "build", "--request", "-",
		"--config", filepath.Join(dir, "anchor.yaml"), "--plugins", fixtureDir, "--cache-dir", "off")
	if code != codeOK {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatal(err)
	}
	return result, stderr
}

// TestUnsentColumn checks that a build warns once of a column that a plugin reads and its manifest
// does not name, however often the plugin is called, and not of a column that the operator does
// not send.
func TestUnsentColumn(t *testing.T) {
	t.Parallel()
	step := func(name, more string) string {
		return fmt.Sprintf(`{"name": %q, "use": "unsent-column", "operation": "filter"%s}`, name, more)
	}
	warning := "level=WARN msg=\"filter reads the column metadata, but the manifest does not name it, so it is empty: name metadata under reads of filter in plugin.yaml\" plugin=unsent-column\n"
	narrowed := "level=DEBUG msg=\"filter reads the column score, which the configuration does not send\" plugin=unsent-column\n"
	for level, want := range map[string]string{"error": "", "warn": warning, "debug": warning + narrowed} {
		dir := write(t, map[string]string{"anchor.yaml": "telemetry: {log_level: " + level + "}"})
		_, stderr := fixtureBuild(t, dir, "["+step("first", "")+","+step("second", `, "reads": []`)+"]")
		var got string
		for line := range strings.Lines(stderr) {
			if strings.Contains(line, "reads the column") {
				got += line
			}
		}
		if got != want {
			t.Errorf("log_level %s:\n%swant\n%s", level, got, want)
		}
		if own := strings.Count(stderr, `msg="anchor: column nothing was not sent" plugin=unsent-column from=guest`); level != "error" && own != 2 {
			t.Errorf("log_level %s: the plugin's own warning stands there %d times, want 2:\n%s", level, own, stderr)
		}
	}
}
