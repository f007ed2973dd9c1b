package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/internal/ledger"
)

// What is taken is never more than the limit, and what was not used is there again.
func TestTake(t *testing.T) {
	ctx, l := ledger.Under(t.Context())
	if _, same := ledger.Under(ctx); same != l {
		t.Error("a context has two ledgers")
	}
	limit := ledger.Limit{Calls: 10, Tokens: 100}
	var taking sync.WaitGroup
	var mu sync.Mutex
	var settles []func(int64)
	for range 50 {
		taking.Go(func() {
			settle, err := l.Take("a", limit, 20)
			if err != nil {
				if !errors.Is(err, ledger.ErrSpent) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			settles = append(settles, settle)
		})
	}
	taking.Wait()
	if len(settles) != 5 {
		t.Fatalf("%d of 50 got tokens, want 5", len(settles))
	}
	if _, err := l.Take("b", limit, 20); err != nil {
		t.Errorf("another account: %v", err)
	}
	settles[0](5)  // 15 are left over
	settles[1](-1) // nothing was used, not even the call
	for i, want := range []bool{true, false} {
		if _, err := l.Take("a", limit, 35); (err == nil) != want {
			t.Errorf("take %d: %v", i, err)
		}
	}
	if _, err := l.Take("a", ledger.Limit{Calls: 5}, 1); !errors.Is(err, ledger.ErrSpent) {
		t.Errorf("five calls are made: %v", err)
	}
	if _, err := l.Take("a", ledger.Limit{}, 1<<40); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestLines(t *testing.T) {
	_, l := ledger.Under(t.Context())
	if l.Lines() != nil {
		t.Error("a new ledger has lines")
	}
	small, vectors := ledger.Use{Service: "llm", Name: "small", Plugin: "p"}, ledger.Use{Service: "embed", Name: "far"}
	l.Note(small, ledger.Amount{Calls: 1, InputTokens: 5})
	l.Note(vectors, ledger.Amount{Calls: 1, Texts: 3})
	l.Note(small, ledger.Amount{Calls: 1, Failed: 1, OutputTokens: 2})
	want := []ledger.Line{{Use: vectors, Amount: ledger.Amount{Calls: 1, Texts: 3}}, {Use: small, Amount: ledger.Amount{Calls: 2, Failed: 1, InputTokens: 5, OutputTokens: 2}}}
	if got := l.Lines(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Work that is no build has one limit for models, in the place of those of a build; other accounts keep
// theirs. The first refusal stays known.
func TestWithModels(t *testing.T) {
	_, l := ledger.WithModels(t.Context(), ledger.Limit{Calls: 3, CallsKey: "run.max_calls"})
	for range 3 {
		if _, err := l.Model("model", ledger.Limit{Calls: 1}, 5); err != nil {
			t.Fatal(err)
		}
	}
	if l.Spent() != nil {
		t.Errorf("nothing was refused: %v", l.Spent())
	}
	_, err := l.Model("model", ledger.Limit{}, 5)
	if !errors.Is(err, ledger.ErrSpent) || err.Error() != "the budget of the build is spent: model: 3 of 3 calls are made (raise run.max_calls)" {
		t.Errorf("%v", err)
	}
	_, other := l.Take("vectors", ledger.Limit{Tokens: 4, TokensKey: "max_texts", Unit: "texts"}, 5)
	if other == nil || !strings.Contains(other.Error(), "0 of 4 texts are used or in use, and the request may take 5 (raise max_texts)") || !errors.Is(l.Spent(), err) {
		t.Errorf("%v, first %v", other, l.Spent())
	}
	if ledger.PluginOf(ledger.For(t.Context(), "p")) != "p" || ledger.PluginOf(t.Context()) != "" {
		t.Error("the plugin of a context")
	}
}

// The cost of a build is that of all its models: one that is free costs nothing, and one without a price
// makes the whole cost unknown.
func TestCost(t *testing.T) {
	_, l := ledger.Own(t.Context())
	use := func(name string) {
		l.Note(ledger.Use{Service: "llm", Name: name}, ledger.Amount{Calls: 1, InputTokens: 1e6})
	}
	use("free")
	use("dear")
	if sum := ledger.Cost(l.Lines()); sum != 0 {
		t.Errorf("without prices: %v", sum)
	}
	l.SetRates(func(u ledger.Use) (ledger.Rate, bool) {
		return ledger.Rate{Model: u.Name + "-1", Input: map[string]float64{"dear": 2}[u.Name]}, u.Name != "lost"
	})
	if lines := l.Lines(); ledger.Cost(lines) != 2 || lines[0].Model != "dear-1" || lines[1].Unpriced {
		t.Errorf("%+v", lines)
	}
	use("lost")
	if lines := l.Lines(); ledger.Cost(lines) != 0 || !lines[2].Unpriced || lines[0].CostUSD != 2 {
		t.Errorf("%+v", lines)
	}
}
