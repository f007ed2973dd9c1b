package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// listStep is an isolated step that makes a new list of the items.
type listStep struct {
	run func(items, spare []Item) ([]Item, error)
}

func (s listStep) Isolated() {}

func (s listStep) Run(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	return s.run(items, nil)
}

// writerStep does the same as a list writer.
type writerStep struct{ listStep }

func (s writerStep) RunInto(_ context.Context, _ *Query, items, spare []Item) ([]Item, error) {
	return s.run(items, spare)
}

// isolatedAppender adds items.
type isolatedAppender func(items []Item) []Item

func (a isolatedAppender) Isolated() {}

func (a isolatedAppender) Append(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	return a(items), nil
}

func (a isolatedAppender) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return runAppender(ctx, a, q, items)
}

// The ways in which a writer may answer.
var writes = map[string]func(items, spare []Item) ([]Item, error){
	"half": func(items, spare []Item) ([]Item, error) {
		for i := 0; i < len(items); i += 2 {
			spare = append(spare, items[i])
		}
		return spare, nil
	},
	"reversed": func(items, spare []Item) ([]Item, error) {
		spare = append(spare, items...)
		slices.Reverse(spare)
		return spare, nil
	},
	"all":  func(items, _ []Item) ([]Item, error) { return items, nil },
	"tail": func(items, _ []Item) ([]Item, error) { return items[min(1, len(items)):], nil },
	"own":  func(items, _ []Item) ([]Item, error) { return slices.Clone(items), nil },
	"more": func(items, spare []Item) ([]Item, error) { // longer than what is lent, some day
		return append(append(spare, items...), docs("m1", "m2", "m3")...), nil
	},
	"fails": func(items, spare []Item) ([]Item, error) {
		_ = append(spare, docs("never")...)
		return nil, errors.New("no answer")
	},
	"invalid": func(items, spare []Item) ([]Item, error) {
		return append(append(spare, items...), Item{ID: "bad", TokenCount: -1}), nil
	},
}

// keeper is native code that keeps the lists it receives, and a copy of their contents.
type keeper struct {
	mu   sync.Mutex
	kept [][2][]Item
}

func (k *keeper) run(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, [2][]Item{items, core.CloneItems(items)})
	return items, nil
}

// check compares the kept lists with their copies.
func (k *keeper) check(t *testing.T) {
	t.Helper()
	for _, pair := range k.kept {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Fatalf("a list that a step kept is %v, was %v", ids(pair[0]), ids(pair[1]))
		}
	}
}

// listSteps makes a random pipeline, once with writers and once with the same steps
// that are none.
func listSteps(r *rand.Rand, k *keeper) (lent, plain []StepConfig) {
	names := []string{"half", "reversed", "all", "tail", "own", "more", "fails", "invalid"}
	add := func(cfg StepConfig, other Step) {
		cfg.Name, cfg.Priority = fmt.Sprintf("step %d", len(lent)), 10+len(lent)/4
		lent = append(lent, cfg)
		cfg.Step = other
		plain = append(plain, cfg)
	}
	for range 2 + r.IntN(8) {
		switch kind := r.IntN(10); {
		case kind < 6:
			s := listStep{writes[names[r.IntN(len(names))]]}
			add(StepConfig{Step: writerStep{s}, OnError: Skip}, s)
		case kind < 8:
			found := docs(fmt.Sprintf("r%d", len(lent)), fmt.Sprintf("s%d", len(lent)))
			s := isolatedAppender(func([]Item) []Item { return found })
			add(StepConfig{Step: s}, s)
		default:
			s := StepFunc(k.run)
			add(StepConfig{Step: s, OnError: []OnError{Raise, Skip}[r.IntN(2)]}, s)
		}
	}
	return lent, plain
}

// What a build returns does not depend on whether its lists are used again, also when
// others run at the same time, and neither a result nor a list that native code kept
// changes afterwards.
func TestListsThatAreUsedAgainChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var k keeper
		lent, plain := listSteps(r, &k)
		system := []SystemPrompt{{Content: "s"}}
		want := ids(mustBuild(t, Config{Steps: plain, SystemPrompts: system}).Window.Items)
		p := mustNew(t, Config{Steps: lent, SystemPrompts: system})
		results := make([]*Result, 6)
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() {
				for j := range 3 {
					results[3*i+j], _ = p.Build(context.Background(), Query{Text: "q"})
				}
			})
		}
		all.Wait()
		for _, got := range results {
			if got == nil || !slices.Equal(ids(got.Window.Items), want) {
				t.Fatalf("round %d: with lists that are used again the window is %v, want %v", round, got, want)
			}
		}
		k.check(t)
	}
}

