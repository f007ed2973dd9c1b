package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// variants are the texts of the queries, "" for no change.
func variants(t *testing.T, query, settings string, answer func(services.LLMRequest) pdk.LLMAnswer) string {
	t.Helper()
	pdktest.Use(t, pdktest.Services{LLM: answer})
	reply, err := pdktest.Document[abi.TransformReply](abi.OpTransformQuery, abi.QueryRequest{Query: abi.Query{Text: query}, Settings: json.RawMessage(settings)})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	if reply != nil {
		for _, q := range reply.Queries {
			texts = append(texts, q.Text)
		}
	}
	return strings.Join(texts, "|")
}

func TestTransform(t *testing.T) {
	var asked []services.LLMRequest
	answer := func(r services.LLMRequest) pdk.LLMAnswer {
		asked = append(asked, r)
		return pdk.LLMAnswer{Text: "It is " + []string{"blue", "green", "blue"}[len(asked)-1] + "."}
	}
	if got := variants(t, "what colour?", `{"passages": 3, "model": "m", "about": "colours"}`, answer); got != "what colour?|what colour?\nIt is blue.|what colour?\nIt is green." {
		t.Errorf("%q", got)
	}
	if len(asked) != 3 || asked[0].Model != "m" || asked[1].MaxTokens != 200 || asked[0].Messages[0].Content == asked[1].Messages[0].Content || !strings.Contains(asked[2].Messages[0].Content, "The documents are colours.") {
		t.Errorf("%+v", asked)
	}
	asked = nil
	if got := variants(t, "what colour?", `{"keep_query": false}`, answer); got != "what colour?\nIt is blue." {
		t.Errorf("%q", got)
	}
}

// A model that does not answer costs the passages, not the search.
func TestNoAnswer(t *testing.T) {
	none := func(services.LLMRequest) pdk.LLMAnswer {
		return pdk.LLMAnswer{Err: &pdk.ServiceError{Service: "llm", Word: services.Timeout}}
	}
	if got := variants(t, "q", `{}`, none); got != "" {
		t.Errorf("%q", got)
	}
	if got := variants(t, " ", `{}`, func(services.LLMRequest) pdk.LLMAnswer { t.Error("asked for nothing"); return pdk.LLMAnswer{} }); got != "" {
		t.Errorf("%q", got)
	}
}
