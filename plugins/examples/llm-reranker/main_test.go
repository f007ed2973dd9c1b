package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func request(settings string) *abi.ItemsRequest {
	return &abi.ItemsRequest{
		Query: abi.Query{Text: "who?"}, TopK: 3, Settings: json.RawMessage(settings),
		Items: []abi.Item{{Content: "a", Score: 0.9}, {Content: "b", Score: 0.8}, {Content: "c", Score: 0.7}},
	}
}

// One call orders all candidates.
func TestRerank(t *testing.T) {
	calls := 0
	pdktest.Use(t, pdktest.Services{LLM: func(r services.LLMRequest) pdk.LLMAnswer {
		calls++
		return pdk.LLMAnswer{JSON: json.RawMessage(`{"order": [2, 1]}`)}
	}})
	got := pdktest.Call{Op: abi.OpRerank, Request: request(`{"candidates": 2}`), Reads: []string{"score", "text", "query_text"}, Writes: []abi.Change{abi.ChangeOrder}}.Run(t)
	if !slices.Equal(got.Order, []uint32{1, 0, 2}) || calls != 2 { // one in each lane
		t.Errorf("order %v after %d calls", got.Order, calls)
	}
}

// Without a question there is nothing to ask.
func TestNothingToAsk(t *testing.T) {
	pdktest.Use(t, pdktest.Services{LLM: func(r services.LLMRequest) pdk.LLMAnswer { t.Error("asked"); return pdk.LLMAnswer{} }})
	for _, r := range []*abi.ItemsRequest{{}, {Query: abi.Query{Text: " "}, Items: request("").Items}, {Query: abi.Query{Text: "q"}, Items: request("").Items[:1]}} {
		pdktest.Run(t, abi.OpRerank, r)
	}
}
