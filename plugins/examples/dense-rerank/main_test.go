package main

import (
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestRerank(t *testing.T) {
	got := pdktest.Call{
		Op: abi.OpRerank,
		Request: &abi.ItemsRequest{
			Query: abi.Query{Text: "a vehicle", Embedding: []float32{1, 0}},
			TopK:  2,
			Items: []abi.Item{
				{Score: 0.9, Embedding: []float32{0, 1}},
				{Score: 0.5, Embedding: []float32{1, 0.1}},
			},
			Settings: json.RawMessage(`{"weight": 1}`),
		},
		Reads:  []string{"score", "embedding", "query_embedding"},
		Writes: []abi.Change{abi.ChangeScore},
	}.Run(t)
	if len(got.Scores) != 2 || got.Scores[0].Score != 0 || got.Scores[1].Score != 1 {
		t.Errorf("scores %v", got.Scores)
	}
}

func TestNoItems(t *testing.T) {
	if got := pdktest.Run(t, abi.OpRerank, &abi.ItemsRequest{}); got.Scores != nil {
		t.Errorf("scores %v", got.Scores)
	}
}
