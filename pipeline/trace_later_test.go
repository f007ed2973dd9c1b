package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// isolatedEdit is a step that runs a plugin: it edits a copy, and says that it does.
type isolatedEdit func(items []Item) []Item

func (isolatedEdit) Isolated() {}

func (e isolatedEdit) Run(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	return e(core.CloneItems(items)), nil
}

// scribbler keeps the list it was given and what it returned, and overwrites both as soon
// as it can: when another one runs, and when the build is over.
type scribbler struct {
	edit func(items []Item) []Item
	kept [][]Item
}

func (s *scribbler) Run(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	out := s.edit(slices.Clone(items))
	s.kept = append(s.kept, items, out)
	return out, nil
}

func (s *scribbler) scribble() {
	for _, list := range s.kept {
		for i := range list {
			list[i] = Item{ID: "scribble", Content: "scribble", Source: SourceTool, Priority: 1, Score: 1}
		}
	}
}

// Stories are the same whether steps are isolated, so that lists are compared after the
// build, or not; and nothing that a step does to its lists afterwards changes them.
func TestStoriesDoNotDependOnWhenListsAreCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	for range 2000 {
		repeat := r.IntN(2) == 0
		cfg := Config{Explain: true, MaxTokens: 60, Tokenizer: WordTokenizer()}
		if r.IntN(2) == 0 {
			cfg.SystemPrompts = []SystemPrompt{{Content: "be brief"}}
		}
		plain, mixed := cfg, cfg
		var scribblers []*scribbler
		for i := range 1 + r.IntN(6) {
			edit := storyEdit(r, repeat)
			name := fmt.Sprint("step", i)
			if r.IntN(4) == 0 {
				find := RetrieverStep(fixedRetriever(edit(nil)), 10)
				plain.Steps = append(plain.Steps, StepConfig{Name: name, Step: find})
				mixed.Steps = append(mixed.Steps, StepConfig{Name: name, Step: find})
				continue
			}
			plain.Steps = append(plain.Steps, StepConfig{Name: name, Step: native(func(items []Item) []Item { return edit(core.CloneItems(items)) })})
			step := StepConfig{Name: name, Step: isolatedEdit(edit)}
			if r.IntN(3) == 0 {
				s := &scribbler{edit: edit}
				scribblers = append(scribblers, s)
				step.Step = s
			}
			mixed.Steps = append(mixed.Steps, step)
		}
		want := mustBuild(t, plain).Diagnostics.Items.All()
		got := mustBuild(t, mixed)
		for _, s := range scribblers {
			s.scribble()
		}
		agrees(t, got)
		if a, b := traces(want), traces(got.Diagnostics.Items.All()); !slices.Equal(a, b) {
			t.Fatalf("got  %q\nwant %q", b, a)
		}
	}
}

func traces(all []explain.ItemTrace) (out []string) {
	for i := range all {
		out = append(out, fmt.Sprintf("%s %s %v %d: %q", all[i].ID, all[i].Outcome, all[i].Score, all[i].Tokens, briefs(&all[i])))
	}
	return out
}

// A list that a retriever gives out again and again, and changes in between, is not what
// a trace is told from.
func TestTracesOfARetrieverThatChangesItsList(t *testing.T) {
	list := docs("a", "b")
	keep := isolatedEdit(func(items []Item) []Item { return items })
	r := mustBuild(t, Config{Explain: true, Steps: []StepConfig{
		{Name: "find", Step: RetrieverStep(fixedRetriever(list), 2)}, {Name: "keep", Step: keep},
	}})
	list[0] = Item{ID: "x", Content: "x", Source: SourceTool, Priority: 1}
	if s := traceOf(t, r.Diagnostics, "a"); s.Outcome != explain.InWindow || len(s.Events) != 2 {
		t.Errorf("%q", briefs(s))
	}
	agrees(t, r)
}
