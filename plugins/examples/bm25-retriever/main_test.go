package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func find(t *testing.T, query string, topK int) []abi.NewItem {
	t.Helper()
	return pdktest.Call{
		Op:      abi.OpRetrieve,
		Request: &abi.ItemsRequest{Query: abi.Query{Text: query}, TopK: topK},
		Writes:  []abi.Change{abi.ChangeItems},
	}.Run(t).Items
}

func TestRetrieve(t *testing.T) {
	services := pdktest.Use(t, pdktest.Services{})
	dir := folder(t, map[string]string{"a.md": "# Flags\n\nParse flags.", "b.txt": "Parse dates."})
	if err := pdktest.Init(map[string]any{"path": dir}); err != nil {
		t.Fatal(err)
	}
	got := find(t, "parsing flags", 5)
	if len(got) != 2 || got[0].Key != "a.md" || got[0].Score != 1 || got[1].Key != "b.txt" || got[1].Score >= 1 {
		t.Errorf("found %+v", got)
	}
	if got := find(t, "parsing flags", 1); len(got) != 1 {
		t.Errorf("found %d items, want 1", len(got))
	}
	if got := find(t, "nothing like it", 5); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
	if logs := services.Logs(); len(logs) != 1 || logs[0].Level != pdk.LevelInfo || !strings.Contains(logs[0].Text, "2 documents from 2 files") {
		t.Errorf("logs %v", logs)
	}
}

func TestEmptyFolder(t *testing.T) {
	services := pdktest.Use(t, pdktest.Services{})
	if err := pdktest.Init(map[string]any{"path": t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if got := find(t, "anything", 5); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
	if logs := services.Logs(); len(logs) != 1 || logs[0].Level != pdk.LevelWarn {
		t.Errorf("logs %v", logs)
	}
}

func TestInitFails(t *testing.T) {
	for _, c := range []struct {
		settings map[string]any
		want     string
	}{
		{map[string]any{"path": "/no/such/folder"}, "index /no/such/folder: no such folder (mount one: grants:"},
		{map[string]any{"k1": -1}, "settings: k1 -1: not within 0..100"},
		{map[string]any{"path": folder(t, map[string]string{"x.jsonl": "{"})}, "index "},
	} {
		if err := pdktest.Init(c.settings); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
