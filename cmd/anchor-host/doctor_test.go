package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

func TestDoctor(t *testing.T) {
	fixtures, err := filepath.Abs(fixtureDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_MAX_TOKEN", "5")
	code, stdout, stderr := run(t, "", "doctor", "-o", "json", "--plugins", fixtures, "--cache-dir", "cache")
	var findings []finding
	if err := json.Unmarshal([]byte(stdout), &findings); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	status := map[string]finding{}
	for _, f := range findings {
		status[f.Check] = f
	}
	for check, want := range map[string]finding{
		"features":      {Status: statusOK, Detail: "uses "},
		"state":         {Status: statusOK, Detail: "reset by comparing "},
		"cache":         {Status: statusOK, Detail: "cache can be written"},
		"configuration": {Status: statusOK, Detail: "no file, defaults only"},
		"environment":   {Status: statusWarning, Detail: "ANCHOR_HOST_MAX_TOKEN is no setting (did you mean ANCHOR_HOST_MAX_TOKENS?)"},
		"plugin empty":  {Status: statusProblem, Detail: `plugin "empty": not a WebAssembly module: the file is empty`},
	} {
		got := status[check]
		if got.Status != want.Status || !strings.HasPrefix(got.Detail, want.Detail) {
			t.Errorf("%s: got %+v, want %+v", check, got, want)
		}
	}
	if status["plugin keep-first"].Status != statusOK {
		t.Errorf("keep-first: %+v", status["plugin keep-first"])
	}
	if code != codeFailure || !strings.HasPrefix(stderr, "anchor-host: doctor found ") {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

// With a configuration that cannot be read the flags count all the same.
func TestDoctorOfABadConfiguration(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "max_token: 5\nplugins: {dir: there}\n", "here/README.md": "none yet"}))
	code, stdout, stderr := run(t, "", "doctor", "--cache-dir", "cache", "--plugins", "here")
	if code != codeFailure || stderr != "anchor-host: doctor found problems: 1\n" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if !strings.Contains(stdout, "cache can be written") || strings.Contains(stdout, "plugin directory") {
		t.Errorf("the flags do not count:\n%s", stdout)
	}
}

func TestDoctorInHealth(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "max_tokens: 5\n", "plugins/README.md": "none yet"}))
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
	if code, stdout, _ := run(t, "", "version"); code != codeOK || !strings.HasPrefix(stdout, "anchor-host ") {
		t.Errorf("code %d, %q", code, stdout)
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
	_, stdout, _ := run(t, "", "doctor", "-o", "json", "--cache-dir", "cache")
	var findings []finding
	if err := json.Unmarshal([]byte(stdout), &findings); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	for _, f := range findings {
		if f.Check == "cache" && (f.Status != statusWarning || !strings.Contains(f.Detail, "cache can be written by others: its mode is 0777 (chmod go-w it, or use another folder): plugins are compiled anew")) {
			t.Errorf("%+v", f)
		}
	}
}
