package conformance

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Value is a value of the key-value store.
type Value struct {
	Key string `json:"key"`
	// Value is the value, if it is a text. ValueBase64 is it in base64 otherwise.
	Value       string `json:"value,omitempty"`
	ValueBase64 string `json:"value_base64,omitempty"`
}

// TokenCount is the number of tokens of a text.
type TokenCount struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// NewValue returns a value in the form of cases.
func NewValue(key string, value []byte) Value {
	if utf8.Valid(value) {
		return Value{Key: key, Value: string(value)}
	}
	return Value{Key: key, ValueBase64: base64.StdEncoding.EncodeToString(value)}
}

// bytes returns the value.
func (v *Value) bytes() []byte {
	b, err := base64.StdEncoding.DecodeString(v.ValueBase64)
	if err != nil || v.ValueBase64 == "" { // check refuses others
		return []byte(v.Value)
	}
	return b
}

func checkValues(what string, list []Value) error {
	for i, v := range list {
		if v.Key == "" {
			return fmt.Errorf("%s[%d]: there is no key", what, i)
		}
		if err := checkBase64(v.Value != "", v.ValueBase64); err != nil {
			return fmt.Errorf("%s[%d].value_base64: %w", what, i, err)
		}
	}
	return nil
}

// checkBase64 checks a text in base64, beside which there may be no other.
func checkBase64(other bool, text string) error {
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		return err
	}
	if other && text != "" {
		return errors.New("the same member is there without _base64 (leave one out)")
	}
	return nil
}

// hidden stands for any characters, where a recording had a secret.
const hidden = "***"

// likeHidden reports whether a text is the expected one, in which *** stands for any characters.
func likeHidden(want, text string) bool {
	return want == text || strings.Contains(want, hidden) && likeParts(strings.Split(want, hidden), text)
}

// Replay is what stands in place of the host's key-value store, tokenizer and services in one
// case. It is safe for concurrent use.
type Replay struct {
	stores bool
	tokens map[string]int

	mu       sync.Mutex
	values   map[string][]byte
	services *serviceCalls // nil: the case states none
}

func newReplay(c *OwnCase) *Replay {
	r := &Replay{stores: c.KV != nil, values: map[string][]byte{}, tokens: map[string]int{}}
	for i := range c.KV {
		r.values[c.KV[i].Key] = c.KV[i].bytes()
	}
	for _, t := range c.Tokens {
		r.tokens[t.Text] = t.Count
	}
	if c.Services != nil {
		r.services = &serviceCalls{list: c.Services, used: make([]bool, len(c.Services))}
	}
	return r
}

// Stores reports whether the case has a key-value store of its own.
func (r *Replay) Stores() bool { return r != nil && r.stores }

// Get returns the value of a key, nil where there is none.
func (r *Replay) Get(key string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values[key]
}

// Set stores a value. nil deletes it.
func (r *Replay) Set(key string, value []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(value) == 0 {
		delete(r.values, key)
		return
	}
	r.values[key] = value
}

// Usage returns the number of keys, and the bytes of keys and values.
func (r *Replay) Usage() (keys, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, v := range r.values {
		keys, bytes = keys+1, bytes+int64(len(k)+len(v))
	}
	return keys, bytes
}

// Tokens returns the number of tokens that the case states for a text.
func (r *Replay) Tokens(text string) (count int, ok bool) {
	if r == nil {
		return 0, false
	}
	count, ok = r.tokens[text]
	return count, ok
}

// stored compares the store after a call with what is expected.
func (e *Expect) stored(r *Replay) outcome {
	for i := range e.Stored {
		want := &e.Stored[i]
		if got := string(r.Get(want.Key)); !likeHidden(string(want.bytes()), got) {
			return unexpected(fmt.Sprintf("stored[%d], key %.100q", i, want.Key), string(want.bytes()), got)
		}
	}
	return passed
}

// replayKey is the key of the Replay of a context.
type replayKey struct{}

// ReplayOf returns the replay of the case that the calls under ctx are for, nil if there is none.
func ReplayOf(ctx context.Context) *Replay {
	r, _ := ctx.Value(replayKey{}).(*Replay)
	return r
}

// WithCase returns a context for calls that stand for a case: with its responses, its key-value
// store, its numbers of tokens and the answers of its services.
func WithCase(ctx context.Context, c *OwnCase) context.Context {
	ctx = context.WithValue(ctx, replayKey{}, newReplay(c))
	if c.HTTP == nil {
		return ctx
	}
	e := NewExchanges(c.HTTP)
	e.inOrder = true
	return context.WithValue(ctx, exchangesKey{}, e)
}
