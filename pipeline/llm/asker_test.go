package llm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline/llm"
)

type askerFunc func(context.Context, llm.Request) (llm.Answer, error)

func (f askerFunc) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) { return f(ctx, r) }

// What a model of the program says of tokens stays a number that budgets can count.
func TestTokensOfAskers(t *testing.T) {
	for _, said := range []int{-1 << 40, -1, 1 << 62} {
		m := newModel(t, llm.Options{Budget: ledger.Limit{Calls: 1}, Asker: askerFunc(func(context.Context, llm.Request) (llm.Answer, error) {
			return llm.Answer{Text: "yes", InputTokens: said, CachedTokens: said, OutputTokens: said}, nil
		})})
		ctx, _ := ledger.Under(t.Context())
		a, err := m.Ask(ctx, say("you"))
		if err != nil || min(a.InputTokens, a.CachedTokens, a.OutputTokens) < 0 || max(a.InputTokens, a.CachedTokens, a.OutputTokens) > 1<<30 || a.CachedTokens > a.InputTokens {
			t.Errorf("%d: %+v, error %v", said, a, err)
		}
		if _, err := m.Ask(ctx, say("again")); !errors.Is(err, ledger.ErrSpent) {
			t.Errorf("%d: a second call of one: error %v", said, err)
		}
	}
}

// The error of a model of the program is what the package promises, and stays the program's.
func TestErrorsOfAskers(t *testing.T) {
	own := &llm.Error{Model: "theirs", Kind: llm.Refused, Err: errors.New("no")}
	late := errors.New("late")
	for _, tc := range []struct {
		name string
		err  error
		kind llm.Kind
	}{
		{"known", own, llm.Refused},
		{"wrapped", fmt.Errorf("client: %w", own), llm.Refused},
		{"no pointer", (*llm.Error)(nil), llm.Unavailable},
		{"no cause", &llm.Error{Kind: llm.Invalid}, llm.Invalid},
		{"other kind", &llm.Error{Kind: "sad", Err: late}, llm.Unavailable},
		{"other", late, llm.Unavailable},
		{"not in time", nil, llm.Timeout},
	} {
		o := llm.Options{Asker: askerFunc(func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
			if tc.err == nil {
				<-ctx.Done()
				return llm.Answer{}, ctx.Err()
			}
			return llm.Answer{InputTokens: 5}, tc.err
		})}
		if tc.err == nil {
			o.Timeout = time.Millisecond
		}
		_, err := newModel(t, o).Ask(t.Context(), say("you"))
		var failed *llm.Error
		if !errors.As(err, &failed) || failed == nil || failed.Kind != tc.kind || failed.Model != "small" || failed.Error() == "" || failed.Err == nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if own.Model != "theirs" {
		t.Errorf("the error of the program is changed: %+v", own)
	}
}

// A call that waits for its turn ends with its context, and one whose context has ended asks nothing.
func TestTurnsOfAskers(t *testing.T) {
	asked := make(chan struct{}, 1000)
	m := newModel(t, llm.Options{Concurrency: 1, Asker: askerFunc(func(context.Context, llm.Request) (llm.Answer, error) {
		asked <- struct{}{}
		return llm.Answer{}, nil
	})})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for range 50 {
		if _, err := m.Ask(ctx, say("you")); !errors.Is(err, gone) {
			t.Fatalf("error %v", err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("asked %d times for nobody", len(asked))
	}
}
