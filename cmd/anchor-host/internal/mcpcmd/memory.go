package mcpcmd

import (
	"context"
	"errors"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/mcpserver"
	"github.com/anchor-host/anchor-host/internal/agents/project"
)

// projectMemory is what agents learned of the project of the current folder. It is that of the hooks.
type projectMemory struct {
	memory  *learned.Memory
	project project.Project
}

// openMemory returns the memory of the project of the current folder, in which a client starts its servers.
func openMemory(ctx context.Context, app *anchor.App, user string) (mcpserver.Memory, error) {
	p, err := project.Identify(ctx, ".")
	if err != nil {
		return nil, err
	}
	s, err := app.Store(ctx)
	if err != nil {
		return nil, err
	}
	m, err := learned.Open(s, learned.Options{Tenant: app.Status().Tenant, User: user})
	if err != nil {
		return nil, err
	}
	return &projectMemory{m, p}, nil
}

// factOf is a note as the server shows it.
func factOf(n *learned.Note) mcpserver.Fact {
	f := mcpserver.Fact{ID: n.ID, Text: n.Text, Score: n.Score, SupersededBy: n.SupersededBy}
	if n.Status != learned.Accepted {
		f.Status = string(n.Status)
	}
	return f
}

func (m *projectMemory) Search(ctx context.Context, text string, limit int) ([]mcpserver.Fact, error) {
	notes, err := m.memory.Search(ctx, m.project, text, limit, 0)
	out := make([]mcpserver.Fact, len(notes))
	for i := range notes {
		out[i] = factOf(&notes[i])
	}
	return out, err
}

// Save implements [mcpserver.Memory]. What an agent saves is pending until the user accepts it.
func (m *projectMemory) Save(ctx context.Context, text string, tags []string) (mcpserver.Saved, error) {
	r, err := m.memory.Learn(ctx, m.project, learned.Candidate{Text: text, Tags: tags, Source: learned.Assistant})
	if err != nil {
		return mcpserver.Saved{}, err
	}
	if r.Outcome == learned.Refused {
		return mcpserver.Saved{}, errors.New("save_fact: refused: " + r.Reason)
	}
	f := factOf(&r.Note)
	return mcpserver.Saved{ID: f.ID, Added: r.Outcome == learned.Added, Status: f.Status, Supersedes: r.Note.Supersedes}, nil
}

func (m *projectMemory) Get(ctx context.Context, id string) (f mcpserver.Fact, ok bool, _ error) {
	n, err := m.memory.Get(ctx, m.project, id)
	if errors.Is(err, learned.ErrNotFound) {
		return f, false, nil
	}
	return factOf(&n), err == nil, err
}

func (m *projectMemory) Original(ctx context.Context, handle string) (text string, ok bool, _ error) {
	text, err := m.memory.Original(ctx, m.project, handle)
	if errors.Is(err, learned.ErrNotFound) {
		return "", false, nil
	}
	return text, err == nil, err
}
