// Package tape keeps what a build was told from outside, and tells it again: answers of models,
// embedders, collections, the store and HTTP servers, in the order in which each question was asked.
//
// A recording names its plugins and settings by digest and does not contain them: whoever replays
// it asks why a new build differs, and the configuration may hold secrets.
package tape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// MaxBytes bounds what a tape keeps.
const MaxBytes = 64 << 20

// ErrFull is the error of a tape that has no more room.
var ErrFull = fmt.Errorf("the recording has no more room (at most %d MiB)", MaxBytes>>20)

// Answer is a question with its answer.
type Answer struct {
	// Kind says who was asked, such as "search" or "store.read".
	Kind string `json:"kind"`
	// Question and Answer are JSON. Answer is nil if there was an error.
	Question json.RawMessage `json:"question"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	// Error is the text of the error. Known is what programs distinguish it by.
	Error string `json:"error,omitempty"`
	Known string `json:"known,omitempty"`
}

// Tape is what was told. It is safe for concurrent use.
type Tape struct {
	mu      sync.Mutex
	playing bool
	answers []Answer
	used    int64
	full    bool
	http    []record.HTTP
	next    map[string][]int // answers that are to come, by kind and question
	unknown []string         // what was asked and is not on the tape
	hides   []func(string) string
}

// Record returns an empty tape that keeps what it hears.
func Record() *Tape { return &Tape{} }

// Play returns a tape that tells answers again. http are the answers of HTTP servers.
func Play(answers []Answer, http []record.HTTP) *Tape {
	t := &Tape{playing: true, answers: answers, http: http, next: map[string][]int{}}
	for i := range answers {
		key := answers[i].Kind + " " + string(answers[i].Question)
		t.next[key] = append(t.next[key], i)
	}
	return t
}

// Playing reports whether the tape tells answers again.
func (t *Tape) Playing() bool { return t != nil && t.playing }

// Hear takes the HTTP requests of a call of a plugin. It is for anchor.Options.OnRecord.
func (t *Tape) Hear(c record.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Hide != nil && len(t.hides) < maxHides {
		t.hides = append(t.hides, c.Hide)
	}
	if t.playing {
		return
	}
	for i := range c.HTTP {
		n := int64(len(c.HTTP[i].Body) + len(c.HTTP[i].ResponseBody) + len(c.HTTP[i].URL))
		if t.take(n) {
			t.http = append(t.http, c.HTTP[i])
		}
	}
	t.full = t.full || c.LeftOut > 0
}

// maxHides bounds the calls whose secrets are hidden in the rest of a recording. They have the same
// secrets for each plugin.
const maxHides = 256

// Hide puts asterisks in the place of secrets of the plugins that were called so far.
func (t *Tape) Hide(text string) string {
	t.mu.Lock()
	hides := t.hides
	t.mu.Unlock()
	for _, hide := range hides {
		text = hide(text)
	}
	return text
}

// hidden returns a document without secrets.
func (t *Tape) hidden(doc json.RawMessage) json.RawMessage {
	if doc == nil {
		return nil
	}
	return json.RawMessage(t.Hide(string(doc)))
}

// take takes room for n bytes. The caller holds the lock.
func (t *Tape) take(n int64) bool {
	const overhead = 256
	if t.used += n + overhead; t.used > MaxBytes {
		t.full = true
	}
	return !t.full
}

// Kept returns what the tape has heard. The error is [ErrFull] if that is not all.
func (t *Tape) Kept() ([]Answer, []record.HTTP, error) {
	t.mu.Lock()
	full, answers, exchanges := t.full, t.answers, t.http
	t.mu.Unlock()
	if full {
		return nil, nil, ErrFull
	}
	for i := range answers {
		answers[i].Question, answers[i].Answer = t.hidden(answers[i].Question), t.hidden(answers[i].Answer)
		answers[i].Error = t.Hide(answers[i].Error)
	}
	return answers, exchanges, nil
}

// Unknown lists what was asked and is not on the tape, in the order in which it was asked.
func (t *Tape) Unknown() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.unknown...)
}

// known are the errors that a build distinguishes.
var known = map[string]error{
	"not_found": store.ErrNotFound, "empty": retrieve.ErrEmpty, "no_collection": retrieve.ErrNotFound, "invalid": retrieve.ErrInvalid,
	"unavailable": retrieve.ErrUnavailable, "deadline": context.DeadlineExceeded,
}

// recorded is an error from the tape. It has the text and the meaning of the one that was heard.
type recorded struct {
	text string
	is   error
}

func (e *recorded) Error() string { return e.text }
func (e *recorded) Unwrap() error { return e.is }

// ask asks real and keeps its answer, or tells the answer on the tape.
func ask[A any](t *Tape, kind string, question any, real func() (A, error)) (A, error) {
	var none A
	q, err := json.Marshal(question)
	if err != nil {
		return none, fmt.Errorf("tape: %s: %w", kind, err)
	}
	if t.playing {
		return tell[A](t, kind, q)
	}
	answer, failed := real()
	a := Answer{Kind: kind, Question: q}
	if failed != nil {
		a.Error = failed.Error()
		if word, ok := errors.AsType[*service.Error](failed); ok {
			a.Known = "word:" + string(word.Word)
		}
		for name, is := range known {
			if a.Known == "" && errors.Is(failed, is) {
				a.Known = name
			}
		}
	} else if a.Answer, err = json.Marshal(answer); err != nil {
		return none, fmt.Errorf("tape: %s: %w", kind, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.take(int64(len(a.Question) + len(a.Answer))) {
		t.answers = append(t.answers, a)
	}
	return answer, failed
}

func tell[A any](t *Tape, kind string, q []byte) (answer A, err error) {
	t.mu.Lock()
	key := kind + " " + string(q)
	list := t.next[key]
	if len(list) == 0 {
		defer t.mu.Unlock()
		t.unknown = append(t.unknown, fmt.Sprintf("%s: %.200s", kind, q))
		return answer, fmt.Errorf("replay: %s was asked what is not in the recording: %.200s", kind, q)
	}
	a := t.answers[list[0]]
	t.next[key] = list[1:]
	t.mu.Unlock()
	if a.Error != "" {
		if word, ok := cutWord(a.Known); ok {
			return answer, &service.Error{Word: word, Err: errors.New(a.Error)}
		}
		return answer, &recorded{a.Error, known[a.Known]}
	}
	if err := json.Unmarshal(a.Answer, &answer); err != nil {
		return answer, fmt.Errorf("replay: %s: read the recorded answer: %w", kind, err)
	}
	return answer, nil
}

func cutWord(known string) (services.Word, bool) {
	const prefix = "word:"
	if len(known) < len(prefix) || known[:len(prefix)] != prefix {
		return "", false
	}
	return services.Word(known[len(prefix):]), true
}
