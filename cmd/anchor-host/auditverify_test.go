package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/server/audit"
)

func TestAuditVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	key, err := audit.Key(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(audit.Options{Path: path, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(audit.Entry{Action: "build", Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(path + "*")
	if len(files) != 4 {
		t.Fatalf("%v, want the log, its lock and two keys", files)
	}
	args := append([]string{"audit", "verify", "--key", path + ".key.pub", "-o", "json"}, files...)
	code, stdout, stderr := run(t, "", args...)
	var r struct {
		Lines, Heads int
		LastHead     string `json:"last_head"`
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || r.Lines != 3 || r.Heads != 1 {
		t.Fatalf("%d %s %s", code, stdout, stderr)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if err := os.WriteFile(path, bytes.Join(lines[:2], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := run(t, "", "audit", "verify", "--key", path+".key.pub", path); code != 0 || !strings.Contains(stdout, "no head covers the last 2 lines") {
		t.Errorf("cut: %d %s", code, stdout)
	}
	if code, _, stderr := run(t, "", "audit", "verify", "--expect", r.LastHead, path); code != codeInvalid || !strings.Contains(stderr, "cut off") {
		t.Errorf("cut, with the head: %d %s", code, stderr)
	}
	if err := os.WriteFile(path, bytes.Replace(whole, []byte(`"build"`), []byte(`"guild"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "audit", "verify", path); code != codeInvalid || !strings.Contains(stderr, "audit.jsonl:3:") {
		t.Errorf("changed: %d %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "audit", "verify", "--expect", "x", path); code != codeUsage {
		t.Errorf("%d %s", code, stderr)
	}
}
