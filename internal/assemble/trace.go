package assemble

import (
	"context"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Trace records which step brought each item and which took it away.
type Trace struct {
	mu      sync.Mutex
	before  []pipeline.Item
	brought map[itemKey]string
	gone    []Gone
}

// Gone is an item that a step took away.
type Gone struct {
	Item pipeline.Item
	Step string
}

// itemKey tells items apart; ids alone are not unique.
type itemKey struct {
	id     string
	source pipeline.Source
}

func keyOf(it *pipeline.Item) itemKey { return itemKey{it.ID, it.Source} }

// BroughtBy returns the step that brought an item, or "" for an item that was
// there before the first step.
func (t *Trace) BroughtBy(it *pipeline.Item) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.brought[keyOf(it)]
}

// Gone returns the items that steps took away, in the order of the steps.
func (t *Trace) Gone() []Gone {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

// Last returns the items after the last step that succeeded.
func (t *Trace) Last() []pipeline.Item {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.before
}

func (t *Trace) callback() pipeline.Callback {
	return pipeline.Callback{
		OnStepStart: func(_ context.Context, _ string, items []pipeline.Item) error {
			t.start(items)
			return nil
		},
		OnStepEnd: func(_ context.Context, step string, items []pipeline.Item, _ time.Duration) error {
			t.end(step, items)
			return nil
		},
	}
}

// start notes the items that were there before the first step.
func (t *Trace) start(items []pipeline.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.brought == nil {
		t.brought = make(map[itemKey]string, len(items))
		for i := range items {
			t.brought[keyOf(&items[i])] = ""
		}
		t.before = append(t.before, items...)
	}
}

// end compares the items after a step with those before it.
func (t *Trace) end(step string, items []pipeline.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	after := make(map[itemKey]int, len(items))
	for i := range items {
		key := keyOf(&items[i])
		after[key]++
		if _, ok := t.brought[key]; !ok {
			t.brought[key] = step
		}
	}
	for i := range t.before {
		if key := keyOf(&t.before[i]); after[key] > 0 {
			after[key]--
			continue
		}
		t.gone = append(t.gone, Gone{Item: t.before[i], Step: step})
	}
	t.before = append(t.before[:0], items...)
}
