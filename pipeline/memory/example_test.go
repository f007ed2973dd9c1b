package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

func Example() {
	ctx := context.Background()
	m, err := memory.New(memory.Config{
		Tokenizer:  pipeline.WordTokenizer(),
		Facts:      memory.NewFacts(),
		MaxFacts:   1, // the one that matters most to the query
		FactsFirst: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, content := range []string{"Ann prefers tea.", "Ann lives in Rome."} {
		if _, _, err := m.Add(ctx, memory.Entry{Content: content}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := m.AddMessage(ctx, pipeline.RoleUser, "Where does Ann live?"); err != nil {
		fmt.Println(err)
		return
	}
	p, err := pipeline.New(pipeline.Config{Tokenizer: pipeline.WordTokenizer(), Memory: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.Build(ctx, pipeline.Query{Text: "Where does Ann live?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Output)
	// Output:
	// === MEMORY ===
	// Ann lives in Rome.
	// Where does Ann live?
}

func ExampleManager_Add() {
	m, err := memory.New(memory.Config{Facts: memory.NewFacts()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for _, user := range []string{"ann", "ann", "bob"} {
		e, added, err := m.Add(ctx, memory.Entry{Content: "prefers tea", UserID: user, Tags: []string{"drink"}})
		fmt.Println(user, e.ContentHash, added, err)
	}
	found, err := m.Search(ctx, "TEA", 0, memory.Filter{UserID: "bob", Tags: []string{"drink"}})
	fmt.Println(len(found), err)
	// Output:
	// ann 8890d01119face08360ce16a0dd360ad true <nil>
	// ann 8890d01119face08360ce16a0dd360ad false <nil>
	// bob 8890d01119face08360ce16a0dd360ad true <nil>
	// 1 <nil>
}

func ExampleManager_Collect() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := memory.New(memory.Config{Facts: memory.NewFacts(), Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for _, e := range []memory.Entry{
		{ID: "often", Content: "a", AccessCount: 40},
		{ID: "never", Content: "b"},
		{ID: "until noon", Content: "c", ExpiresAt: now.Add(12 * time.Hour)},
	} {
		if _, _, err := m.Add(ctx, e); err != nil {
			fmt.Println(err)
			return
		}
	}
	now = now.Add(24 * time.Hour)
	for _, dryRun := range []bool{true, false} {
		c, err := m.Collect(ctx, memory.Collector{Decay: memory.DefaultEbbinghaus}, dryRun)
		fmt.Printf("%+v %v\n", c, err)
	}
	// Output:
	// {Expired:1 Decayed:1 Remaining:1 DryRun:true} <nil>
	// {Expired:1 Decayed:1 Remaining:1 DryRun:false} <nil>
}

func ExampleEntry() {
	var e memory.Entry
	err := json.Unmarshal([]byte(`{"id": "e1", "content": "prefers tea", "user_id": "ann", "tags": ["drink"]}`), &e)
	fmt.Println(e.Relevance, e.Type, err)
	err = json.Unmarshal([]byte(`{"content": "prefers tea", "user": "ann"}`), &e)
	fmt.Println(strings.Split(err.Error(), " (")[0])
	// Output:
	// 0.5 semantic <nil>
	// fact: user: unknown key: invalid value
}

func ExampleLog() {
	ctx := context.Background()
	s := store.NewMemory() // a store on disk survives the process
	open := func() (*conversation.SlidingWindow, error) {
		log := conversation.NewLog(s, store.DefaultTenant, "conversation-1")
		w, err := conversation.NewSlidingWindow(conversation.SlidingWindowConfig{MaxTokens: 5, Tokenizer: pipeline.WordTokenizer(), Log: log})
		if err != nil {
			return nil, err
		}
		return w, log.Load(ctx, w)
	}
	for _, text := range []string{"Good morning to you!", "And to you!"} {
		w, err := open()
		if err == nil {
			err = w.Add(ctx, pipeline.RoleUser, text)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	w, err := open()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range w.Turns() {
		fmt.Println(t.Sequence, t.Content)
	}
	// Output:
	// 2 And to you!
}

func ExampleGraph() {
	g := memory.NewGraph([]memory.Relation{
		{Source: "Ann", Relation: "works on", Target: "Apollo"},
		{Source: "Bob", Relation: "works on", Target: "Apollo"},
		{Source: "Ann", Fact: "fact-1"},
		{Source: "Bob", Fact: "fact-2"},
	})
	about, _ := g.Mentioned(context.Background(), "Who else works with ann?") // only a context that ends is an error
	fmt.Println(g.Related(2, about...))
	fmt.Println(g.RelatedFacts(2, 0, about...))
	// Output:
	// [Ann Apollo Bob]
	// [fact-1 fact-2]
}

// table is an embedder with a vector for each text that it knows.
type table map[string][]float32

func (t table) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "table", Dimension: 2}, nil
}

func (t table) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = t[text]
	}
	return out, nil
}

func ExampleSimilarityConsolidator() {
	vectors := table{"likes tea": {1, 0}, "likes green tea": {0.9, 0.1}, "has a cat": {0, 1}}
	m, err := memory.New(memory.Config{
		Facts:        memory.NewFacts(),
		Consolidator: &memory.SimilarityConsolidator{Embedder: vectors},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, content := range []string{"likes tea", "likes green tea", "has a cat", "likes tea"} {
		decisions, err := m.Remember(context.Background(), memory.Entry{Content: content})
		fmt.Println(content+":", decisions[0].Action, err)
	}
	// Output:
	// likes tea: add <nil>
	// likes green tea: update <nil>
	// has a cat: add <nil>
	// likes tea: none <nil>
}
