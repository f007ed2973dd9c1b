package learned

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// Find returns the note of an ID in any project of the user. The error wraps ErrNotFound if there is none.
func (m *Memory) Find(ctx context.Context, id string) (Note, error) {
	projects, err := m.projects(ctx)
	if err != nil {
		return Note{}, err
	}
	for _, of := range projects {
		rec, err := m.store.Get(ctx, m.key(project.Project{ID: of}), id)
		switch {
		case err == nil:
			return note.Decode(&rec)
		case !errors.Is(err, store.ErrNotFound):
			return Note{}, fmt.Errorf("note %.100q: %w", id, err)
		}
	}
	return Note{}, fmt.Errorf("note %.100q: %w (list them with anchor-host memory review list --all)", id, ErrNotFound)
}

// FilesPrefix is the beginning of the names of the collections that package repo makes: it, a stream, a slash and a
// digest of the folder.
const FilesPrefix = "files:"

// Forget deletes the notes of the user in the tenant, and the collections of notes, turns and files. It returns how
// many notes there were. The conversations and the texts of handles belong to the user too, and go with others of the
// user: see agentstore.Owned.
func (m *Memory) Forget(ctx context.Context) (notes int, err error) {
	owner, some := ownerOf(m.o.User), false
	for _, kind := range []string{note.KindNote, note.KindOrders} {
		keys, err := m.store.Keys(ctx, m.o.Tenant, kind)
		if err != nil {
			return notes, fmt.Errorf("agent memory: forget user: %w", err)
		}
		for _, key := range keys {
			if _, of, _ := strings.Cut(key.Stream, "/"); of != owner {
				continue
			}
			n, err := m.store.Clear(ctx, key)
			if err != nil {
				return notes, fmt.Errorf("agent memory: forget user: %w", store.Partly(some, err))
			}
			if some = some || n > 0; kind == note.KindNote {
				notes += n
			}
		}
	}
	return notes, store.Partly(some, m.forgetCollections(ctx, owner))
}

func (m *Memory) forgetCollections(ctx context.Context, owner string) error {
	if m.index == nil {
		return nil
	}
	list, err := m.index.Collections(ctx, m.o.Tenant)
	if err != nil {
		return fmt.Errorf("agent memory: forget user: %w", err)
	}
	some := false
	for _, c := range list {
		stream, isMemory := strings.CutPrefix(c.Name, collectionPrefix)
		if files, ok := strings.CutPrefix(c.Name, FilesPrefix); ok {
			stream, isMemory = files[:max(0, strings.LastIndexByte(files, '/'))], true
		}
		if _, of, ok := strings.Cut(stream, "/"); !isMemory || !ok || of != owner {
			continue
		}
		err := m.index.Remove(ctx, retrieve.Collection{Tenant: m.o.Tenant, Name: c.Name})
		if err != nil && !errors.Is(err, retrieve.ErrNotFound) {
			return fmt.Errorf("agent memory: forget user: %w", store.Partly(some, err))
		}
		some = true
	}
	return nil
}

// ForgetUser deletes what coding agents learned of a user of a tenant, in all projects, and returns
// how many notes there were.
func ForgetUser(ctx context.Context, s store.Store, tenant, user string) (int, error) {
	m, err := Open(s, Options{Tenant: tenant, User: user})
	if errors.Is(err, store.ErrInvalid) { // nobody of this name can have a memory
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Forget(ctx)
}

// agentPrefix is the beginning of the names of the conversations and runs of coding agents.
const agentPrefix = "agent:"

// ForgetTurns deletes what searches find of a conversation that is the session of a coding agent: of the turns with these
// numbers, or of all. Of other conversations there is nothing. The conversation still has its owner.
func ForgetTurns(ctx context.Context, s store.Store, tenant, conversation string, turns ...int64) error {
	name, isSession := strings.CutPrefix(conversation, agentPrefix)
	index, ok := agentstore.IndexOf(s)
	if !isSession || !ok {
		return nil
	}
	user, err := agentstore.Owner(ctx, s, tenant, agentstore.AConversation, conversation)
	if err != nil {
		return err
	}
	of, rest, _ := strings.Cut(name, "/")
	session, ok := strings.CutPrefix(rest, ownerOf(user)+"/")
	if !ok {
		return nil
	}
	c := retrieve.Collection{Tenant: tenant, Name: collectionPrefix + Stream(of, user)}
	var ids []string
	for _, n := range turns {
		ids = append(ids, turnDoc(session, n))
	}
	if len(turns) == 0 {
		prefix := turnDocs + session + "/"
		for doc, failed := range index.Documents(ctx, c, retrieve.IDs{From: prefix, Before: prefix + ":"}) { // ":" follows the digits
			if err = failed; !strings.Contains(strings.TrimPrefix(doc.ID, prefix), "/") { // else of a session with a longer name
				ids = append(ids, doc.ID)
			}
		}
	}
	if err == nil {
		_, err = index.Delete(ctx, c, ids...)
	}
	if err != nil && !errors.Is(err, retrieve.ErrNotFound) {
		return fmt.Errorf("agent memory: turns of %.100q: delete them: %w", conversation, err)
	}
	return nil
}

// turnDoc is the name of the document of a turn.
func turnDoc(session string, n int64) string { return fmt.Sprintf("%s%s/%06d", turnDocs, session, n) }
