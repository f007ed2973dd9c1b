package mcpsource

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/anchor-host/anchor-host/registry/lock"
)

// Tool is a tool of a server, for who approves it.
type Tool struct {
	// Name, Description and Digest are what anchor.lock holds it to.
	Name        string `json:"name"`
	Description string `json:"description"`
	Digest      string `json:"digest"`
}

// Look starts or asks a server, and returns its tools. It is the first time that anything of a new server runs.
func Look(ctx context.Context, s *Settings, lockPath string) ([]Tool, lock.Server, error) {
	entry := lock.Server{Name: s.Server, At: s.At()}
	p, err := dial(ctx, s, filepath.Dir(lockPath))
	if err != nil {
		return nil, entry, fmt.Errorf("mcp server %q: %w", s.Server, err)
	}
	defer p.close()
	if s.Tool == "" && p.session.InitializeResult().Capabilities.Tools == nil {
		return nil, entry, nil
	}
	list, err := p.tools(ctx)
	if err == nil {
		entry.Tools, err = pin(list)
	}
	if err != nil {
		return nil, entry, fmt.Errorf("mcp server %q: %w", s.Server, p.why(err))
	}
	tools := make([]Tool, len(list))
	for i, t := range list {
		d, err := digest(t)
		if err != nil {
			return nil, entry, err
		}
		tools[i] = Tool{t.Name, t.Description, d}
	}
	return tools, entry, nil
}

// Approve writes a server into anchor.lock.
func Approve(ctx context.Context, lockPath string, s lock.Server) error {
	return lock.Edit(ctx, lockPath, func(f *lock.File) error {
		f.SetServer(s)
		return nil
	})
}
