package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// doctorLine is what "doctor -o json" says about one check.
type doctorLine struct{ Check, Status, Detail string }

// doctor returns what "doctor" says about each check, and its exit code and stderr.
func doctor(t *testing.T, args ...string) (lines map[string]doctorLine, code int, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t, "", append([]string{"doctor", "-o", "json", "--cache-dir", "off"}, args...)...)
	var list []doctorLine
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	lines = map[string]doctorLine{}
	for _, l := range list {
		lines[l.Check] = l
	}
	return lines, code, stderr
}

func TestDoctor(t *testing.T) {
	fixtures, err := filepath.Abs(fixtureDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_WINDOW_MAX_TOKEN", "5")
	status, code, stderr := doctor(t, "--plugins", fixtures, "--cache-dir", "cache")
	for check, want := range map[string]doctorLine{
		"features":      {Status: "ok", Detail: "uses "},
		"state":         {Status: "ok", Detail: "reset by comparing "},
		"cache":         {Status: "ok", Detail: "cache can be written"},
		"configuration": {Status: "ok", Detail: "no file, defaults only"},
		"environment":   {Status: "warning", Detail: "ANCHOR_HOST_WINDOW_MAX_TOKEN is no setting (did you mean ANCHOR_HOST_WINDOW_MAX_TOKENS?)"},
		"plugin empty":  {Status: "problem", Detail: `plugin "empty": not a WebAssembly module: the file is empty`},
	} {
		got := status[check]
		if got.Status != want.Status || !strings.HasPrefix(got.Detail, want.Detail) {
			t.Errorf("%s: got %+v, want %+v", check, got, want)
		}
	}
	if status["plugin keep-first"].Status != "ok" {
		t.Errorf("keep-first: %+v", status["plugin keep-first"])
	}
	if code != codeFailure || !strings.Contains(stderr, "\nanchor-host: doctor found ") {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

// With a configuration that cannot be read the flags count all the same.
func TestDoctorOfABadConfiguration(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "timeot: 5\nplugins: {dir: there}\n", "here/README.md": "none yet"}))
	code, stdout, stderr := run(t, "", "doctor", "--cache-dir", "cache", "--plugins", "here")
	if code != codeFailure || stderr != "anchor-host: doctor found problems: 1\n" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if !strings.Contains(stdout, "cache can be written") || strings.Contains(stdout, "plugin directory") {
		t.Errorf("the flags do not count:\n%s", stdout)
	}
}

func TestDoctorInHealth(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "window: {max_tokens: 5}\n", "plugins/README.md": "none yet"}))
	code, stdout, stderr := run(t, "", "doctor", "--cache-dir", "cache")
	if code != codeOK || stderr != "" || !strings.Contains(stdout, "configuration  ok ") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestVersion(t *testing.T) {
	code, stdout, _ := run(t, "", "version", "-o", "json")
	var v cli.BuildInfo
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != codeOK || v.ABI != abi.Version || v.Go == "" {
		t.Errorf("code %d, %v, %+v", code, err, v)
	}
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if first := regexp.MustCompile(`(?m)^## (.+)$`).FindSubmatch(changelog); err != nil || first == nil || string(first[1]) != v.Version {
		t.Errorf("the version is %q, CHANGELOG.md begins with %q, %v", v.Version, first, err)
	}
	code, line, _ := run(t, "", "version")
	if code != codeOK || !strings.HasPrefix(line, "anchor-host ") {
		t.Errorf("code %d, %q", code, line)
	}
	if code, stdout, stderr := run(t, "", "--version"); code != codeOK || stdout != line {
		t.Errorf("--version: code %d, %q%s, want %q", code, stdout, stderr, line)
	}
}

func TestSchemaCommand(t *testing.T) {
	code, stdout, _ := run(t, "", "config", "schema")
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil || code != codeOK || schema.Properties["steps"] == nil {
		t.Errorf("code %d, %v", code, err)
	}
}

// What others can write to is not used, and doctor says so.
func TestDoctorOfACacheOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who can write where is not known there")
	}
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("cache", 0o700), os.Chmod("cache", 0o777)); err != nil {
		t.Fatal(err)
	}
	lines, _, _ := doctor(t, "--cache-dir", "cache")
	const want = "cache can be written by others: its mode is 0777 (chmod go-w it, or use another folder): every command compiles plugins again"
	if f := lines["cache"]; f.Status != "warning" || !strings.Contains(f.Detail, want) {
		t.Errorf("%+v", f)
	}
}
