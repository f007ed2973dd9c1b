package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/store"
)

// A backup of a store in use is restored, after the store is damaged, as it was.
func TestBackupDamageRestore(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_STORE_PATH", "store.db")
	key := store.Key{Tenant: "acme", Kind: "fact", Stream: "facts"}
	s, err := agentstore.Open(t.Context(), "store.db", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), key, store.Record{ID: "f1", Data: []byte(`"short answers"`)}); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := run(t, "", "store", "backup", "copy.db", "-o", "json")
	var made struct {
		File    string
		Bytes   int64
		Records int
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 {
		t.Fatalf("%d %s %s: %v", code, out, stderr, err)
	}
	if info, err := os.Stat("copy.db"); err != nil || made.Bytes != info.Size() || made.Records != 1 || made.File != "copy.db" {
		t.Errorf("%+v, %v", made, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("store.db", bytes.Repeat([]byte("x"), 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr = run(t, "", "store", "check"); code != 1 || !strings.Contains(stderr, "restore a backup") {
		t.Errorf("check of a damaged store: %d %s", code, stderr)
	}
	if code, _, stderr = run(t, "", "store", "restore", "copy.db"); code != 1 || !strings.Contains(stderr, "move away store.db") {
		t.Errorf("restore over a store: %d %s", code, stderr)
	}
	for _, name := range []string{"store.db", "store.db-reserve"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"restore", "copy.db"}, {"check"}, {"check", "copy.db"}} {
		if code, _, stderr = run(t, "", append([]string{"store"}, args...)...); code != 0 {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	if s, err = agentstore.Open(t.Context(), "store.db", ""); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(t.Context(), key, "f1"); err != nil || string(r.Data) != `"short answers"` {
		t.Errorf("restored: %s, %v", r.Data, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestMistakesWithBackups(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(t.TempDir(), "none.db"))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"backup"}, codeUsage, "missing argument FILE"},
		{[]string{"backup", "a", "b"}, codeUsage, "unexpected argument"},
		{[]string{"backup", "a", "-o", "xml"}, codeUsage, "xml"},
		{[]string{"backup", "a"}, codeNotFound, "none.db"},
		{[]string{"restore", "a"}, codeNotFound, "a: no such file"},
		{[]string{"check"}, codeNotFound, "none.db"},
		{[]string{"bakcup", "a"}, codeUsage, "backup"},
	} {
		if code, _, stderr := run(t, "", append([]string{"store"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: %d %s, want %d and %q", c.args, code, stderr, c.code, c.says)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
