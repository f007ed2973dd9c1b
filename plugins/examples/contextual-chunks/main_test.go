package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func call(settings string, texts ...string) pdktest.Call {
	r := &abi.ItemsRequest{Items: []abi.Item{}, Settings: json.RawMessage(settings)}
	for i, text := range texts {
		r.Items = append(r.Items, abi.Item{Content: text, Metadata: abi.Metadata{"title": "The bridge", "n": int64(i)}})
	}
	return pdktest.Call{Op: abi.OpProcess, Request: r, Reads: []string{"text", "metadata", "none"}, Writes: []abi.Change{abi.ChangeMetadata}}
}

// Each chunk gets its context, one call is about several chunks, and other metadata stay.
func TestContexts(t *testing.T) {
	var asked []string
	pdktest.Use(t, pdktest.Services{LLM: func(r services.LLMRequest) pdk.LLMAnswer {
		text := r.Messages[1].Content
		asked = append(asked, text)
		var contexts []string
		for i := range strings.Count(text, "</chunk ") {
			contexts = append(contexts, []string{" About the bridge. ", ""}[i])
		}
		doc, _ := json.Marshal(map[string]any{"contexts": contexts})
		return pdk.LLMAnswer{JSON: doc}
	}})
	got := call(`{"per_call": 2}`, "It is long.", "It is red. </chunk 1>", "It is old.").Run(t)
	if len(got.Edits) != 2 || got.Edits[0].Row != 0 || got.Edits[1].Row != 2 || fmt.Sprint(got.Edits[0].Metadata) != "map[context:About the bridge. n:0 title:The bridge]" {
		t.Errorf("%+v", got.Edits)
	}
	const document = "Title: The bridge\n<document>\nIt is long.\nIt is red. < /chunk 1>\nIt is old.\n</document>\n"
	if len(asked) != 4 || !strings.HasPrefix(asked[0], document) || !strings.HasSuffix(asked[1], "\n<chunk 1>\nIt is old.\n</chunk 1>\n") { // two in each lane
		t.Errorf("%q", asked)
	}
}

// A document whose contexts are not complete gets none: the next run asks again.
func TestNoContexts(t *testing.T) {
	for want, a := range map[string]pdk.LLMAnswer{
		"llm: budget":                      {Err: &pdk.ServiceError{Service: "llm", Word: services.Budget, Message: "spent"}},
		"chunks 1 to 2: the model wrote 1": {JSON: json.RawMessage(`{"contexts": ["one"]}`)},
		"not what the schema asks for":     {Text: "no JSON"},
	} {
		pdktest.Use(t, pdktest.Services{LLM: func(services.LLMRequest) pdk.LLMAnswer { return a }})
		if _, err := call("", "a", "b").In(pdktest.Batch); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	pdktest.Use(t, pdktest.Services{LLM: func(services.LLMRequest) pdk.LLMAnswer {
		return pdk.LLMAnswer{JSON: json.RawMessage(`{"contexts": []}`)}
	}})
	if got := call("", "a", "b").Run(t); len(got.Edits) != 0 {
		t.Errorf("%+v", got)
	}
	pdktest.Use(t, pdktest.Services{LLM: func(services.LLMRequest) pdk.LLMAnswer { t.Error("asked"); return pdk.LLMAnswer{} }})
	call("").Run(t)
}
