// Package wholebody joins the bodies of requests that have all messages of a conversation to the state of a run, which
// keeps what became of them. A body has the messages as the caller keeps them, or those that the last assembly answered
// with; either way only what follows them is new. If neither is the case, the messages of the body replace those of the
// state.
package wholebody

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Key is where the data of a state has the mark of the last body.
const Key = "anchor_host_body"

// mark says what the last body was, and what it was answered with.
type mark struct {
	// Form is that of the body. A body in another form, such as that of the answer, begins anew.
	Form message.Form
	// Sent is what the body began with, but for marks of caches, and Answered what the answer did.
	Sent, Answered prefix
	// Kept is how many messages the state had then.
	Kept int
	// Instructions are the members for instructions of the body, and Instructed is the digest of those of the answer.
	Instructions, Instructed string
}

// prefix is the beginning of a list of messages.
type prefix struct {
	N   int
	Sum string
}

// Body is a document with messages, and the state of the run to which it was joined.
type Body struct {
	// Body is what the answer is written into. Once joined, it has the instructions that the caller sent first.
	*message.Body
	given []byte
	state *agent.State
	// lacks is how many messages of the body are not in the state, because notes have taken their place.
	lacks int
}

// New returns a document that was read from these bytes, without a state.
func New(given []byte, b *message.Body) *Body { return &Body{Body: b, given: given} }

// Join enters the messages of the body into a state, in the place of one to which it was joined before.
func (b *Body) Join(ctx context.Context, s *agent.State) error {
	m, err := b.last(ctx, s)
	if err != nil {
		return err
	}
	instructions, list := b.Split()
	own, err := digests(ctx, b.Form, list)
	if err != nil {
		return err
	}
	var kept []message.Message
	switch {
	case len(s.Messages) != m.Kept:
	case m.Sent.begins(own, plain):
		var all bool
		if kept, all, err = renewed(ctx, b.Form, s.Messages, list[:m.Sent.N], own); err != nil {
			return err
		}
		if all {
			list = list[m.Sent.N:]
		}
	case m.Answered.begins(own, exact):
		kept, list = s.Messages, list[m.Answered.N:]
	}
	s.Messages = slices.Concat(instructions, kept, list)
	b.state, b.lacks = s, len(b.Messages)-len(s.Messages)
	return nil
}

// last returns the mark of the last body, which is none that fits if it is broken or of another form. The body gets
// the instructions that the caller sent, if it has those of the answer.
func (b *Body) last(ctx context.Context, s *agent.State) (mark, error) {
	var m mark
	none := mark{Kept: -1}
	if text, ok := s.Data[Key].(string); !ok || json.Unmarshal([]byte(text), &m) != nil || m.Form != b.Form {
		return none, nil
	}
	given := b.Instructions()
	if given == m.Instructions || hash("", canonical(given)) != m.Instructed {
		return m, nil
	}
	data, err := b.Instruct(m.Instructions)
	if err != nil {
		return none, nil
	}
	body, err := message.DecodeBodyContext(ctx, data, b.Form)
	if err != nil {
		return none, ctx.Err()
	}
	b.Body = body
	return m, nil
}

// renewed returns the messages of a state as the caller sends them now: it may have moved a mark of a cache, of which
// an API takes few. It returns none, and false, if a message that the caller does not send any more has such a mark.
func renewed(ctx context.Context, form message.Form, kept, list []message.Message, own []sum) ([]message.Message, bool, error) {
	of, err := digests(ctx, form, kept)
	if err != nil {
		return nil, false, err
	}
	at := make(map[string][]int)
	for i := range list {
		at[own[i].plain] = append(at[own[i].plain], i)
	}
	kept = slices.Clone(kept)
	for i, end := len(kept)-1, len(list); i >= 0; i-- {
		same := at[of[i].plain]
		for len(same) > 0 && same[len(same)-1] >= end {
			same = same[:len(same)-1]
		}
		switch at[of[i].plain] = same; {
		case len(same) > 0:
			end = same[len(same)-1]
			kept[i] = list[end]
		case of[i].exact != of[i].plain: // and a provider has cut it
			for end--; end >= 0 && !alike(&kept[i], &list[end]); end-- {
			}
			if end < 0 {
				return nil, false, ctx.Err()
			}
			kept[i] = list[end]
		}
	}
	return kept, true, nil
}

// alike reports whether a message may be another one, of which texts are cut.
func alike(a, b *message.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, func(a, b message.Part) bool { return a.Kind == b.Kind && a.ID == b.ID })
}

