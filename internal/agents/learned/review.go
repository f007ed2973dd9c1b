package learned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/store"
)

// Filter selects notes for a review. The zero value selects all of the user in the tenant.
type Filter struct {
	// Project is the ID of a project, or note.Everywhere. Empty means all.
	Project string
	// Status is Accepted or Pending. Empty means both.
	Status note.Status
	// Kind is Fact or Frame. Empty means both.
	Kind note.Kind
}

// Review lists the notes of the user that a filter selects, by project, the newest first. Limit bounds how many of
// each project are read; 0 means MaxNotes.
func (m *Memory) Review(ctx context.Context, f Filter, limit int) ([]Note, error) {
	if limit <= 0 {
		limit = MaxNotes
	}
	projects, err := m.projects(ctx)
	if err != nil {
		return nil, err
	}
	var out []Note
	for _, id := range projects {
		if f.Project != "" && f.Project != id {
			continue
		}
		list, err := m.newest(ctx, project.Project{ID: id}, limit)
		if err != nil {
			return nil, err
		}
		slices.Reverse(list)
		for _, n := range list {
			if (f.Status == "" || n.Status == f.Status) && (f.Kind == "" || n.Kind == f.Kind) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

// projects returns the IDs of the projects of which the user has notes, sorted.
func (m *Memory) projects(ctx context.Context) ([]string, error) {
	keys, err := m.store.Keys(ctx, m.o.Tenant, note.KindNote)
	if err != nil {
		return nil, fmt.Errorf("agent memory: list projects: %w", err)
	}
	var ids []string
	for _, key := range keys {
		id, owner, _ := strings.Cut(key.Stream, "/")
		if owner == ownerOf(m.o.User) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Accept accepts a note, which is then no longer held. projectID is that of Note.Project.
func (m *Memory) Accept(ctx context.Context, projectID, id string) (Note, error) {
	return m.edit(ctx, projectID, id, func(n *Note) { n.Status, n.Held = Accepted, "" })
}

// Edit gives a note another text, and accepts it. A text with a secret wraps store.ErrInvalid.
func (m *Memory) Edit(ctx context.Context, projectID, id, text string) (Note, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > note.MaxText || !utf8.ValidString(text) {
		return Note{}, fmt.Errorf("note %.100q: text of %d bytes: %w (want 1 to %d bytes of UTF-8)", id, len(text), store.ErrInvalid, note.MaxText)
	}
	if what := secretIn(text); what != "" {
		return Note{}, fmt.Errorf("note %.100q: %w: the text has %s (write where it is kept instead)", id, store.ErrInvalid, what)
	}
	return m.edit(ctx, projectID, id, func(n *Note) { n.Text, n.Status, n.Held, n.Source = text, Accepted, "", User })
}

func (m *Memory) edit(ctx context.Context, projectID, id string, f func(n *Note)) (out Note, err error) {
	of := project.Project{ID: projectID}
	err = m.change(ctx, of, id, func(n *Note) { f(n); out = *n })
	if err != nil {
		return Note{}, err
	}
	if err := m.mark(ctx, of, &out); err != nil { // what a pending note contradicts stayed until now
		return Note{}, err
	}
	return out, m.enter(ctx, of, []Note{out})
}

// replaced changes which note replaces an older one, if the older one is there and was replaced by before.
func (m *Memory) replaced(ctx context.Context, of project.Project, older, before, now string) error {
	err := m.change(ctx, of, older, func(n *Note) {
		if n.SupersededBy == before {
			n.SupersededBy = now
		}
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Drop deletes notes of a project, and nothing of their words remains. What they replaced is current again. It returns
// how many there were.
func (m *Memory) Drop(ctx context.Context, projectID string, ids ...string) (int, error) {
	of := project.Project{ID: projectID}
	for _, id := range ids {
		rec, err := m.store.Get(ctx, m.key(of), id)
		if err != nil {
			continue // Delete says it
		}
		n, err := note.Decode(&rec)
		for _, older := range n.Supersedes {
			if err == nil {
				err = m.replaced(ctx, of, older, id, "")
			}
		}
		if err != nil && len(n.Supersedes) > 0 {
			return 0, fmt.Errorf("agent memory: drop notes of %s: %w", projectID, err)
		}
	}
	n, err := m.store.Delete(ctx, m.key(of), ids...)
	if err != nil {
		return n, fmt.Errorf("agent memory: drop notes of %s: %w", projectID, err)
	}
	return n, m.leave(ctx, of, ids)
}

// leave takes notes out of the collection.
func (m *Memory) leave(ctx context.Context, of project.Project, ids []string) error {
	if m.index == nil || len(ids) == 0 {
		return nil
	}
	docs := make([]string, len(ids))
	for i, id := range ids {
		docs[i] = noteDocs + id
	}
	n, err := m.index.Delete(ctx, m.collection(of), docs...)
	if err == nil && n > 0 {
		err = m.index.Compact(ctx, m.collection(of))
	}
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("agent memory: index of %s: %w", of.ID, err)
	}
	return nil
}

// changeTries is how often a change is made anew that another process overtook.
const changeTries = 20

// change changes a note in the store, unless somebody else did meanwhile: then it begins anew.
func (m *Memory) change(ctx context.Context, of project.Project, id string, f func(n *Note)) error {
	key := m.key(of)
	for range changeTries {
		rec, err := m.store.Get(ctx, key, id)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("note %.100q: %w", id, ErrNotFound)
		}
		var n Note
		if err == nil {
			n, err = note.Decode(&rec)
		}
		if err != nil {
			return err
		}
		f(&n)
		data, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("note %.100q: encode: %w", id, err)
		}
		err = m.store.Apply(ctx, store.Change{Key: key, If: []store.Record{{ID: id, Data: rec.Data}}, Put: []store.Record{{ID: id, Data: data, Time: n.At}}})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("note %.100q: %w", id, store.ErrConflict)
}
