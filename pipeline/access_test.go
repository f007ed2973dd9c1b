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
// native code that may keep a list ends the lending, and an empty scratch holds no item.
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

// Who receives what is the table at the type access.
func TestAccessTable(t *testing.T) {
	timed, skip := StepConfig{Timeout: time.Second}, StepConfig{OnError: Skip}
	appender := RetrieverStep(fixedRetriever(nil), 0).(Appender)
	for _, c := range []struct {
		name    string
		st      step
		grouped bool
		leaves  bool // the build may continue before it has ended
		copies  bool // it receives a copy
		keeps   bool // alone, it may go on reading the list of the build
	}{
		{"isolated", step{}, false, false, false, false},
		{"isolated, skip", step{StepConfig: skip}, false, false, false, false},
		{"isolated, timed", step{StepConfig: timed}, false, false, false, false},
		{"isolated, in a group", step{}, true, false, false, false},
		{"adapted", step{access: adaptedAccess}, false, false, false, false},
		{"adapted, skip", step{access: adaptedAccess, StepConfig: skip}, false, false, false, false},
		{"adapted, timed", step{access: adaptedAccess, StepConfig: timed}, false, true, false, true},
		{"adapted appender, timed", step{access: adaptedAccess, StepConfig: timed, appender: appender}, false, true, false, false},
		{"adapted, in a group", step{access: adaptedAccess}, true, true, false, false},
		{"foreign", step{access: foreignAccess}, false, false, false, true},
		{"foreign, skip", step{access: foreignAccess, StepConfig: skip}, false, false, true, false},
		{"foreign, timed", step{access: foreignAccess, StepConfig: timed}, false, true, true, false},
		{"foreign, in a group", step{access: foreignAccess}, true, true, true, true},
	} {
		if got := c.st.leaves(c.grouped); got != c.leaves {
			t.Errorf("%s: leaves %v, want %v", c.name, got, c.leaves)
		}
		if got := c.st.copies(c.grouped); got != c.copies {
			t.Errorf("%s: receives a copy %v, want %v", c.name, got, c.copies)
		}
		if got := c.st.keeps(); got != c.keeps {
			t.Errorf("%s: keeps the list %v, want %v", c.name, got, c.keeps)
		}
	}
}

// Only foreign code changes items, and only one that runs alone and may keep the list ends the lending.
func TestShownLists(t *testing.T) {
	isolated, foreign := step{access: isolatedAccess}, step{access: foreignAccess}
	adapted := step{access: adaptedAccess, StepConfig: StepConfig{Timeout: time.Second}}
	for name, c := range map[string]struct {
		group        []step
		frozen, lent bool // afterwards
	}{
		"isolated":             {[]step{isolated}, true, true},
		"foreign":              {[]step{foreign}, false, false},
		"adapted, timed":       {[]step{adapted}, true, false},
		"isolated and foreign": {[]step{isolated, foreign}, false, true},
		"two isolated":         {[]step{isolated, isolated}, true, true},
	} {
		l := &itemList{}
		items := append(l.lend(2), docs("a")...)
		l.take(items)
		l.items, l.frozen = items, true
		l.show(c.group)
		if lent := l.in != 0; l.frozen != c.frozen || lent != c.lent {
			t.Errorf("%s: frozen %v, the list is still one that is lent %v; want %v and %v", name, l.frozen, lent, c.frozen, c.lent)
		}
	}
}

// A list stays frozen unless foreign code has returned another one.
func TestReplacedLists(t *testing.T) {
	old := docs("a")
	appender := step{appender: RetrieverStep(fixedRetriever(nil), 0).(Appender)}
	for name, c := range map[string]struct {
		before, after []Item
		st            step
		frozen        bool
	}{
		"isolated":                 {old, docs("b"), step{}, true},
		"foreign":                  {old, docs("b"), step{access: foreignAccess}, false},
		"appender that adds":       {old, docs("a", "b"), appender, true},
		"appender to an empty one": {nil, docs("b"), appender, false},
		"appender of nothing":      {old, old, appender, true},
	} {
		l := &itemList{items: c.before, frozen: true}
		if l.replace(&c.st, c.after); l.frozen != c.frozen || len(l.items) != len(c.after) {
			t.Errorf("%s: frozen %v with %d items, want %v with %d", name, l.frozen, len(l.items), c.frozen, len(c.after))
		}
	}
}

// What a step adds goes into a lent list, unless somebody may still read the list of the items.
func TestAppendedLists(t *testing.T) {
	add := step{group: 1}
	for name, c := range map[string]struct {
		st       step
		items    []Item
		next     []step
		recorded bool
		lent     bool
	}{
		"alone":                 {add, docs("a"), nil, false, true},
		"before an isolated":    {add, docs("a"), []step{{}}, false, true},
		"before one that keeps": {add, docs("a"), []step{{}, {access: foreignAccess}}, false, false},
		"in a group":            {step{group: 2}, docs("a"), nil, false, false},
		"to nothing":            {add, nil, nil, false, false},
		"recorded":              {add, docs("a"), nil, true, false},
	} {
		l := &itemList{items: c.items, recorded: c.recorded}
		got := l.appended(&c.st, docs("b", "c"), c.next)
		if want := append(slices.Clone(ids(c.items)), "b", "c"); !slices.Equal(ids(got), want) || (l.in != 0) != c.lent {
			t.Errorf("%s: %v in a lent list: %v, want %v and %v", name, ids(got), l.in != 0, want, c.lent)
		}
	}
}

// What a step has written into a lent list and not returned is cleared at the end of the build.
func TestDroppedItemsAreCleared(t *testing.T) {
	for name, it := range map[string]Item{"an ID": {ID: "x"}, "a text": {Content: "x"}} {
		l := &itemList{}
		room := append(l.lend(3), it, it)
		l.take(nil)
		l.release()
		if got := room[:2]; got[0].ID+got[0].Content+got[1].ID+got[1].Content != "" {
			t.Errorf("items with %s outlive their build: %+v", name, got)
		}
	}
	l := &itemList{}
	if l.giveUp(); l.room[0] != nil || l.in != 0 {
		t.Error("a list is given up though none holds the items")
	}
	if exact := l.lend(values.LongestKept); exact == nil {
		t.Error("the longest list that is kept is not lent")
	}
}
