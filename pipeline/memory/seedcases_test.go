package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// deviations are the fields that differ from the seed on purpose. The test checks that
// they do. A field covers everything below it.
var deviations = []struct{ id, field, why string }{
	{"anchor-mem-11", "anthropic.messages", "fix: the summary comes first, not after the newest message"},
}

type seedCase struct {
	ID       string          `json:"id"`
	Area     string          `json:"area"`
	Input    json.RawMessage `json:"input"`
	Expected any             `json:"expected"`
}

// seedRunners turn the input of a case into an outcome of the shape of its expected
// value.
var seedRunners = map[string]func(t *testing.T, c seedCase) any{
	"sliding_window": runSlidingCase,
	"summary_buffer": runSummaryCase,
	"memory_manager": runManagerCase,
	"decay":          runDecayCase,
	"memory_gc":      runCollectCase,
	"consolidator":   runConsolidateCase,
}

func TestSeedCases(t *testing.T) {
	data, err := os.ReadFile("../../testdata/seed-cases-memory.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []seedCase }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	areas := make(map[string]bool)
	for _, c := range doc.Cases {
		known[c.ID], areas[c.Area] = true, true
		t.Run(c.ID, func(t *testing.T) { checkSeedCase(t, c) })
	}
	for area := range seedRunners {
		if !areas[area] {
			t.Errorf("area %q has no case", area)
		}
	}
	for _, d := range deviations {
		if !known[d.id] {
			t.Errorf("deviation of %s: no such case", d.id)
		}
	}
}

func checkSeedCase(t *testing.T, c seedCase) {
	run := seedRunners[c.Area]
	if run == nil {
		t.Fatalf("area %q has no runner", c.Area)
	}
	tolerance := 0.0
	if c.Area == "decay" {
		tolerance = 1e-12
	}
	differing := differences("", toJSON(t, run(t, c)), c.Expected, tolerance)
	for _, d := range deviations {
		if d.id != c.ID {
			continue
		}
		before := len(differing)
		differing = slices.DeleteFunc(differing, func(s string) bool {
			path, _, _ := strings.Cut(s, ":")
			return path == d.field || strings.HasPrefix(path, d.field+".")
		})
		if len(differing) == before {
			t.Errorf("%s does not deviate any more (%s)", d.field, d.why)
		}
	}
	for _, d := range differing {
		t.Error(d)
	}
}

// differences lists the places where got is not want, as "path: got, want".
func differences(path string, got, want any, tolerance float64) []string {
	child := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	var out []string
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		keys := make(map[string]bool)
		for key := range want {
			keys[key] = true
		}
		for key := range g {
			keys[key] = true
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			w, wanted := want[key]
			v, present := g[key]
			if wanted != present {
				out = append(out, fmt.Sprintf("%s: present %v, want %v", child(key), present, wanted))
				continue
			}
			out = append(out, differences(child(key), v, w, tolerance)...)
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			break
		}
		for i := range want {
			out = append(out, differences(child(fmt.Sprint(i)), g[i], want[i], tolerance)...)
		}
		return out
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-want) <= tolerance {
			return nil
		}
	default:
		if got == want {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: got %v, want %v", path, got, want)}
}

func TestDifferencesSeesEachKind(t *testing.T) {
	want := map[string]any{"a": 1.0, "b": []any{"x", nil}, "c": map[string]any{"d": true}}
	for name, got := range map[string]any{
		"number": map[string]any{"a": 1.1, "b": []any{"x", nil}, "c": map[string]any{"d": true}},
		"length": map[string]any{"a": 1.0, "b": []any{"x"}, "c": map[string]any{"d": true}},
		"null":   map[string]any{"a": 1.0, "b": []any{"x", "y"}, "c": map[string]any{"d": true}},
		"nested": map[string]any{"a": 1.0, "b": []any{"x", nil}, "c": map[string]any{"d": false}},
		"absent": map[string]any{"b": []any{"x", nil}, "c": map[string]any{"d": true}},
		"extra":  map[string]any{"a": 1.0, "b": []any{"x", nil}, "c": map[string]any{"d": true}, "e": 1.0},
		"type":   []any{},
	} {
		if d := differences("", got, want, 0); len(d) != 1 {
			t.Errorf("%s: %v, want one difference", name, d)
		}
	}
}

func toJSON(t *testing.T, v any) (out any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decodeInput(t *testing.T, c seedCase, to any) {
	t.Helper()
	if err := json.Unmarshal(c.Input, to); err != nil {
		t.Fatal(err)
	}
}

// seedWindow returns a conversation that counts words, and adds turns one second apart.
func seedWindow(t *testing.T, cfg conversation.SlidingWindowConfig, turns [][2]string, after func(s *conversation.SlidingWindow)) *conversation.SlidingWindow {
	t.Helper()
	cfg.Tokenizer, cfg.Logger = pipeline.WordTokenizer(), quiet()
	if cfg.Compactor != nil { // turns are condensed when they leave a full window
		cfg.HighWater, cfg.LowWater, cfg.CompactInline = cfg.MaxTokens, cfg.MaxTokens, true
	}
	now := epoch
	cfg.Now = func() time.Time { now = now.Add(time.Second); return now }
	s, err := conversation.NewSlidingWindow(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		if err := s.Add(t.Context(), pipeline.Role(turn[0]), turn[1]); err != nil {
			t.Fatal(err)
		}
		if after != nil {
			after(s)
		}
	}
	return s
}

func seedItems(t *testing.T, p pipeline.MemoryProvider) (items []pipeline.Item, out []any) {
	t.Helper()
	items, err := p.Items(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		out = append(out, map[string]any{
			"content": it.Content, "source": it.Source, "score": it.Score, "priority": it.Priority,
			"token_count": it.TokenCount, "metadata": it.Metadata,
		})
	}
	return items, out
}

func runSlidingCase(t *testing.T, c seedCase) any {
	var in struct {
		MaxTokens int             `json:"max_tokens"`
		Turns     [][2]string     `json:"turns"`
		Eviction  json.RawMessage `json:"eviction_policy"`
		Recency   string          `json:"recency_scorer"`
	}
	decodeInput(t, c, &in)
	batches := []any{}
	cfg := conversation.SlidingWindowConfig{MaxTokens: in.MaxTokens, OnEvict: func(_ context.Context, evicted []pipeline.Turn) {
		batch := []string{}
		for _, turn := range evicted {
			batch = append(batch, turn.Content)
		}
		batches = append(batches, batch)
	}}
	var byContent struct{ Importance map[string]float64 }
	if in.Eviction[0] == '{' {
		if err := json.Unmarshal(in.Eviction, &byContent); err != nil {
			t.Fatal(err)
		}
		cfg.Eviction = conversation.EvictLeastImportant(func(turn *pipeline.Turn) float64 { return byContent.Importance[turn.Content] })
	}
	switch in.Recency {
	case "default":
	case "exponential rate=2":
		cfg.Recency = conversation.ExponentialRecency(2)
	default:
		t.Fatalf("recency scorer %q is not understood", in.Recency)
	}
	s := seedWindow(t, cfg, in.Turns, nil)
	turns := []any{}
	for _, turn := range s.Turns() {
		metadata := turn.Metadata
		if metadata == nil {
			metadata = map[string]any{}
		}
		turns = append(turns, map[string]any{"role": turn.Role, "content": turn.Content, "token_count": turn.TokenCount, "metadata": metadata})
	}
	_, items := seedItems(t, s)
	return map[string]any{"turns": turns, "total_tokens": s.TotalTokens(), "evicted_batches": batches, "context_items": items}
}

func runSummaryCase(t *testing.T, c seedCase) any {
	var in struct {
		MaxTokens int         `json:"max_tokens"`
		Turns     [][2]string `json:"turns"`
		CompactFn string      `json:"compact_fn"`
	}
	decodeInput(t, c, &in)
	joined := func(turns []pipeline.Turn) string {
		var texts []string
		for _, turn := range turns {
			texts = append(texts, turn.Content)
		}
		return strings.Join(texts, "; ")
	}
	if in.CompactFn == "" {
		return summaryRows(t, in.MaxTokens, in.Turns, joined)
	}
	s := seedWindow(t, conversation.SlidingWindowConfig{
		MaxTokens: in.MaxTokens,
		Compactor: conversation.CompactFunc(func(_ context.Context, turns []pipeline.Turn) (string, error) {
			return "Summary: " + joined(turns), nil
		}),
	}, in.Turns, nil)
	items, rows := seedItems(t, s)
	output, err := format.Anthropic{}.Format(t.Context(), &pipeline.Window{Items: items, MaxTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"summary": s.Summary(), "summary_tokens": items[0].TokenCount, "context_items": rows, "anthropic": output}
}

func summaryRows(t *testing.T, maxTokens int, turns [][2]string, joined func([]pipeline.Turn) string) any {
	run := func(compactor pipeline.Compactor) []any {
		rows := []any{}
		seedWindow(t, conversation.SlidingWindowConfig{MaxTokens: maxTokens, Compactor: compactor}, turns, func(s *conversation.SlidingWindow) {
			if text := s.Summary(); text != "" {
				rows = append(rows, text)
			} else {
				rows = append(rows, nil)
			}
		})
		return rows
	}
	return map[string]any{
		"summary_after_each_turn_progressive": run(conversation.ProgressiveCompactFunc(func(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
			if previous == "" {
				return "Summary: " + joined(turns), nil
			}
			return previous + " | " + joined(turns), nil
		})),
		"summary_after_each_turn_failing_compact": run(conversation.CompactFunc(func(context.Context, []pipeline.Turn) (string, error) {
			return "", errors.New("no model")
		})),
	}
}

func runManagerCase(t *testing.T, c seedCase) any {
	var in struct {
		Facts        []string
		Expired      []string
		Conversation [][2]string
		Priority     int `json:"priority_argument"`
	}
	decodeInput(t, c, &in)
	m := newManager(t, Config{Window: conversation.SlidingWindowConfig{Priority: in.Priority}})
	var first Entry
	duplicate := false
	for i, content := range in.Facts {
		e := Entry{Content: content}
		if i == 0 {
			e.Tags = []string{"preference"}
		}
		stored, added, err := m.Add(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = stored
		}
		duplicate = duplicate || !added && stored.ID == first.ID
	}
	for _, content := range in.Expired {
		mustAdd(t, m, Entry{Content: content, ExpiresAt: epoch.Add(-time.Hour)})
	}
	for _, turn := range in.Conversation {
		if err := m.AddMessage(t.Context(), pipeline.Role(turn[0]), turn[1]); err != nil {
			t.Fatal(err)
		}
	}
	items, _ := seedItems(t, m)
	rows := []any{}
	for _, it := range items {
		rows = append(rows, map[string]any{
			"content": it.Content, "source": it.Source, "score": it.Score, "priority": it.Priority, "token_count": it.TokenCount,
			"role": it.Metadata["role"], "memory_type": it.Metadata["memory_type"], "tags": it.Metadata["tags"],
		})
	}
	return map[string]any{"duplicate_returns_existing_entry": duplicate, "content_hash_of_first": first.ContentHash, "items": rows}
}

func runDecayCase(t *testing.T, c seedCase) any {
	var in struct {
		Decay []struct {
			Kind        string
			Args        []float64
			Hours       float64 `json:"hours_since_access"`
			AccessCount int     `json:"access_count"`
		} `json:"decay_rows"`
		Recency []struct {
			Scorer       string
			Index, Total int
		} `json:"recency_rows"`
	}
	decodeInput(t, c, &in)
	retention, recency := []float64{}, []float64{}
	for _, row := range in.Decay {
		var decay Decay
		switch row.Kind {
		case "ebbinghaus":
			decay = Ebbinghaus{Strength: row.Args[0], Reinforcement: row.Args[1]}
		case "linear":
			decay = Linear{HalfLife: time.Duration(row.Args[0] * float64(time.Hour))}
		default:
			t.Fatalf("decay %q is not understood", row.Kind)
		}
		e := &Entry{LastAccessed: epoch, AccessCount: row.AccessCount}
		retention = append(retention, decay.Retention(e, epoch.Add(time.Duration(row.Hours*float64(time.Hour)))))
	}
	scorers := map[string]conversation.RecencyScorer{
		"exp2": conversation.ExponentialRecency(2), "lin0.5": conversation.LinearRecency(0.5), "lin0.2": conversation.LinearRecency(0.2),
	}
	for _, row := range in.Recency {
		recency = append(recency, scorers[row.Scorer](row.Index, row.Total))
	}
	return map[string]any{"retention": retention, "recency": recency, "tolerance": 1e-12}
}

func runCollectCase(t *testing.T, c seedCase) any {
	var in struct {
		Entries   [][3]any
		Threshold float64
	}
	decodeInput(t, c, &in)
	m := newManager(t, Config{})
	retention := make(map[string]float64)
	for _, row := range in.Entries {
		e := Entry{ID: row[0].(string), Content: row[0].(string)}
		retention[e.ID] = row[1].(float64)
		if row[2].(bool) {
			e.ExpiresAt = epoch
		}
		mustAdd(t, m, e)
	}
	events := []any{}
	ids := func(entries []Entry) (out []string) {
		for i := range entries {
			out = append(out, entries[i].ID)
		}
		return out
	}
	collector := Collector{
		Decay:     DecayFunc(func(e *Entry, _ time.Time) float64 { return retention[e.ID] }),
		Threshold: in.Threshold,
		OnExpired: func(_ context.Context, entries []Entry) {
			events = append(events, []any{"on_expiry_prune", ids(entries)})
		},
		OnDecayed: func(_ context.Context, entries []Entry, threshold float64) {
			events = append(events, []any{"on_decay_prune", ids(entries), threshold})
		},
	}
	collect := func(dryRun bool) map[string]any {
		out, err := m.Collect(t.Context(), collector, dryRun)
		if err != nil || out.DryRun != dryRun {
			t.Fatal(out, err)
		}
		return map[string]any{"expired_pruned": out.Expired, "decayed_pruned": out.Decayed, "total_remaining": out.Remaining}
	}
	stored := func() []Entry {
		entries, err := m.List(t.Context(), Filter{Expired: true})
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	dry := collect(true)
	dry["entries_still_stored"] = len(stored())
	applied := collect(false)
	applied["ids_left"] = ids(stored())
	return map[string]any{"dry_run": dry, "applied": applied, "callback_events": events}
}

func runConsolidateCase(t *testing.T, c seedCase) any {
	var in struct {
		Threshold  float64
		Embeddings embeddings
		Existing   []struct {
			ID, Content string
			Tags        []string
			Relevance   float64
			AccessCount int `json:"access_count"`
		}
		New       [][2]string
		Tags      []string `json:"n2_tags"`
		Relevance float64  `json:"n2_relevance"`
	}
	decodeInput(t, c, &in)
	m := newManager(t, Config{})
	var existing, fresh []*Entry
	add := func(to *[]*Entry, e Entry) {
		completed, err := m.fresh(e)
		if err != nil {
			t.Fatal(err)
		}
		*to = append(*to, completed)
	}
	for _, e := range in.Existing {
		add(&existing, Entry{ID: e.ID, Content: e.Content, Tags: e.Tags, Relevance: e.Relevance, AccessCount: e.AccessCount})
	}
	for _, row := range in.New {
		e := Entry{ID: row[0], Content: row[1]}
		if e.ID == "n2" {
			e.Tags, e.Relevance = in.Tags, in.Relevance
		}
		add(&fresh, e)
	}
	decisions, err := (&SimilarityConsolidator{Embedder: in.Embeddings, Threshold: in.Threshold}).Consolidate(t.Context(), fresh, existing)
	if err != nil {
		t.Fatal(err)
	}
	actions, keepsHash := []any{}, false
	for _, d := range decisions {
		row := map[string]any{"action": d.Action, "id": nil, "content": nil, "tags": nil, "access_count": nil, "relevance": nil}
		if e := d.Entry; e != nil {
			row = map[string]any{"action": d.Action, "id": e.ID, "content": e.Content, "tags": orEmpty(e.Tags), "access_count": e.AccessCount, "relevance": e.Relevance}
		}
		if d.Action == ActionUpdate {
			keepsHash = d.Entry.ContentHash == existing[0].ContentHash
		}
		actions = append(actions, row)
	}
	return map[string]any{"actions": actions, "update_keeps_old_content_hash": keepsHash}
}
