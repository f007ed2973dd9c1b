package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

var items = []abi.Item{
	{Content: "Parse the dates of logs. Flags are elsewhere.", Score: 1},
	{Content: "Flags\n\nParse flags of the command line.", Score: 0.9, Metadata: map[string]any{"title": "Flags"}},
	{Content: "Colors and palettes.", Score: 0.8},
}

func call(query string, items []abi.Item) pdktest.Call {
	return pdktest.Call{
		Op:      abi.OpRerank,
		Request: &abi.ItemsRequest{Query: abi.Query{Text: query}, Items: items},
		Reads:   []string{"score", "text", "metadata"},
		Writes:  []abi.Change{abi.ChangeScore},
	}
}

func TestRerank(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("# Flags\n\nParse flags.\n\n# Dates\n\nParse dates."), 0o600); err != nil {
		t.Fatal(err)
	}
	services := pdktest.Use(t, pdktest.Services{})
	for _, settings := range []map[string]any{{"path": dir}, {"statistics": "items"}} {
		if err := pdktest.Init(settings); err != nil {
			t.Fatal(err)
		}
		got := call("parsing flags", items).Run(t).Scores
		if len(got) != 3 || !(got[1].Score > got[0].Score && got[0].Score > got[2].Score) {
			t.Errorf("%v: scores %v, want the second row first, the third last", settings, got)
		}
		if got := call("parsing flags", nil).Run(t).Scores; len(got) != 0 {
			t.Errorf("%v: scores %v of no items", settings, got)
		}
	}
	if logs := services.Logs(); len(logs) != 1 || logs[0].Level != pdk.LevelInfo || !strings.HasSuffix(logs[0].Text, ": 2 documents") {
		t.Errorf("logs %v", logs)
	}
}

// A folder without documents, because another one was mounted or the patterns leave
// everything out, must not rate items by nothing: it puts good ones behind bad ones, and
// the only trace is a line in the log.
func TestFolderWithoutDocuments(t *testing.T) {
	pdktest.Use(t, pdktest.Services{})
	empty, left := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(left, "a.md"), []byte("# Flags\n\nParse flags."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, settings := range []map[string]any{{"path": empty}, {"path": left, "include": []string{"*.txt"}}} {
		want := fmt.Sprintf("count words of %s: no document found (mount the folder of the retriever there, look at include and exclude, or set statistics: items)", settings["path"])
		if err := pdktest.Init(settings); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestInitFails(t *testing.T) {
	for _, c := range []struct {
		settings map[string]any
		want     string
	}{
		{map[string]any{"path": "/no/such/folder"}, "count words of /no/such/folder: no such folder (mount that of the retriever:"},
		{map[string]any{"weight": 2}, "settings: weight 2: not within 0..1"},
	} {
		if err := pdktest.Init(c.settings); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
