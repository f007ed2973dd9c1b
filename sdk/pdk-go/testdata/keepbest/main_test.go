package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestKeepsHighScores(t *testing.T) {
	got := pdktest.Run(t, "filter", &abi.ItemsRequest{
		Items:    []abi.Item{{Score: 0.9}, {Score: 0.1}},
		Settings: json.RawMessage(`{"min": 0.5}`),
	})
	if !slices.Equal(got.Keep, []uint32{0}) {
		t.Errorf("keep %v", got.Keep)
	}
}
