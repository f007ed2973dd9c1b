package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/seedcase"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

func decodeItems(t *testing.T, docs ...map[string]any) (items []Item, err error) {
	t.Helper()
	data, err := json.Marshal(docs)
	if err != nil {
		t.Fatal(err)
	}
	return items, json.Unmarshal(data, &items)
}

// markedMessages returns an output as the cases have it: with the mark of the context on its message, whose
// content is one text, where the format marks a block.
func markedMessages(output any) any {
	out, ok := output.(*format.AnthropicOutput)
	if !ok {
		return output
	}
	messages := []map[string]any{}
	for _, m := range out.Messages {
		row := map[string]any{"role": m.Role, "content": m.Content}
		if blocks, ok := m.Content.([]format.TextBlock); ok {
			texts := make([]string, len(blocks))
			for i := range blocks {
				texts[i] = blocks[i].Text
			}
			row["content"], row["cache_control"] = strings.Join(texts, "\n\n"), blocks[0].CacheControl
		}
		messages = append(messages, row)
	}
	doc := map[string]any{"messages": messages}
	if out.System != nil {
		doc["system"] = out.System
	}
	return doc
}

func runFormatterCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Items []seedItem `json:"window_items_in_order"`
	}
	seedcase.Decode(t, c, &in)
	window := &Window{Items: plainItems(in.Items), MaxTokens: 1000}
	got := map[string]any{}
	for key, f := range map[string]Formatter{
		"anthropic":         format.Anthropic{},
		"anthropic_caching": format.Anthropic{Caching: true},
		"openai":            format.OpenAI{},
		"generic":           format.Generic{},
	} {
		output, err := f.Format(t.Context(), window)
		if err != nil {
			t.Fatal(err)
		}
		got[key] = markedMessages(output)
	}
	return got
}

func runFuseCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Lists   [][]seedItem `json:"lists"`
		Weights []float64    `json:"weights"`
		K       int          `json:"k"`
		TopK    int          `json:"top_k"`
	}
	seedcase.Decode(t, c, &in)
	var lists [][]Item
	for _, list := range in.Lists {
		lists = append(lists, plainItems(list))
	}
	fused, err := Fuse(lists, FuseOptions{K: in.K, Weights: in.Weights, TopK: in.TopK})
	if errors.Is(err, ErrInvalid) {
		return map[string]any{"error": "ValueError"}
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"fused": seedFused(fused, false)}
}

func seedFused(items []Item, withMethod bool) []any {
	out := []any{}
	for _, it := range items {
		row := map[string]any{"id": it.ID, "score": it.Score, "rrf_raw_score": it.Metadata["rrf_raw_score"]}
		if withMethod {
			row["retrieval_method"] = it.Metadata["retrieval_method"]
		}
		out = append(out, row)
	}
	return out
}

// listRetriever returns items with the given ids, whatever the query.
type listRetriever []string

func (l listRetriever) Retrieve(context.Context, *Query, int) ([]Item, error) {
	var items []Item
	for _, id := range l {
		items = append(items, Item{ID: id, Content: strings.ToUpper(id), Score: 0.5})
	}
	return items, nil
}

// variantRetriever knows a list for each query text.
type variantRetriever map[string][]string

func (v variantRetriever) Retrieve(ctx context.Context, q *Query, topK int) ([]Item, error) {
	return listRetriever(v[q.Text]).Retrieve(ctx, q, topK)
}

type variants []string

func (v variants) TransformQuery(context.Context, *Query) (out []Query, err error) {
	for _, text := range v {
		out = append(out, Query{Text: text})
	}
	return out, nil
}

func runStepsCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		ExistingIDs []string            `json:"existing_ids"`
		Variants    map[string][]string `json:"variants"`
		TopK        int                 `json:"top_k"`
		Rows        []struct {
			Query      string   `json:"query"`
			Retrievers []string `json:"retrievers"`
			Default    string   `json:"default"`
		} `json:"rows"`
		Lists [][]string `json:"lists"`
		Sets  [][]string `json:"sets"`
	}
	seedcase.Decode(t, c, &in)
	switch {
	case in.Variants != nil:
		return transformCase(t, in.ExistingIDs, in.Variants, in.TopK)
	case in.Rows != nil:
		var rows []any
		for _, row := range in.Rows {
			rows = append(rows, classifiedRow(t, row.Query, row.Retrievers, row.Default))
		}
		return map[string]any{"rows": rows}
	case in.Lists != nil:
		h := Hybrid{Fusion: FusionRRF}
		for _, list := range in.Lists {
			h.Parts = append(h.Parts, HybridPart{Retriever: listRetriever(list)})
		}
		fused, err := h.Retrieve(t.Context(), &Query{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"fused": seedFused(fused, true)}
	case in.Sets != nil:
		var lists [][]Item
		for _, set := range in.Sets {
			list, _ := listRetriever(set).Retrieve(t.Context(), nil, 0)
			lists = append(lists, list)
		}
		ids := []string{}
		for _, it := range RoundRobin(lists, in.TopK) {
			ids = append(ids, it.ID)
		}
		return map[string]any{"ids": ids}
	}
	t.Fatal("case is not understood")
	return nil
}

func transformCase(t *testing.T, existing []string, lists map[string][]string, topK int) any {
	var items []Item
	for _, id := range existing {
		items = append(items, Item{ID: id, Content: strings.ToUpper(id) + "-existing", Source: SourceRetrieval, Score: 0.2, Priority: 5})
	}
	step := QueryTransformStep(variants{"v1", "v2"}, variantRetriever(lists), topK)
	out, err := step.Run(t.Context(), &Query{Text: "q"}, items)
	if err != nil {
		t.Fatal(err)
	}
	result := []any{}
	for _, it := range out {
		result = append(result, map[string]any{"id": it.ID, "content": it.Content, "score": it.Score})
	}
	return map[string]any{"result": result}
}

func classifiedRow(t *testing.T, query string, retrievers []string, def string) any {
	routes := map[string]Retriever{}
	for _, name := range retrievers {
		routes[name] = listRetriever{name}
	}
	c := KeywordClassifier{Rules: []KeywordRule{{"tech", []string{"python"}}, {"science", []string{"biology"}}}, Default: "general"}
	items, err := ClassifiedStep(c, routes, def, 0).Run(t.Context(), &Query{Text: query}, nil)
	if errors.Is(err, ErrNoRetriever) {
		return map[string]any{"error": "RetrieverError"}
	}
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return map[string]any{"result": ids}
}
