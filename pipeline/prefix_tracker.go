package pipeline

import (
	"container/list"
	"context"
	"fmt"
	"sync"
)

// The bounds of a [PrefixTracker] that states none.
const (
	DefaultTrackedConversations = 1024
	DefaultTrackedBytes         = 64 << 20
)

// PrefixOptions bound a [PrefixTracker].
type PrefixOptions struct {
	// Tokenizer counts the prompts. nil means DefaultEncoding.
	Tokenizer Tokenizer
	// Conversations is how many conversations are remembered. 0 means
	// DefaultTrackedConversations.
	Conversations int
	// Bytes bounds the prompts that are remembered, roughly. 0 means
	// DefaultTrackedBytes. A prompt that is larger is not remembered.
	Bytes int64
}

// PrefixTracker compares the prompts of each conversation with the one before, to tell
// how much of it a prompt cache will find again, and what broke it. It remembers one
// prompt for each of a bounded number of conversations; the one that was not seen for
// longest goes first. It is safe for concurrent use.
type PrefixTracker struct {
	options PrefixOptions
	mu      sync.Mutex
	known   map[string]*list.Element // of *tracked
	recent  list.List                // newest first
	bytes   int64
}

type tracked struct {
	conversation string
	prompt       *PromptSnapshot
	bytes        int64
}

// NewPrefixTracker returns an empty tracker.
func NewPrefixTracker(o PrefixOptions) (*PrefixTracker, error) {
	if o.Conversations < 0 || o.Bytes < 0 {
		return nil, fmt.Errorf("prefix tracker: %d conversations, %d bytes: %w (want 0 or more)", o.Conversations, o.Bytes, ErrInvalid)
	}
	if o.Conversations == 0 {
		o.Conversations = DefaultTrackedConversations
	}
	if o.Bytes == 0 {
		o.Bytes = DefaultTrackedBytes
	}
	if o.Tokenizer == nil {
		t, err := EncodingTokenizer(DefaultEncoding)
		if err != nil {
			return nil, err
		}
		o.Tokenizer = t
	}
	return &PrefixTracker{options: o, known: make(map[string]*list.Element)}, nil
}

// Observe compares the output of a build with that of the build before it in the same
// conversation, enters the report in the diagnostics of r, and remembers the output. For
// the first build of a conversation, or one that is no longer remembered, there is no
// report. On an error nothing is remembered.
func (t *PrefixTracker) Observe(ctx context.Context, conversation string, r *Result) (*PrefixReport, error) {
	current, err := NewPromptSnapshot(r.Output, r.Window.Items)
	if err != nil {
		return nil, err
	}
	previous := t.previous(conversation)
	if previous == nil {
		if current, err = current.counted(ctx, t.options.Tokenizer); err != nil {
			return nil, fmt.Errorf("compare prompts: %w", err)
		}
		t.remember(conversation, current)
		return nil, nil
	}
	report, _, current, err := comparePrefix(ctx, t.options.Tokenizer, previous, current, r.Diagnostics.Items)
	if err != nil {
		return nil, err
	}
	t.remember(conversation, current)
	r.Diagnostics.Cache = report
	return report, nil
}

// Forget drops what is remembered of a conversation.
func (t *PrefixTracker) Forget(conversation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[conversation]; e != nil {
		t.drop(e)
	}
}

// Len returns the number of conversations that are remembered.
func (t *PrefixTracker) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.known)
}

func (t *PrefixTracker) previous(conversation string) *PromptSnapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[conversation]; e != nil {
		return e.Value.(*tracked).prompt
	}
	return nil
}

func (t *PrefixTracker) remember(conversation string, prompt *PromptSnapshot) {
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

func (t *PrefixTracker) drop(e *list.Element) {
	entry := t.recent.Remove(e).(*tracked)
	delete(t.known, entry.conversation)
	t.bytes -= entry.bytes
}
