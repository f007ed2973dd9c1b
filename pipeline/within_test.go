package pipeline

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/await"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// hangingMemory never answers before it is released.
type hangingMemory struct{ release chan struct{} }

func (m *hangingMemory) Items(context.Context, *Query) ([]Item, error) {
	<-m.release
	return nil, nil
}

// A memory and a step that hang must not leave one goroutine behind for each build.
func TestBuildsLeaveFewGoroutinesBehind(t *testing.T) {
	m := &hangingMemory{make(chan struct{})}
	hangs := StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { <-m.release; return nil, nil })
	p, err := New(Config{
		Tokenizer: WordTokenizer(), MaxTokens: 100, Memory: m, MemoryTimeout: time.Millisecond, MemoryOnError: Skip,
		Steps: []StepConfig{{Name: "hangs", Step: hangs, Timeout: time.Millisecond, OnError: Skip}},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var result *Result
	for range 200 {
		if result, err = p.Build(t.Context(), Query{Text: "q"}); err != nil {
			t.Fatal(err)
		}
	}
	more := func() int { return runtime.NumGoroutine() - before }
	if !await.True(func() bool { return more() <= 2*abandon.Most }) { // one that ends may still be there
		t.Errorf("%d goroutines left behind by 200 builds, want at most %d", more(), 2*abandon.Most)
	}
	if got := result.Diagnostics.StepFailures[len(result.Diagnostics.StepFailures)-1].Message; got != "not called: 8 earlier calls were abandoned after their time limit and still run (it must return when its context ends)" {
		t.Errorf("the step says %q", got)
	}
	close(m.release)
	if _, err := within(t.Context(), time.Hour, &hangingMemory{}, func(context.Context) (int, error) { return 0, errors.New("own") }); err == nil || err.Error() != "own" {
		t.Errorf("own error: %v", err)
	}
}
