//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A granted folder that is a pipe is named by every command, and none of them waits for
// somebody who writes to it. The pin of an instance holds plugin.yaml.
func TestGrantedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	flags := buildFolder(t, `
plugins:
  instances:
    all:
      plugin: allops
      must: true
      grants: {http: {hosts: ["localhost."], private: true}, files: [{host: `+pipe+`, guest: /docs, mode: rw, quota: 1MiB, max_files: 5}]}
steps:
  - {name: a, use: all, operation: retrieve, settings: {mode: none}}
`)
	want := "grants.files[0].host: " + pipe + " is not a directory (name a folder)"
	for _, args := range [][]string{{"config", "validate"}, {"doctor"}, {"build", "q", "--timeout", "10m"}} {
		code, stdout, stderr := run(t, "", append(args, flags...)...)
		if !strings.Contains(strings.ReplaceAll(stdout+stderr, "\n", " "), want) {
			t.Errorf("%v: code %d\n%s%s\nlacks %s", args, code, stdout, stderr, want)
		}
		if (code == codeOK) != (args[0] == "config") {
			t.Errorf("%v: code %d", args, code)
		}
	}
}

func TestValidateNamesBadGrants(t *testing.T) {
	flags := buildFolder(t, `
plugins:
  instances:
    all: {plugin: allops, grants: {http: {hosts: ["https://api.example.com/v1"]}}}
steps:
  - {name: a, use: all, operation: retrieve}
`)
	code, _, stderr := run(t, "", append([]string{"config", "validate"}, flags...)...)
	if want := `instances.all: grants.http.hosts: invalid configuration: host "https://api.example.com/v1" (want a host, `; code != codeInvalid || !strings.Contains(stderr, want) {
		t.Errorf("code %d, %s\nlacks %s", code, stderr, want)
	}
}