// InPlace makes the path of an error about the messages of the state the one in the body.
func (b *Body) InPlace(err error) error { return b.Body.InPlace(err, b.lacks) }

// Written reads the answer to the body, and marks it in the state. It returns the messages of the answer, nil if it is
// the body, byte for byte.
func (b *Body) Written(ctx context.Context, data []byte, form message.Form) ([]message.Message, error) {
	same := bytes.Equal(data, b.given)
	if same && b.state == nil {
		return nil, nil
	}
	answer, err := message.DecodeBodyContext(ctx, data, form)
	if err == nil && b.state != nil {
		err = b.leave(ctx, answer)
	}
	if err != nil || same {
		return nil, err
	}
	return answer.Messages, nil
}

// leave takes the instructions of the body out of the state, because each body has them, and marks what it was answered
// with.
func (b *Body) leave(ctx context.Context, answer *message.Body) (err error) {
	instructions, sent := b.Split()
	_, answered := answer.Split()
	m := mark{Form: b.Form, Instructions: b.Instructions(), Instructed: hash("", canonical(answer.Instructions()))}
	if m.Sent, err = whole(ctx, b.Form, sent, plain); err != nil {
		return err
	}
	if m.Answered, err = whole(ctx, answer.Form, answered, exact); err != nil {
		return err
	}
	s := b.state
	s.Messages = slices.Clone(s.Messages)
	for i := range instructions {
		if at := slices.IndexFunc(s.Messages, func(o message.Message) bool { return o.Equal(&instructions[i]) }); at >= 0 {
			s.Messages = slices.Delete(s.Messages, at, at+1)
		}
	}
	m.Kept = len(s.Messages)
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mark of the body: %w", err)
	}
	if s.Data = maps.Clone(s.Data); s.Data == nil {
		s.Data = make(map[string]any)
	}
	s.Data[Key] = string(text)
	return nil
}

// sum has the digests of a message: of all of it, and without marks of caches. They do not depend on the order of
// members or on how texts and numbers are spelled, which SDKs change.
type sum struct{ exact, plain string }

func exact(s sum) string { return s.exact }
func plain(s sum) string { return s.plain }

// begins reports whether a list of messages with these digests begins with the prefix.
func (p prefix) begins(list []sum, by func(sum) string) bool {
	return p.N >= 0 && p.N <= len(list) && joined(list[:p.N], by) == p.Sum
}

func whole(ctx context.Context, form message.Form, list []message.Message, by func(sum) string) (prefix, error) {
	sums, err := digests(ctx, form, list)
	return prefix{len(list), joined(sums, by)}, err
}

// joined returns the digest of a list.
func joined(list []sum, by func(sum) string) (all string) {
	for _, s := range list {
		all = hash(all, by(s))
	}
	return all
}

func digests(ctx context.Context, form message.Form, list []message.Message) ([]sum, error) {
	out := make([]sum, len(list))
	for i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text := list[i].Raw()
		if text[:min(1, len(text))] != "{" { // a text in the place of a list
			data, err := list[i].Append(nil, form)
			if err != nil {
				return nil, fmt.Errorf("messages[%d]: %w", i, err)
			}
			text = string(data)
		}
		text = canonical(text)
		out[i].exact = hash(string(form), text)
		if out[i].plain = out[i].exact; strings.Contains(text, cacheMark) {
			out[i].plain = hash(string(form), withoutMarks(text))
		}
	}
	return out, nil
}

// canonical returns a JSON text in the canonical form, but for whole numbers, which may be too large for it.
func canonical(text string) string {
	v := jsontext.Value(text)
	if err := v.Canonicalize(jsontext.AllowDuplicateNames(true), jsontext.CanonicalizeRawInts(false)); err != nil {
		return text
	}
	return string(v)
}

// cacheMark is the member by which a caller marks what an API caches. Callers move it from message to message.
const cacheMark = `"cache_control":`

// withoutMarks returns a canonical text without marks of caches.
func withoutMarks(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	out, err := json.Marshal(unmarked(v))
	if err != nil {
		return text
	}
	return canonical(string(out))
}

func unmarked(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	case map[string]any:
		delete(v, "cache_control")
		for name := range v {
			v[name] = unmarked(v[name])
		}
	}
	return v
}

// hash returns the digest of a text and of what stands before it.
func hash(before, text string) string {
	sum := sha256.Sum256([]byte(before + text))
	return hex.EncodeToString(sum[:16])
}
