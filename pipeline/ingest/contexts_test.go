package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// placing gives each chunk the same context. more is how many contexts too many it returns.
type placing struct {
	name, text string
	more       int
	calls      int
}

func (p *placing) Name() string { return p.name }

func (p *placing) Contexts(_ context.Context, _ *retrieve.Document, chunks []*retrieve.Chunk) ([]string, error) {
	p.calls++
	if strings.Contains(chunks[0].Text, "stopping") {
		return nil, fmt.Errorf("the model does not answer: %w", retrieve.ErrUnavailable)
	}
	if strings.Contains(chunks[0].Text, "failing") {
		return nil, errors.New("the budget is spent")
	}
	out := make([]string, len(chunks)+p.more)
	for i := range out {
		out[i] = p.text
	}
	return out, nil
}

// A chunk is found by its context, unchanged documents are not placed again, and another name places
// all anew.
func TestContexts(t *testing.T) {
	f, p := newFixture(t), &placing{name: "one", text: "About the bridge.\xff"}
	f.o.Contexts = p
	f.write("a.md", "It opened in 1890.\n")
	f.write("b.md", "It is red.\n")
	f.want(f.run("."), 0, 2, 0, 0, 0)
	if !f.finds("bridge") || p.calls != 2 {
		t.Errorf("%d calls, and no chunk is found by its context", p.calls)
	}
	f.want(f.run("."), 2, 0, 0, 0, 0)
	p.name, p.text = "two", "About the tower."
	f.want(f.run("."), 0, 0, 2, 0, 0)
	if f.finds("bridge") || !f.finds("tower") || p.calls != 4 {
		t.Errorf("%d calls, and the contexts before are still there", p.calls)
	}
}

// A document without contexts stays as it was, and is tried again.
func TestContextsFail(t *testing.T) {
	f, p := newFixture(t), &placing{name: "one", text: "bridge"}
	f.o.Contexts = p
	f.write("a.md", "It opened.\n")
	f.want(f.run("."), 0, 1, 0, 0, 0)
	f.write("a.md", "It is failing now, longer than before.\n")
	f.write("b.md", "It is well.\n")
	f.want(f.run("."), 0, 1, 0, 1, 0)
	if len(f.fails) != 1 || !strings.HasSuffix(f.fails[0], "a.md: contexts of its chunks: the budget is spent") || !f.finds("opened") || f.finds("longer") {
		t.Errorf("%q", f.fails)
	}
	f.want(f.run("."), 1, 0, 0, 1, 0)
	for want, bad := range map[string]placing{"2 for 1 chunks": {name: "x", more: 1}, "9000 bytes": {name: "x", text: strings.Repeat("a", 9000)}} {
		f.o.Contexts = &bad
		f.write("c.md", "It is new.\n")
		f.run("c.md")
		if len(f.fails) != 1 || !strings.Contains(f.fails[0], want) {
			t.Errorf("%q, want %s", f.fails, want)
		}
	}
}

// A model that cannot be asked any more ends the run, which says how to go on. What it said before is
// not asked again.
func TestContextsStop(t *testing.T) {
	f, p := newFixture(t), &placing{name: "one", text: "bridge"}
	f.o.Contexts = p
	f.write("a.md", "It is well.\n")
	f.write("b.md", "It is stopping now.\n")
	f.write("c.md", "It is well, too.\n")
	report, err := ingest.Run(t.Context(), f.index, []ingest.Source{{Path: f.dir}}, f.o)
	if !errors.Is(err, retrieve.ErrUnavailable) || !strings.Contains(err.Error(), "run the same command again") || report.Added != 1 || p.calls != 2 {
		t.Errorf("%v, %+v, %d calls", err, report, p.calls)
	}
	if !f.finds("well") {
		t.Error("the document before is lost")
	}
	f.write("b.md", "It goes on now.\n")
	f.want(f.run("."), 1, 2, 0, 0, 0)
	if p.calls != 4 {
		t.Errorf("%d calls, want 4", p.calls)
	}
}
