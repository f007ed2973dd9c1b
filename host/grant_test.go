package host

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/answer"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/spec"
)

// words is a tokenizer.
type words struct{}

func (words) Name() string { return "words" }

func (words) Count(_ context.Context, texts ...string) ([]int, error) {
	counts := make([]int, len(texts))
	for i, text := range texts {
		counts[i] = len(strings.Fields(text))
	}
	return counts, nil
}

// testOperation is a process without a guest that may do everything.
func testOperation(source string, ceiling, wish int) *Operation {
	set := &setup{host: &Host{tokens: imports.NewTokenizer(words{}, nil)}, name: "p", log: slog.New(slog.DiscardHandler), spec: &spec.Spec{}}
	p := &Plugin{setup: set, lending: lending{setup: set, account: fairness.NewQueue(guest.Clock, func() int { return 1 }).NewAccount()}}
	all, err := abi.ChangesOf(abi.AllChanges)
	if err != nil {
		panic(err)
	}
	op := spec.Operation{Writes: all, MaxPriority: wish}
	return &Operation{plugin: p, op: abi.OpProcess, grant: answer.NewGrant(abi.OpProcess, &op, answer.Terms{Source: source, MaxPriority: ceiling, Items: 2, Tokens: 100})}
}

var threeRows = abi.ItemRows{
	{Content: "text a", Source: "retrieval", Priority: 5, TokenCount: 2},
	{Content: "text b", Source: "tool", Priority: 6, TokenCount: 2},
	{Content: "text c", Source: "retrieval", Priority: 9, TokenCount: 2},
}

func number(n int) *int     { return &n }
func text(s string) *string { return &s }

// settled is what the grant and the count of tokens make of changes.
func settled(t *testing.T, o *Operation, c *abi.Changes) (*Answer, error) {
	if err := o.grant.Check(c, threeRows); err != nil {
		return nil, err
	}
	a := &Answer{Changes: c}
	a.receipt.Until = guest.Clock() + time.Minute
	return a, o.price(t.Context(), threeRows, a)
}

func TestAnswersBeyondTheGrant(t *testing.T) {
	for _, tc := range []struct {
		name    string
		changes *abi.Changes
		wish    int
		reason  abi.Reason
		want    string
	}{
		{"priority above the ceiling", &abi.Changes{Edits: []abi.Edit{{Row: 0, Priority: number(6)}}}, 0, abi.ReasonDenied,
			"edits[0]: row 0: priority 6 is not granted (the step may state at most 5)"},
		{"priority above that of the row", &abi.Changes{Edits: []abi.Edit{{Row: 2, Priority: number(10)}}}, 0, abi.ReasonDenied,
			"edits[0]: row 2: priority 10 is not granted (the step may state at most 9)"},
		{"priority above the manifest's wish", &abi.Changes{Items: []abi.NewItem{{Content: "x", Priority: 4}}}, 3, abi.ReasonDenied,
			"items[0]: priority 4 is not granted (the step may state at most 3)"},
		{"too many items", &abi.Changes{Items: []abi.NewItem{{Content: "x"}, {Content: "y"}, {Content: "z"}}}, 0, abi.ReasonOutputTooLarge,
			"adds 3 items, allowed 2"},
		{"too many tokens in new items", &abi.Changes{Items: []abi.NewItem{{Content: strings.Repeat("w ", 101)}}}, 0, abi.ReasonOutputTooLarge,
			"adds 101 tokens, allowed 100"},
		{"too many tokens in edits", &abi.Changes{Edits: []abi.Edit{{Row: 0, Content: text(strings.Repeat("w ", 103))}}}, 0, abi.ReasonOutputTooLarge,
			"adds 101 tokens, allowed 100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := settled(t, testOperation("", 0, tc.wish), tc.changes)
			var f *guest.Fault
			if !errors.As(err, &f) || f.Reason != tc.reason || f.Error() != tc.want {
				t.Errorf("error %v (want %s: %s)", err, tc.reason, tc.want)
			}
		})
	}
}

// New items have a source and a priority, and texts that are new are counted, in the order
// of the edits and then of the items.
func TestAnswersAreSettled(t *testing.T) {
	for _, tc := range []struct {
		source        string
		ceiling, wish int
		want          int
	}{{"", 0, 0, 5}, {"memory", 0, 0, 8}, {"memory", 4, 0, 4}, {"memory", 9, 0, 8}, {"memory", 9, 3, 3}, {"tool", 0, 2, 2}} {
		a, err := settled(t, testOperation(tc.source, tc.ceiling, tc.wish), &abi.Changes{
			Edits: []abi.Edit{{Row: 0, Content: text("one two three")}, {Row: 1, Priority: number(2), Content: text("text b")}, {Row: 2, Priority: number(1)}},
			Items: []abi.NewItem{{Content: "one two"}, {Content: "one", Priority: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		it, stated := a.Changes.Items[0], a.Changes.Items[1]
		if it.Source != cmp.Or(tc.source, "retrieval") || it.Priority != tc.want || stated.Priority != 1 {
			t.Errorf("source %q, ceiling %d, wish %d: new items of %s with the priorities %d and %d, want %d and 1",
				tc.source, tc.ceiling, tc.wish, it.Source, it.Priority, stated.Priority, tc.want)
		}
		if want := []int{3, 0, 0, 2, 1}; !slices.Equal(a.Tokens, want) {
			t.Errorf("tokens %v, want %v", a.Tokens, want)
		}
	}
}

// A priority may be lowered from above the ceiling, or left there.
func TestPrioritiesAreLowered(t *testing.T) {
	for _, priority := range []int{8, 9} {
		if _, err := settled(t, testOperation("", 0, 0), &abi.Changes{Edits: []abi.Edit{{Row: 2, Priority: number(priority)}}}); err != nil {
			t.Errorf("priority %d: %v", priority, err)
		}
	}
}
