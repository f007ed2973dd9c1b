package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestDoctorLooksAtTheStore(t *testing.T) {
	storeFolder(t, map[string]string{"broken.db": strings.Repeat("not a database ", 100), "empty.db": ""})
	path := os.Getenv("ANCHOR_HOST_STORE_PATH")
	look := func(path string) doctorLine {
		t.Helper()
		lines, _, _ := doctor(t, "--store", path)
		return lines["store"]
	}
	if got := look(path); got.Status != "ok" || got.Detail != path+" does not exist yet: the first write creates it" {
		t.Errorf("%+v", got)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("doctor has made %v, %v", entries, err)
	}
	if runtime.GOOS == "linux" { // a folder that root cannot write either
		for path, is := range map[string]string{"/proc/anchor/store.db": "does not exist", "/proc/version": "is empty"} {
			if got := look(path); got.Status != "warning" || !strings.Contains(got.Detail, path+" "+is+", and cannot be written: ") || !strings.Contains(got.Detail, "make /proc writable") {
				t.Errorf("%+v", got)
			}
		}
	}
	must(t, "", "memory", "add", "Ann is in Oslo")
	for file, want := range map[string][2]string{
		path:        {"ok", path + ", schema 4, "},
		"empty.db":  {"ok", "empty.db is empty: the first write makes it a store"},
		"broken.db": {"problem", "open store broken.db: "},
		".":         {"problem", "open store .: "},
	} {
		if got := look(file); got.Check != "store" || got.Status != want[0] || !strings.HasPrefix(got.Detail, want[1]) {
			t.Errorf("%s: %+v, want %v", file, got, want)
		}
	}
	if out := must(t, "", "doctor", "--cache-dir", "cache"); !strings.Contains(out, path+", schema 4") {
		t.Errorf("doctor does not name the store of the configuration:\n%s", out)
	}
	_, out, _ := run(t, "", "doctor", "--cache-dir", "cache", "--store", "broken.db")
	if !strings.Contains(out, "open store broken.db: ") {
		t.Errorf("--store:\n%s", out)
	}
}
