package imports

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/services"
)

// No document makes a decoder panic, and what it accepts is within the bounds.
func FuzzServiceRequests(f *testing.F) {
	f.Add([]byte(`{"texts":["a","b"],"side":"query"}`))
	f.Add([]byte(`{"text":"a","k":5,"filter":[{"field":"path","op":"prefix","values":["a/"]}]}`))
	f.Add([]byte(`{"requests":[{"model":"m","messages":[{"role":"user","content":"x"}],"schema":{"type":"object"},"temperature":1}]}`))
	f.Add([]byte(`{"requests":[{"messages":[{"role":"user"}],"messages":null}],"texts":[[]],"filter":{}}`))
	f.Add([]byte(`{"by":"vectors","vector":1,"dimension":2}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if q, err := decodeEmbed(doc); err == nil && (len(q.Texts) > services.MaxEmbedTexts || q.Side == "") {
			t.Errorf("%d texts, side %q", len(q.Texts), q.Side)
		}
		if q, err := decodeSearch(doc); err == nil && (q.K < 1 || q.K > services.MaxHits || len(q.Filter) > services.MaxConditions || q.Text == "" && q.SearchRequest.Vector == 0) {
			t.Errorf("search %+v", q)
		}
		requests, err := decodeLLM(doc)
		if err != nil {
			return
		}
		for _, r := range requests {
			if len(r.Messages) == 0 || len(r.Messages) > services.MaxLLMMessages || r.MaxTokens < 0 {
				t.Errorf("request %+v", r)
			}
			if check, err := checkOf(r.Schema); err == nil && check != nil {
				_ = check(json.RawMessage(doc)) // it returns
			}
		}
		if len(requests) > services.MaxLLMRequests {
			t.Errorf("%d requests", len(requests))
		}
	})
}

// A megabyte of short values is counted before there is room for them.
func TestListsAreCounted(t *testing.T) {
	long := `[` + strings.Repeat(`{},`, 300_000) + `{}]`
	for _, doc := range []string{`{"texts":` + strings.ReplaceAll(long, "{}", `""`) + `}`, `{"requests":` + long + `}`, `{"text":"x","filter":` + long + `}`} {
		allocated := testing.AllocsPerRun(1, func() {
			_, e := decodeEmbed([]byte(doc))
			_, s := decodeSearch([]byte(doc))
			_, l := decodeLLM([]byte(doc))
			if e == nil && s == nil && l == nil {
				t.Error("the document passes")
			}
		})
		if allocated > 10_000 {
			t.Errorf("%.40s: %v allocations", doc, allocated)
		}
	}
}