// A step may read the items while others of its group are merged, which the race detector
// sees.
func TestAGroupKeepsItsItems(t *testing.T) {
	merged := make(chan struct{})
	var seen []string
	one := isolatedAppender(func([]Item) []Item { return docs("x") })
	late := isolatedAppender(func(items []Item) []Item {
		seen = ids(items)
		<-merged
		return nil
	})
	told := Callback{OnStepEnd: func(_ context.Context, step string, _ ItemsView, _ time.Duration) error {
		if step == "two" {
			close(merged)
		}
		return nil
	}}
	mustBuild(t, Config{Callbacks: []Callback{told}, Steps: []StepConfig{
		{Name: "zero", Priority: 10, Step: isolatedAppender(func([]Item) []Item { return docs("a", "b", "c", "d", "e", "f", "g") })},
		{Name: "half", Priority: 20, Step: writerStep{listStep{writes["half"]}}},
		{Name: "one", Step: one}, {Name: "two", Step: one}, {Name: "three", Step: late},
	}})
	if !slices.Equal(seen, []string{"a", "c", "e", "g"}) {
		t.Errorf("the third of a group is given %v", seen)
	}
}

// Two steps that follow each other are lent different lists, the third the first one's;
// native code that may keep a list ends that, and an empty scratch holds no item.
func TestListsAreLentInTurns(t *testing.T) {
	l := &itemList{}
	at := func(items []Item) *Item { return &items[:1][0] }
	first := append(l.lend(2), docs("a", "b")...)
	l.take(first)
	second := append(l.lend(2), docs("a")...)
	if at(first) == at(second) {
		t.Fatal("a step was lent the list of the items")
	}
	l.take(second)
	if third := l.lend(2); at(third) != at(first) {
		t.Error("a list that nobody sees is not used again")
	}
	l.take(second) // the third step returned what it was given
	l.giveUp()
	if l.room[1] != nil || at(l.lend(2)) == at(second) {
		t.Error("a list that was shown is lent")
	}
	_ = append(l.lend(2), docs("never")...)
	l.take(nil)
	l.release()
	for _, room := range l.room {
		for _, it := range room[:cap(room)] {
			if it.ID != "" {
				t.Errorf("item %s outlives its build", it.ID)
			}
		}
	}
	if l.lend(values.LongestKept+1) != nil {
		t.Error("a very long list is kept")
	}
}

// blocked transforms a query when the test closes the channel, even after the build has ended.
type blocked chan struct{}

func (b blocked) TransformQuery(_ context.Context, q *Query) ([]Query, error) {
	<-b
	return []Query{*q}, nil
}

// nothing finds nothing.
type nothing struct{}

func (nothing) Retrieve(context.Context, *Query, int) ([]Item, error) { return nil, nil }

// An abandoned step keeps the list that it received, which the build never lends again.
func TestAStepLeftBehindKeepsItsItems(t *testing.T) {
	var lent []*Item
	write := writerStep{listStep{func(items, spare []Item) ([]Item, error) {
		lent = append(lent, &spare[:1][0])
		return append(spare, items...), nil
	}}}
	late := make(blocked)
	defer close(late)
	mustBuild(t, Config{Steps: []StepConfig{
		{Name: "find", Priority: 10, Step: isolatedAppender(func([]Item) []Item { return docs("a", "b") })},
		{Name: "one", Priority: 20, Step: write},
		{Name: "late", Priority: 30, Step: QueryTransformStep(late, nothing{}, 0), Timeout: time.Millisecond, OnError: Skip},
		{Name: "two", Priority: 40, Step: write},
		{Name: "three", Priority: 50, Step: write},
	}})
	if slices.Contains(lent[1:], lent[0]) {
		t.Error("the list of a step that was left behind is lent")
	}
}

// Part of a lent list is a list of the build as well.
func TestPartOfALentListIsNotLent(t *testing.T) {
	l := &itemList{}
	first := append(l.lend(3), docs("a", "b", "c")...)
	l.take(first[1:])
	if second := l.lend(2); &second[:1][0] == &first[0] {
		t.Error("a step was lent the list that the items lie in")
	}
}

// What a step has written when it ends its goroutine does not outlive the build.
func TestItemsOfAStepThatExits(t *testing.T) {
	var lent []Item
	p := mustNew(t, Config{Steps: []StepConfig{
		{Name: "find", Priority: 10, Step: isolatedAppender(func([]Item) []Item { return docs("a", "b") })},
		{Name: "exits", Priority: 20, Step: writerStep{listStep{func(items, spare []Item) ([]Item, error) {
			lent = append(spare, items...)
			runtime.Goexit()
			return lent, nil
		}}}},
	}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.Build(t.Context(), Query{Text: "q"})
	}()
	<-done
	if got := ids(lent); !slices.Equal(got, []string{"", ""}) {
		t.Errorf("%v outlive their build", got)
	}
}

// Builds whose steps are writers make no list but the window's.
func BenchmarkWriters(b *testing.B) {
	half, all := listStep{writes["half"]}, listStep{writes["reversed"]}
	for name, steps := range map[string][]Step{"lent": {writerStep{half}, writerStep{all}}, "made": {half, all}} {
		b.Run(name, func(b *testing.B) {
			cfg := Config{MaxTokens: 100, Tokenizer: WordTokenizer(), Steps: []StepConfig{
				{Name: "search", Step: RetrieverStep(fixedRetriever(benchItems(1000)), 1000), Priority: 10}}}
			for i, s := range steps {
				cfg.Steps = append(cfg.Steps, StepConfig{Name: fmt.Sprint(i), Step: s})
			}
			p, err := New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Build(context.Background(), Query{Text: "q"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
