package mcpsource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/anchor-host/anchor-host/registry/lock"
)

// ErrNotApproved says that nobody has approved a server, or that it is another one by now.
var ErrNotApproved = errors.New("not approved")

// digest is that of what a client sees of a tool.
func digest(t *mcp.Tool) (string, error) {
	seen := struct {
		Name, Title, Description string
		Input, Output            any
		Annotations              *mcp.ToolAnnotations
		Meta                     mcp.Meta
	}{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations, t.Meta}
	text, err := json.Marshal(seen) // members of objects are sorted
	if err != nil {
		return "", fmt.Errorf("tool %.100q: %w", t.Name, err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// pin returns the tools as anchor.lock has them.
func pin(list []*mcp.Tool) ([]lock.ServerTool, error) {
	var out []lock.ServerTool
	for _, t := range list {
		d, err := digest(t)
		if err != nil {
			return nil, err
		}
		out = append(out, lock.ServerTool{Name: t.Name, Digest: d})
	}
	slices.SortFunc(out, func(a, b lock.ServerTool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// approved returns the entry of a server in anchor.lock. It is read anew each time, since an approval counts at once.
func approved(path string, s *Settings) (*lock.Server, error) {
	f, err := lock.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var entry *lock.Server
	if err == nil {
		entry = f.Server(s.Server)
	}
	switch {
	case entry == nil:
		return nil, fmt.Errorf("%w: anchor.lock does not list it (look at its tools and approve it: anchor-host mcp approve %s)", ErrNotApproved, s.Server)
	case entry.At != s.At():
		return nil, fmt.Errorf("%w: anchor.lock has %.200s under this name, the configuration %.200s (approve it: anchor-host mcp approve %s)", ErrNotApproved, entry.At, s.At(), s.Server)
	}
	return entry, nil
}

// compare says how the tools of a server differ from those that were approved. nil: they do not.
func compare(entry *lock.Server, list []*mcp.Tool) error {
	now, err := pin(list)
	if err != nil {
		return err
	}
	changes := Changes(entry.Tools, now)
	if len(changes) == 0 {
		return nil
	}
	more := ""
	if n := len(changes) - 5; n > 0 {
		changes, more = changes[:5], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%w: its tools have changed since: %s%s (look at them and approve them: anchor-host mcp approve %s)", ErrNotApproved, strings.Join(changes, ", "), more, entry.Name)
}

// Changes are the differences between two lists of tools, such as "+ search" and "~ fetch".
func Changes(before, now []lock.ServerTool) (out []string) {
	had := map[string]string{}
	for _, t := range before {
		had[t.Name] = t.Digest
	}
	for _, t := range now {
		switch d, ok := had[t.Name]; {
		case !ok:
			out = append(out, fmt.Sprintf("+ %.100q", t.Name))
		case d != t.Digest:
			out = append(out, fmt.Sprintf("~ %.100q", t.Name))
		}
		delete(had, t.Name)
	}
	for _, t := range before {
		if _, gone := had[t.Name]; gone {
			out = append(out, fmt.Sprintf("- %.100q", t.Name))
		}
	}
	return out
}
