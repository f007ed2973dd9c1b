package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// request has three items; the second one is the best answer.
func request(query, settings string) *abi.ItemsRequest {
	return &abi.ItemsRequest{
		Query: abi.Query{Text: query}, TopK: 3, Settings: json.RawMessage(settings),
		Items: []abi.Item{{Content: "a", Score: 0.9}, {Content: "bb", Score: 0.8}, {Content: "ccc", Score: 0.7}},
	}
}

// server rates each text by its length, in the form of Jina.
func server(r pdk.HTTPRequest) pdk.HTTPResponse {
	var body struct{ Documents []string }
	if r.Method != http.MethodPost || json.Unmarshal(r.Body, &body) != nil {
		return pdk.HTTPResponse{Status: http.StatusBadRequest}
	}
	type result struct {
		Index int     `json:"index"`
		Score float64 `json:"relevance_score"`
	}
	var results []result
	for i, text := range body.Documents {
		results = append(results, result{i, float64(len(text)) / 10})
	}
	out, _ := json.Marshal(map[string]any{"results": results})
	return pdk.HTTPResponse{Status: http.StatusOK, Body: out}
}

func TestRerank(t *testing.T) {
	pdktest.Use(t, pdktest.Services{HTTP: server})
	got := pdktest.Call{Op: abi.OpRerank, Request: request("q", `{"batch": 2}`), Reads: []string{"score", "text", "query_text"}, Writes: []abi.Change{abi.ChangeScore}}.Run(t)
	if len(got.Scores) != 3 || got.Scores[0].Score != 0.1 || got.Scores[1].Score != 0.2 || got.Scores[2].Score != 0.3 {
		t.Errorf("scores %v", got.Scores)
	}
}

func TestNoAnswer(t *testing.T) {
	for want, answer := range map[string]pdk.HTTPResponse{
		"no answer: timeout":   {Error: "timeout"},
		"status 500":           {Status: 500},
		"not that of a rerank": {Status: 200, Body: []byte("<html>")},
	} {
		pdktest.Use(t, pdktest.Services{HTTP: func(pdk.HTTPRequest) pdk.HTTPResponse { return answer }})
		_, err := pdktest.Call{Op: abi.OpRerank, Request: request("q", "")}.In(pdktest.Batch)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNothingToAsk(t *testing.T) {
	pdktest.Use(t, pdktest.Services{HTTP: func(pdk.HTTPRequest) pdk.HTTPResponse { t.Error("asked"); return pdk.HTTPResponse{} }})
	pdktest.Run(t, abi.OpRerank, &abi.ItemsRequest{})
	pdktest.Run(t, abi.OpRerank, request(" ", ""))
}
