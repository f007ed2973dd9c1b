package promptcache

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/tokens"
)

// The default bounds of a [Tracker].
const (
	DefaultTrackedConversations = 1024
	DefaultTrackedBytes         = 64 << 20
)

// Options bound a [Tracker].
type Options struct {
	// Tokenizer counts the prompts. nil means cl100k_base.
	Tokenizer core.Tokenizer
	// Conversations is the largest number of conversations to remember. 0 means
	// DefaultTrackedConversations.
	Conversations int
	// Bytes is the approximate bound of all remembered prompts together. 0 means
	// DefaultTrackedBytes. The tracker does not remember a prompt that is larger.
	Bytes int64
}

// Tracker compares each prompt of a conversation with the previous one. It reports how much
// of it a prompt cache can reuse, and what ended the common beginning. It remembers one
// prompt for each of a bounded number of conversations, and evicts the least recently used
// one. It is safe for concurrent use.
type Tracker struct {
	options Options
	mu      sync.Mutex
	known   map[string]*list.Element // of *tracked
	recent  list.List                // newest first
	bytes   int64
}

type tracked struct {
	conversation string
	prompt       *Snapshot
	bytes        int64
}

// NewTracker returns an empty tracker.
func NewTracker(o Options) (*Tracker, error) {
	if o.Conversations < 0 || o.Bytes < 0 {
		return nil, fmt.Errorf("prefix tracker: %d conversations, %d bytes: %w (want 0 or more)", o.Conversations, o.Bytes, core.ErrInvalid)
	}
	o.Conversations = cmp.Or(o.Conversations, DefaultTrackedConversations)
	o.Bytes = cmp.Or(o.Bytes, DefaultTrackedBytes)
	if o.Tokenizer == nil {
		t, err := tokens.Get("cl100k_base")
		if err != nil {
			return nil, err
		}
		o.Tokenizer = t
	}
	return &Tracker{options: o, known: make(map[string]*list.Element)}, nil
}

// Observe compares a prompt with the previous one of the same conversation, and remembers
// it. trace is the trace of its build, or nil. The report is nil for the first prompt of a
// conversation, and for one whose predecessor was evicted. On an error Observe remembers
// nothing.
func (t *Tracker) Observe(ctx context.Context, conversation string, current *Snapshot, trace *explain.Trace) (*Report, error) {
	previous := t.previous(conversation)
	if previous == nil {
		current, err := current.counted(ctx, t.options.Tokenizer)
		if err != nil {
			return nil, fmt.Errorf("compare prompts: %w", err)
		}
		t.remember(conversation, current)
		return nil, nil
	}
	report, current, err := compare(ctx, t.options.Tokenizer, previous, current, trace)
	if err != nil {
		return nil, err
	}
	t.remember(conversation, current)
	return report, nil
}

// Forget drops the prompt of a conversation.
func (t *Tracker) Forget(conversation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[conversation]; e != nil {
		t.drop(e)
	}
}

// Len returns the number of remembered conversations.
func (t *Tracker) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.known)
}

func (t *Tracker) previous(conversation string) *Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[conversation]; e != nil {
		return e.Value.(*tracked).prompt
	}
	return nil
}

func (t *Tracker) remember(conversation string, prompt *Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[conversation]; e != nil {
		t.drop(e)
	}
	entry := &tracked{conversation, prompt, prompt.bytes() + int64(len(conversation))}
	if entry.bytes > t.options.Bytes {
		return
	}
	t.known[conversation] = t.recent.PushFront(entry)
	t.bytes += entry.bytes
	for len(t.known) > t.options.Conversations || t.bytes > t.options.Bytes {
		t.drop(t.recent.Back())
	}
}

func (t *Tracker) drop(e *list.Element) {
	entry := t.recent.Remove(e).(*tracked)
	delete(t.known, entry.conversation)
	t.bytes -= entry.bytes
}
