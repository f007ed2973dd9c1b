package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestRerank(t *testing.T) {
	got := pdktest.Call{
		Op: abi.OpRerank,
		Request: &abi.ItemsRequest{
			TopK: 2,
			Items: []abi.Item{
				{Content: "red apples", Score: 0.9},
				{Content: "red apples", Score: 0.8},
				{Content: "blue sky", Score: 0.7},
			},
			Settings: json.RawMessage(`{"lambda": 0.5}`),
		},
		Reads:  []string{"score", "text", "embedding"},
		Writes: []abi.Change{abi.ChangeOrder},
	}.Run(t)
	if !slices.Equal(got.Order, []uint32{0, 2, 1}) {
		t.Errorf("order %v", got.Order)
	}
}

// With vectors, texts that share no word are near each other.
func TestRerankByVectors(t *testing.T) {
	got := pdktest.Run(t, abi.OpRerank, &abi.ItemsRequest{
		TopK: 3,
		Items: []abi.Item{
			{Content: "a car", Score: 0.9, Embedding: []float32{2, 0}},
			{Content: "an automobile", Score: 0.8, Embedding: []float32{3, 0.1}},
			{Content: "a tree", Score: 0.7, Embedding: []float32{0, 1}},
		},
		Settings: json.RawMessage(`{"lambda": 0.5}`),
	})
	if !slices.Equal(got.Order, []uint32{0, 2, 1}) {
		t.Errorf("order %v", got.Order)
	}
}

func TestNoItems(t *testing.T) {
	if got := pdktest.Run(t, abi.OpRerank, &abi.ItemsRequest{}); got.Order != nil {
		t.Errorf("order %v", got.Order)
	}
}
