package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A store that a newer version has written is refused by everything that opens it, in one line that
// names the file and what to do, and stays as it was: the newer version goes on with it.
func TestNewerStore(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	path := filepath.Join(dir, "store.db")
	t.Setenv("ANCHOR_HOST_STORE_PATH", path)
	must(t, "", "memory", "add", "--id", "f", "a fact")
	must(t, "", "memory", "add", "--conversation", "c", "a turn")
	// The header of an SQLite file has the version of the schema at byte 60.
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ours := bytes.Clone(file[60:64])
	copy(file[60:], binary.BigEndian.AppendUint32(nil, 99))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "use a newer anchor-host"
	for name, args := range map[string][]string{
		"list": {"memory", "list"}, "add": {"memory", "add", "more"}, "forget": {"memory", "forget", "--all"},
		"forget a conversation": {"memory", "forget", "--conversation", "c", "--all"}, "export": {"memory", "export"},
		"build": {"build", "--conversation", "c", "--remember", "q"}, "builds": {"builds", "list"}, "collections": {"collections", "list"},
		"push": {"frames", "push", "--run", "r", "--kind", "checkpoint", "saved"}, "backup": {"store", "backup", filepath.Join(t.TempDir(), "b.db")},
	} {
		code, stdout, stderr := run(t, "", args...)
		if code != codeInvalid || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, path) || !strings.Contains(stderr, remedy) {
			t.Errorf("%s: code %d, %q, %q; want code %d and one line that names %s and says %q", name, code, stdout, stderr, codeInvalid, path, remedy)
		}
	}
	lines, _, _ := doctor(t)
	if f := lines["store"]; f.Status != "problem" || !strings.Contains(f.Detail, path) || !strings.Contains(f.Detail, remedy) {
		t.Errorf("doctor: %+v, want a problem that names %s and says %q", f, path, remedy)
	}
	if after, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !slices.Equal(after, before) {
		t.Errorf("the folder has %v, %v, want %v as before", after, err, before)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, file) {
		t.Errorf("the file was changed (%v), want it as it was", err)
	}
	copy(file[60:], ours)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := must(t, "", "memory", "export"); !strings.Contains(got, "a fact") || !strings.Contains(got, "a turn") {
		t.Errorf("what the version that knows it finds: %.300s, want the fact and the turn", got)
	}
}
