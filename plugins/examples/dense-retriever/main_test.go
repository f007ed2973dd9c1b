package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// start runs init with the documents and the small model of this folder, or with a file that
// replaces one of them.
func start(t *testing.T, change map[string]any) (*pdktest.Services, error) {
	t.Helper()
	services := pdktest.Use(t, pdktest.Services{})
	settings := map[string]any{"path": "docs", "table": filepath.Join("model", "table.safetensors"), "tokenizer": filepath.Join("model", "tokenizer.json")}
	for key, value := range change {
		settings[key] = value
	}
	return services, pdktest.Init(settings)
}

func find(t *testing.T, query string, topK int) []abi.NewItem {
	t.Helper()
	return pdktest.Call{
		Op: abi.OpRetrieve, Reads: []string{"query_text"}, Writes: []abi.Change{abi.ChangeItems},
		Request: &abi.ItemsRequest{Query: abi.Query{Text: query}, TopK: topK},
	}.Run(t).Items
}

// A document is found by other words for the same thing.
func TestRetrieve(t *testing.T) {
	services, err := start(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := find(t, "a lorry", 5)
	if len(got) == 0 || got[0].Key != "car" || got[0].Score < 0.9 || got[0].Score > 1 || got[0].Metadata["retrieval_method"] != "vectors" {
		t.Errorf("found %+v", got)
	}
	if got := find(t, "sea tree", 1); len(got) != 1 {
		t.Errorf("found %d items, want 1", len(got))
	}
	for _, query := range []string{"", "zzz", "?"} {
		if got := find(t, query, 5); len(got) != 0 {
			t.Errorf("%q: found %+v", query, got)
		}
	}
	if logs := services.Logs(); len(logs) != 1 || logs[0].Level != pdk.LevelInfo || !strings.Contains(logs[0].Text, "3 documents from 1 files") {
		t.Errorf("logs %v", logs)
	}
}

// What is missing, or is no model, is named.
func TestInitErrors(t *testing.T) {
	for want, change := range map[string]map[string]any{
		"mount the folder with grants": {"table": filepath.Join("model", "none")},
		"no safetensors file":          {"table": filepath.Join("docs", "things.jsonl")},
		"tokenizer":                    {"tokenizer": filepath.Join("model", "table.safetensors")},
		"must not be empty":            {"path": ""},
	} {
		if _, err := start(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", change, err, want)
		}
	}
}
