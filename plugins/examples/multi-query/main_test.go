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
	answer := func(r services.LLMRequest) pdk.LLMAnswer {
		if r.Model != "m" || r.Schema == nil || !strings.HasPrefix(r.Messages[0].Content, "Write 2 search queries") || !strings.HasSuffix(r.Messages[0].Content, "The documents are bridges.") {
			t.Errorf("%+v", r)
		}
		return pdk.LLMAnswer{JSON: json.RawMessage(`{"queries": ["who erected it", "WHO built it?", "its builder", "one too many"]}`)}
	}
	if got := variants(t, "who built it?", `{"queries": 2, "model": "m", "about": "bridges"}`, answer); got != "who built it?|who erected it|its builder" {
		t.Errorf("%q", got)
	}
}

// A model that does not answer costs the variants, not the search.
func TestNoAnswer(t *testing.T) {
	for _, a := range []pdk.LLMAnswer{{Err: &pdk.ServiceError{Service: "llm", Word: services.Timeout}}, {Text: "no JSON"}, {JSON: json.RawMessage(`{"queries": []}`)}} {
		if got := variants(t, "q", `{}`, func(services.LLMRequest) pdk.LLMAnswer { return a }); got != "" {
			t.Errorf("%+v: %q", a, got)
		}
	}
	if got := variants(t, " ", `{}`, func(services.LLMRequest) pdk.LLMAnswer { t.Error("asked for nothing"); return pdk.LLMAnswer{} }); got != "" {
		t.Errorf("%q", got)
	}
}
