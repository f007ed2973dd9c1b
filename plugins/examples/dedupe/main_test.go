package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestFilter(t *testing.T) {
	got := pdktest.Call{
		Op: abi.OpFilter,
		Request: &abi.ItemsRequest{
			Items: []abi.Item{
				{Content: "The cat sat on the mat.", Score: 0.2},
				{Content: "the cat sat on the mat", Score: 0.8},
				{Content: "A dog.", Score: 0.1},
			},
			Settings: json.RawMessage(`{"threshold": 0.9}`),
		},
		Reads:  []string{"score", "text", "embedding"},
		Writes: []abi.Change{abi.ChangeKeep},
	}.Run(t)
	if !slices.Equal(got.Keep, []uint32{1, 2}) {
		t.Errorf("keeps %v", got.Keep)
	}
}

func TestNoItems(t *testing.T) {
	if got := pdktest.Run(t, abi.OpFilter, &abi.ItemsRequest{}); got.Keep != nil {
		t.Errorf("keeps %v", got.Keep)
	}
}
