package learned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// Said is a turn of a session.
type Said struct {
	// Source says who spoke. What tools returned is neither stored nor learned from.
	Source note.Source
	// Text is what was said, of any length.
	Text string
	// At is when. The zero time means now.
	At time.Time
}

// Kept says what Turns did.
type Kept struct {
	// Turns is how many turns were stored, without those that were stored before.
	Turns int `json:"turns"`
	// Added, Known and Refused count the facts that were found in them.
	Added   int `json:"added"`
	Known   int `json:"known"`
	Refused int `json:"refused"`
}

// The bounds of a session.
const (
	// MaxTurns is how many turns of a session are stored, the first ones.
	MaxTurns = 2000
	// MaxTurnText is how many bytes of a turn are stored, the first ones.
	MaxTurnText = 32 << 10
	// longSecret is about how long a secret is, in bytes.
	longSecret = 4 << 10
)

// Turns stores the turns of a session and takes facts from them. said are all turns of the session so far: those that
// are stored already count by their number and are skipped, so that a hook may be called at each stop. Secrets are
// blacked out. Session must not be empty.
func (m *Memory) Turns(ctx context.Context, p project.Project, session string, said []Said) (Kept, error) {
	var done Kept
	name := m.conversation(p, session)
	if session == "" || len(name) > store.MaxName {
		return done, fmt.Errorf("agent memory: session %.100q: %w (want 1 to 100 bytes)", session, store.ErrInvalid)
	}
	if _, err := agentstore.Claim(ctx, m.store, m.o.Tenant, agentstore.AConversation, name, m.o.User); err != nil {
		return done, fmt.Errorf("agent memory: session %.100q: %w", session, err)
	}
	log := conversation.NewLog(m.store, m.o.Tenant, name)
	stored, err := m.stored(ctx, log)
	if err != nil {
		return done, fmt.Errorf("agent memory: session %.100q: %w", session, err)
	}
	turns := m.spoken(said)
	if int64(len(turns)) <= stored {
		return done, nil
	}
	turns = turns[stored:]
	// They are stored last: who calls Turns again after an error finds what is stored, and skips it.
	if err := m.enterTurns(ctx, p, session, stored, turns); err != nil {
		return done, err
	}
	failed, err := m.extract(ctx, p, session, turns, &done)
	if err != nil {
		return done, errors.Join(failed, err)
	}
	return done, errors.Join(failed, m.keep(ctx, log, session, stored, turns, &done))
}

// stored returns how many turns of a session are stored.
func (m *Memory) stored(ctx context.Context, log *conversation.Log) (int64, error) {
	last, err := m.store.Last(ctx, log.Key(), 1)
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// appended is how many turns are stored together: as many as one write may have, however long they are in JSON.
const appended = 300

// keep stores turns that come after the first ones, but for those that another call has stored meanwhile: an extractor
// may take long.
func (m *Memory) keep(ctx context.Context, log *conversation.Log, session string, before int64, turns []pipeline.Turn, done *Kept) error {
	now, err := m.stored(ctx, log)
	for batch := range slices.Chunk(turns[min(max(now-before, 0), int64(len(turns))):], appended) {
		if err == nil {
			if _, err = log.AppendTurns(ctx, batch); err == nil {
				done.Turns += len(batch)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("agent memory: session %.100q: %w", session, err)
	}
	return nil
}

// conversation is the name of the conversation of a session.
func (m *Memory) conversation(p project.Project, session string) string {
	return agentPrefix + Stream(p.ID, m.o.User) + "/" + session
}

// spoken returns what people and agents said as turns.
func (m *Memory) spoken(said []Said) (turns []pipeline.Turn) {
	for _, s := range said {
		text := strings.ToValidUTF8(strings.TrimSpace(s.Text), "\ufffd")
		text = cut(redact(cut(text, MaxTurnText+longSecret)), MaxTurnText) // the cut may go through a secret
		if text == "" || s.Source != User && s.Source != Assistant || len(turns) == MaxTurns {
			continue
		}
		t := pipeline.Turn{Role: pipeline.Role(s.Source), Content: text, CreatedAt: s.At}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = m.o.Now()
		}
		t.CreatedAt = t.CreatedAt.UTC()
		turns = append(turns, t)
	}
	return turns
}

// enterTurns makes turns searchable.
func (m *Memory) enterTurns(ctx context.Context, p project.Project, session string, before int64, turns []pipeline.Turn) error {
	if m.index == nil {
		return nil
	}
	docs := make([]retrieve.Document, len(turns))
	for i, t := range turns {
		docs[i] = retrieve.Document{
			ID: turnDoc(session, before+int64(i)+1), Time: t.CreatedAt,
			Meta: map[string]string{"role": string(t.Role), "session": session}, Chunks: pieces(t.Content),
		}
	}
	return m.upsert(ctx, p, docs)
}

// pieceBytes is the size of the parts of a turn that are found on their own.
const pieceBytes = 1200

// pieces cuts a text at its paragraphs, lines or words.
func pieces(text string) (out []retrieve.Chunk) {
	for len(text) > pieceBytes {
		at := pieceBytes
		for _, sep := range []string{"\n\n", "\n", ". ", " "} {
			if i := strings.LastIndex(text[:pieceBytes], sep); i > pieceBytes/2 {
				at = i + len(sep)
				break
			}
		}
		part := cut(text, at)
		if s := strings.TrimSpace(part); s != "" {
			out = append(out, retrieve.Chunk{Text: s})
		}
		text = text[len(part):]
	}
	if s := strings.TrimSpace(text); s != "" {
		out = append(out, retrieve.Chunk{Text: s})
	}
	return out
}

// Keep stores a text of which a session gets only a part, such as the whole result of a tool, and returns its handle.
// Of a project of a user, agentstore.MaxCuts texts of agentstore.MaxCutBytes are kept, the newest.
func (m *Memory) Keep(ctx context.Context, p project.Project, text string) (handle string, err error) {
	handle = providers.Handle(text)
	run := agentstore.Run{Store: m.store, Tenant: m.o.Tenant, ID: m.run(p)}
	if _, err := agentstore.Claim(ctx, m.store, m.o.Tenant, agentstore.ARun, run.ID, m.o.User); err != nil {
		return "", fmt.Errorf("agent memory: keep text: %w", err)
	}
	return handle, run.KeepCuts(ctx, map[string]string{handle: text})
}

// Original returns the text of a handle, byte for byte. The error wraps ErrNotFound if the project has none.
func (m *Memory) Original(ctx context.Context, p project.Project, handle string) (string, error) {
	text, err := agentstore.CutText(ctx, m.store, m.o.Tenant, m.run(p), handle)
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("text %.100q: %w (the newest %d of a project are kept)", handle, ErrNotFound, agentstore.MaxCuts)
	}
	return text, err
}

// run is the name of the run that has the texts of a project.
func (m *Memory) run(p project.Project) string { return agentPrefix + Stream(p.ID, m.o.User) }

func isNotFound(err error) bool {
	return errors.Is(err, retrieve.ErrNotFound) || errors.Is(err, store.ErrNotFound)
}
