package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// retrievers that wait for one another prove that they run at the same time.
func TestNeighboringRetrieversRunAtTheSameTime(t *testing.T) {
	started := [3]chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	retriever := func(i int, found ...string) Retriever {
		return retrieverFunc(func(ctx context.Context, q *Query, _ int) ([]Item, error) {
			close(started[i])
			for _, other := range started {
				select {
				case <-other:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			q.Text = "changed" // each has a query of its own
			return docs(found...), nil
		})
	}
	events := [][]any{}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	r, err := mustNew(t, Config{Callbacks: []Callback{seedEvents(&events)}, Steps: []StepConfig{
		{Name: "late", Priority: 60, Step: appendStep(doc("z"))},
		{Name: "one", Step: RetrieverStep(retriever(0, "a", "b"), 0)},
		{Name: "two", Step: RetrieverStep(retriever(1), 0)},
		{Name: "three", Step: ClassifiedStep(KeywordClassifier{Default: "x"}, map[string]Retriever{"x": retriever(2, "c")}, "", 0), OnError: Skip},
	}}).Build(ctx, Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(r.Window.Items); !slices.Equal(got, []string{"a", "b", "c", "z"}) {
		t.Errorf("items %v", got)
	}
	want := [][]any{
		{"on_pipeline_start", "q"},
		{"on_step_start", "one", 0}, {"on_step_end", "one", 2},
		{"on_step_start", "two", 2}, {"on_step_end", "two", 2},
		{"on_step_start", "three", 2}, {"on_step_end", "three", 3},
		{"on_step_start", "late", 3}, {"on_step_end", "late", 4},
		{"on_pipeline_end", 4},
	}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

func TestRetrieversOfOtherPriorityOrBehindAStepRunAlone(t *testing.T) {
	p := mustNew(t, Config{Steps: []StepConfig{
		{Name: "a", Priority: 10, Step: RetrieverStep(listRetriever{}, 0)},
		{Name: "b", Priority: 20, Step: RetrieverStep(listRetriever{}, 0)},
		{Name: "c", Priority: 20, Step: RetrieverStep(listRetriever{}, 0)},
		{Name: "d", Priority: 20, Step: FilterFunc(func(*Item) bool { return true })},
		{Name: "e", Priority: 20, Step: RetrieverStep(listRetriever{}, 0)},
	}})
	var sizes []int
	for _, st := range p.steps {
		sizes = append(sizes, st.group)
	}
	if want := []int{1, 2, 0, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("groups %v, want %v", sizes, want)
	}
}

func TestFailedRetrieverCancelsThoseAfterIt(t *testing.T) {
	for _, isolatedLater := range []bool{false, true} {
		t.Run(fmt.Sprintf("isolated=%v", isolatedLater), func(t *testing.T) {
			running := make(chan struct{})
			var later Retriever = retrieverFunc(func(ctx context.Context, _ *Query, _ int) ([]Item, error) {
				close(running)
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if isolatedLater {
				later = isolatedRetriever{later}
			}
			failing := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { <-running; return nil, errBoom })
			events := [][]any{}
			_, err := mustNew(t, Config{Callbacks: []Callback{seedEvents(&events)}, Steps: []StepConfig{
				{Name: "ok", Step: RetrieverStep(listRetriever{"a"}, 0)},
				{Name: "bad", Step: RetrieverStep(failing, 0)},
				{Name: "later", Step: RetrieverStep(later, 0)},
			}}).Build(t.Context(), Query{})
			var be *BuildError
			if !errors.As(err, &be) || be.Step != "bad" || !errors.Is(err, errBoom) {
				t.Fatalf("error %v", err)
			}
			if d := be.Diagnostics; len(d.StepFailures) != 1 || len(d.Steps) != 1 {
				t.Errorf("diagnostics %+v", d)
			}
			want := [][]any{
				{"on_pipeline_start", ""}, {"on_step_start", "ok", 0}, {"on_step_end", "ok", 1},
				{"on_step_start", "bad", 1}, {"on_step_error", "bad", "AstroContextError", nil},
			}
			if !reflect.DeepEqual(events, want) {
				t.Errorf("events %v, want %v", events, want)
			}
		})
	}
}

type isolatedRetriever struct{ Retriever }

func (isolatedRetriever) Isolated() {}

func TestSkippedRetrieverOfAGroup(t *testing.T) {
	failing := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { return docs("x"), errBoom })
	r := mustBuild(t, Config{Steps: []StepConfig{
		{Name: "one", Step: RetrieverStep(listRetriever{"a"}, 0)},
		{Name: "bad", OnError: Skip, Step: RetrieverStep(failing, 0)},
		{Name: "slow", OnError: Skip, Timeout: time.Millisecond, Step: RetrieverStep(retrieverFunc(
			func(ctx context.Context, _ *Query, _ int) ([]Item, error) { <-ctx.Done(); return nil, ctx.Err() }), 0)},
		{Name: "two", Step: RetrieverStep(listRetriever{"b"}, 0)},
	}})
	if got := ids(r.Window.Items); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("items %v", got)
	}
	if !slices.Equal(r.Diagnostics.SkippedSteps, []string{"bad", "slow"}) {
		t.Errorf("skipped %v", r.Diagnostics.SkippedSteps)
	}
}

// appender is a foreign Appender that looks at the items.
type appender struct{ seen *[]string }

func (a appender) Append(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	*a.seen = ids(items)
	for i := range items {
		items[i].Content = "changed"
	}
	return nil, nil
}

func (a appender) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return runAppender(ctx, a, q, items)
}

func TestAppendersOfAGroupSeeTheItemsFromBeforeIt(t *testing.T) {
	var one, two []string
	r := mustBuild(t, Config{Steps: []StepConfig{
		{Name: "give", Priority: 1, Step: appendStep(doc("a"))},
		{Name: "one", Step: appender{&one}},
		{Name: "more", Step: RetrieverStep(listRetriever{"b"}, 0)},
		{Name: "two", Step: appender{&two}},
	}})
	if !slices.Equal(one, []string{"a"}) || !slices.Equal(two, []string{"a"}) {
		t.Errorf("appenders saw %v and %v", one, two)
	}
	if got := contents(r.Window.Items); !slices.Equal(got, []string{"a", "B"}) {
		t.Errorf("window %v", got)
	}
}

func TestStepThatEndsItsGoroutineFails(t *testing.T) {
	exit := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { runtime.Goexit(); return nil, nil })
	r := mustBuild(t, Config{Steps: []StepConfig{
		{Name: "one", OnError: Skip, Step: RetrieverStep(exit, 0)},
		{Name: "two", OnError: Skip, Step: RetrieverStep(isolatedRetriever{exit}, 0)},
	}})
	if want := []string{"one", "two"}; !slices.Equal(r.Diagnostics.SkippedSteps, want) {
		t.Errorf("skipped %v, want %v", r.Diagnostics.SkippedSteps, want)
	}
}
