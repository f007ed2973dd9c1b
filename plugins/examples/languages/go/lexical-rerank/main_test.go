package main

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestRatesItemsByTheWordsOfTheQuery(t *testing.T) {
	got := pdktest.Run(t, "rerank", &abi.ItemsRequest{
		Query: abi.Query{Text: "fox dog"},
		Items: []abi.Item{{Content: "a dog"}, {Content: "Fox, dog and fox"}, {Content: "cat"}},
	})
	scores := make([]float64, 3)
	for _, s := range got.Scores {
		scores[s.Row] = s.Score
	}
	if scores[1] <= scores[0] || scores[0] <= 0 || scores[2] != 0 {
		t.Errorf("scores %v, want the second the highest and the third 0", scores)
	}
}
