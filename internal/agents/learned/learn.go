package learned

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/store"
)

// Candidate is what may be learned.
type Candidate struct {
	// Text is one statement, at most note.MaxText bytes; white space around it does not count.
	Text string
	// Tags are words by which it is listed.
	Tags []string
	// Source says who stated it. What a tool returned is never learned.
	Source note.Source
	// Session is the one in which it was stated, empty if that is not known.
	Session string
	// Everywhere says that it holds in all projects of the user. What an agent concludes for all projects is held
	// until the user accepts it.
	Everywhere bool
}

// Outcome is what became of a candidate.
type Outcome string

// The outcomes.
const (
	Added   Outcome = "added"   // it is a new note
	Known   Outcome = "known"   // there is such a note; it was renewed
	Refused Outcome = "refused" // it must not be learned
)

// Result is the answer of Learn.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Note is the note that is stored now. It is zero for a candidate that was refused.
	Note Note `json:"note,omitzero"`
	// Reason says why it was refused or is held, as a sentence for people. It has no part of a secret.
	Reason string `json:"reason,omitempty"`
}

// Learn makes a candidate a note of the project. Statements of the user are accepted, those of an agent pending until
// somebody reviews them. A candidate with a secret, from a tool's result, or that repeats an order from one is refused,
// which is no error. The error is that of the store, or wraps store.ErrInvalid for a text that is empty or too long.
func (m *Memory) Learn(ctx context.Context, p project.Project, c Candidate) (Result, error) {
	text := strings.Join(strings.Fields(c.Text), " ")
	if text == "" || len(text) > note.MaxText || !utf8.ValidString(text) {
		return Result{}, fmt.Errorf("agent memory: fact of %d bytes: %w (want 1 to %d bytes of UTF-8)", len(c.Text), store.ErrInvalid, note.MaxText)
	}
	if reason, err := m.refuses(ctx, p, &c, text); err != nil || reason != "" {
		return Result{Outcome: Refused, Reason: reason}, err
	}
	n := Note{ID: idOf(text), Kind: Fact, Text: text, Status: Pending, Source: c.Source, Project: p.ID, ProjectName: p.Name, Session: c.Session, At: m.o.Now().UTC().Truncate(time.Second), Tags: tags(c.Tags)}
	if c.Source == User {
		n.Status = Accepted
	}
	of := p
	if c.Everywhere {
		of, n.Project, n.ProjectName = everywhere, note.Everywhere, ""
	}
	if n.Status == Pending {
		n.Held = holds(&c, text)
	}
	return m.add(ctx, of, n)
}

// idOf is the ID of a new note: that of its words, so that two sessions that learn the same at once make one note.
func idOf(text string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimRight(text, ".!? "))))
	return "n-" + hex.EncodeToString(sum[:10])
}

func tags(list []string) (out []string) {
	for _, tag := range list {
		if tag = strings.TrimSpace(tag); tag != "" && secretIn(tag) == "" && len(tag) <= note.MaxTag && utf8.ValidString(tag) && len(out) < note.MaxTags {
			out = append(out, tag)
		}
	}
	return out
}

// add stores a note, or renews the one with its ID.
func (m *Memory) add(ctx context.Context, of project.Project, n Note) (Result, error) {
	rec, err := m.store.Get(ctx, m.key(of), n.ID)
	if err == nil {
		if old, err := note.Decode(&rec); err == nil {
			return m.renew(ctx, of, old, n)
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return Result{}, fmt.Errorf("note %s: %w", n.ID, err)
	}
	if err := m.supersede(ctx, of, &n); err != nil {
		return Result{}, err
	}
	if err := m.put(ctx, of, n); err != nil {
		return Result{}, err
	}
	if err := m.mark(ctx, of, &n); err != nil {
		return Result{}, err
	}
	return Result{Outcome: Added, Note: n, Reason: n.Held}, m.bound(ctx, of)
}

// renew makes a note that was stated again current. One that a newer note replaced replaces that one now, unless only
// an agent states it.
func (m *Memory) renew(ctx context.Context, of project.Project, old, n Note) (Result, error) {
	known := func() Result { return Result{Outcome: Known, Note: old, Reason: old.Held} }
	if old.SupersededBy != "" && n.Status == Pending {
		return known(), nil
	}
	if n.Status == Accepted {
		old.Status, old.Held, old.Source = Accepted, "", n.Source
	}
	if old.At = n.At; old.SupersededBy != "" {
		old.SupersededBy, old.Supersedes = "", nil
		if err := m.supersede(ctx, of, &old); err != nil {
			return Result{}, err
		}
	}
	if err := m.put(ctx, of, old); err != nil {
		return Result{}, err
	}
	return known(), m.mark(ctx, of, &old)
}

// put stores notes and makes them searchable.
func (m *Memory) put(ctx context.Context, of project.Project, notes ...Note) error {
	change := store.Change{Key: m.key(of)}
	for _, n := range notes {
		data, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("note %s: encode: %w", n.ID, err)
		}
		change.Put = append(change.Put, store.Record{ID: n.ID, Data: data, Time: n.At})
	}
	if err := m.store.Apply(ctx, change); err != nil {
		return fmt.Errorf("agent memory: store notes of %s: %w", of.ID, err)
	}
	return m.enter(ctx, of, notes)
}

// Frame keeps a summary of what a session did, such as that of a compaction, as an accepted note. kind is a word such
// as compact, and becomes a tag. Secrets in the text are blacked out, and a text longer than note.MaxText loses its
// end.
func (m *Memory) Frame(ctx context.Context, p project.Project, session, kind, text string) (Note, error) {
	text = cut(redact(strings.ToValidUTF8(strings.TrimSpace(text), "\ufffd")), note.MaxText)
	if text == "" {
		return Note{}, fmt.Errorf("agent memory: frame: %w: it has no text", store.ErrInvalid)
	}
	n := Note{ID: idOf("frame " + session + "\x00" + text), Kind: Frame, Text: text, Status: Accepted, Source: Assistant, Project: p.ID, ProjectName: p.Name, Session: session, At: m.o.Now().UTC().Truncate(time.Second), Tags: tags([]string{kind})}
	if err := m.put(ctx, p, n); err != nil {
		return n, err
	}
	return n, m.bound(ctx, p)
}

// boundEvery is after how many new notes of a project those beyond MaxNotes are deleted.
const boundEvery = 200

// bound holds a project to MaxNotes, now and then.
func (m *Memory) bound(ctx context.Context, of project.Project) error {
	last, err := m.store.Last(ctx, m.key(of), 1)
	if err != nil || len(last) == 0 || last[0].Seq <= MaxNotes || last[0].Seq%boundEvery != 0 {
		return err
	}
	return m.collect(ctx, of)
}

// cut shortens a text to so many bytes, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
