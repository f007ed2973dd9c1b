package agent

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// hangingProvider never answers before it is released.
type hangingProvider struct{ release chan struct{} }

func (*hangingProvider) Name() string                                        { return "hangs" }
func (*hangingProvider) Priority() int                                       { return 10 }
func (*hangingProvider) EstimateTokens(context.Context, *State) (int, error) { return 0, nil }
func (p *hangingProvider) Apply(context.Context, *State, []pipeline.Message, Budget) ([]pipeline.Message, error) {
	<-p.release
	return nil, nil
}

// A provider that hangs must not leave one goroutine behind for each model call.
func TestRunsLeaveFewGoroutinesBehind(t *testing.T) {
	p := &hangingProvider{make(chan struct{})}
	c, err := NewChain(Config{Timeout: time.Millisecond, Logger: slog.New(slog.DiscardHandler), Providers: []Provider{p}})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var a *Assembly
	for range 200 {
		if a, err = c.Assemble(t.Context(), &State{}, nil, Budget{}); err != nil {
			t.Fatal(err)
		}
	}
	if !await.True(func() bool { return runtime.NumGoroutine()-before <= abandon.Most }) { // the last call is on its way out
		t.Errorf("%d goroutines left behind by 200 runs, want at most %d", runtime.NumGoroutine()-before, abandon.Most)
	}
	if got := a.Diagnostics.Providers[0].Message; !strings.HasPrefix(got, "not called: 8 earlier calls") {
		t.Errorf("the provider says %q", got)
	}
	close(p.release)
}
