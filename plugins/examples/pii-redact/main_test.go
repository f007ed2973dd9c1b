package main

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestProcess(t *testing.T) {
	services := pdktest.Use(t, pdktest.Services{})
	got := pdktest.Call{
		Op: abi.OpProcess,
		Request: &abi.ItemsRequest{
			Items: []abi.Item{
				{Content: "nothing here"},
				{Content: "ann@example.com and 10.0.0.1"},
				{Content: ""},
			},
			Settings: json.RawMessage(`{"ip": false, "labels": {"email": "<mail>"}}`),
		},
		Reads:  []string{"text"},
		Writes: []abi.Change{abi.ChangeText},
	}.Run(t)
	if len(got.Edits) != 1 || got.Edits[0].Row != 1 || *got.Edits[0].Content != "<mail> and 10.0.0.1" {
		t.Errorf("edits %+v", got.Edits)
	}
	if logs := services.Logs(); len(logs) == 0 || logs[0].Text != "replaced email 1" {
		t.Errorf("logs %v", logs)
	}
}

// The numbers of an item join its metadata.
func TestCounts(t *testing.T) {
	got := pdktest.Call{
		Op: abi.OpProcess,
		Request: &abi.ItemsRequest{
			Items: []abi.Item{
				{Content: "plain", Metadata: abi.Metadata{"a": "b"}},
				{Content: "ann@example.com, bob@example.com, 10.0.0.1", Metadata: abi.Metadata{"a": "b"}},
			},
			Settings: json.RawMessage(`{"counts": "redacted"}`),
		},
		Reads:  []string{"text", "metadata"},
		Writes: []abi.Change{abi.ChangeText, abi.ChangeMetadata},
	}.Run(t)
	want := abi.Metadata{"a": "b", "redacted": map[string]any{"email": int64(2), "ip": int64(1)}}
	if len(got.Edits) != 1 || got.Edits[0].Row != 1 || !reflect.DeepEqual(got.Edits[0].Metadata, want) {
		t.Errorf("edits %+v", got.Edits)
	}
}

func TestNothingToRedact(t *testing.T) {
	got := pdktest.Run(t, abi.OpProcess, &abi.ItemsRequest{Items: []abi.Item{{Content: "plain"}}})
	if len(got.Edits) != 0 {
		t.Errorf("edits %v", got.Edits)
	}
}
