package anchor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// twoHosts are two Apps that have nothing in common but a store.
type twoHosts struct {
	a, b *App
	ctx  context.Context
}

const hostOfTwo = `counting: {tokenizer: words}
builds: {records: {content: true}}
memory: {facts: {}}
collections: {docs: {embedder: none}}
retrievers: {docs: {collection: docs}}
`

// What one host writes is what the others read next: nothing that a host has read before hides it.
func TestHostsSeeWhatOthersWrite(t *testing.T) {
	for name, path := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "store.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			where := path(t)
			open := func() *App {
				app, err := Load(write(t, t.TempDir(), hostOfTwo), Options{Overrides: map[string]string{"store.path": where}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := app.Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
				return app
			}
			h := &twoHosts{open(), open(), t.Context()}
			for part, check := range map[string]func(*testing.T){
				"conversation": h.conversation, "run": h.run, "facts": h.facts, "graph": h.graph, "builds": h.builds, "values": h.values, "collection": h.collection,
			} {
				t.Run(part, check)
			}
		})
	}
}

// must returns a value, unless there is an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (h *twoHosts) conversation(t *testing.T) {
	a, b := must(h.a.Conversation(h.ctx, "acme", "chat"))(t), must(h.b.Conversation(h.ctx, "acme", "chat"))(t)
	for i, talk := range []*Conversation{a, b, a, b} {
		turn := must(talk.Add(h.ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: "hello"}))(t)
		if turn.Sequence != int64(i+1) {
			t.Errorf("turn %d has number %d", i+1, turn.Sequence)
		}
		for _, reader := range []*Conversation{a, b} {
			if turns := must(reader.Turns(h.ctx, 0, 0))(t); len(turns) != i+1 {
				t.Errorf("%d turns are read after %d were added", len(turns), i+1)
			}
		}
	}
	must(b.Forget(h.ctx))(t)
	if turns := must(a.Turns(h.ctx, 0, 0))(t); len(turns) != 0 {
		t.Errorf("%d turns are there after another host has forgotten them", len(turns))
	}
	if turn := must(a.Add(h.ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: "again"}))(t); turn.Sequence != 5 {
		t.Errorf("the turn after the forgotten ones has number %d, want 5", turn.Sequence)
	}
}

func (h *twoHosts) run(t *testing.T) {
	a, b := must(h.a.Run(h.ctx, "acme", "run"))(t), must(h.b.Run(h.ctx, "acme", "run"))(t)
	push := func(i int) uint64 {
		r := a
		if i%2 == 1 {
			r = b
		}
		return must(r.Push(h.ctx, frames.Frame{Kind: frames.Checkpoint, Summary: "step"}, agentrun.PushOptions{}))(t).ID
	}
	for i := range 6 {
		if id := push(i); id != uint64(i) {
			t.Errorf("frame %d has number %d", i, id)
		}
		if window := must(a.Window(h.ctx))(t); window.Len() != i+1 {
			t.Errorf("host a has %d frames in its window after %d were pushed", window.Len(), i+1)
		}
	}
}

func (h *twoHosts) facts(t *testing.T) {
	a, b := must(h.a.Facts(h.ctx, "acme"))(t), must(h.b.Facts(h.ctx, "acme"))(t)
	find := func(m *memory.Manager, want int) {
		t.Helper()
		if found := must(m.Search(h.ctx, "trains", 10, memory.Filter{}))(t); len(found) != want {
			t.Errorf("%d facts are found, want %d", len(found), want)
		}
	}
	find(b, 0)
	fact, _, err := a.Add(h.ctx, memory.Entry{Content: "likes trains"})
	if err != nil {
		t.Fatal(err)
	}
	find(b, 1)
	must(b.Update(h.ctx, fact.ID, "likes ships"))(t)
	find(a, 0)
	must(b.Delete(h.ctx, fact.ID))(t)
	if _, err := a.Get(h.ctx, fact.ID); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("a fact that another host has deleted: %v", err)
	}
}

func (h *twoHosts) graph(t *testing.T) {
	a, b := must(h.a.Graph(h.ctx, "acme"))(t), must(h.b.Graph(h.ctx, "acme"))(t)
	for i, g := range []*memory.StoreGraph{a, b} {
		if err := g.Add(h.ctx, memory.Relation{Source: "ada", Relation: "knows", Target: strings.Repeat("x", i+1)}); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []*memory.StoreGraph{a, b} {
			if list := must(reader.Relations(h.ctx))(t); len(list) != i+1 {
				t.Errorf("%d relations are read after %d were added", len(list), i+1)
			}
		}
	}
}

func (h *twoHosts) builds(t *testing.T) {
	find := func(app *App, want string) {
		t.Helper()
		var got []string
		for _, s := range must(app.FindBuilds(h.ctx, "acme", builds.Filter{Text: "trains"}, "", 10))(t).Builds {
			got = append(got, s.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("builds %q are found, want %q", got, want)
		}
	}
	build := func(app *App, id string) {
		t.Helper()
		must(app.Build(h.ctx, pipeline.Query{Text: "trains"}, BuildOptions{Tenant: "acme", ID: id}))(t)
		if err := app.FlushRecords(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	build(h.a, "one")
	find(h.b, "one")
	build(h.b, "two")
	find(h.a, "two one")
	must(h.b.RemoveBuilds(h.ctx, "acme", "one"))(t)
	find(h.a, "two")
	must(h.a.RemoveBuilds(h.ctx, "acme", "two"))(t)
	find(h.b, "")
}

func (h *twoHosts) values(t *testing.T) {
	owner := host.KVOwner{Tenant: "acme", Plugin: "notes"}
	a, b := h.a.values(h.a.current.Loaded), h.b.values(h.b.current.Loaded)
	for i, kv := range []host.KVStore{a, b, a} {
		if err := kv.Set(h.ctx, owner, strings.Repeat("k", i+1), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range []host.KVStore{a, b} {
		keys, bytes, err := kv.Usage(h.ctx, owner)
		if v := must(kv.Get(h.ctx, owner, "kk"))(t); string(v) != "value" || keys != 3 || bytes != 21 || err != nil {
			t.Errorf("value %q of %d keys with %d bytes, %v", v, keys, bytes, err)
		}
	}
}

func (h *twoHosts) collection(t *testing.T) {
	c := retrieve.Collection{Tenant: store.DefaultTenant, Name: "docs"}
	find := func(app *App, word string, want int) {
		t.Helper()
		found, err := app.SearchCollection(h.ctx, c, retrieve.Query{Text: word, K: 10}, nil)
		if err != nil || len(found) != want {
			t.Errorf("%d documents are found for %s, want %d; %v", len(found), word, want, err)
		}
	}
	add := func(app *App, name, text string) {
		t.Helper()
		must(app.Ingest(h.ctx, []ingest.Source{{Path: name, Reader: strings.NewReader(text)}}, ingest.Options{Collection: c}))(t)
	}
	add(h.a, "a.md", "the first bridge")
	find(h.b, "bridge", 1)
	add(h.b, "b.md", "the second bridge")
	find(h.a, "bridge", 2)
	add(h.a, "b.md", "the second tunnel")
	find(h.b, "bridge", 1)
	find(h.b, "tunnel", 1)
	for d, err := range h.b.CollectionDocuments(h.ctx, c, retrieve.IDs{}) {
		if err == nil && strings.Contains(d.ID, "a.md") {
			must(h.b.RemoveDocument(h.ctx, c, d.ID))(t)
		}
	}
	find(h.a, "bridge", 0)
	if err := h.a.RemoveCollection(h.ctx, c); err != nil {
		t.Fatal(err)
	}
	if _, err := h.b.SearchCollection(h.ctx, c, retrieve.Query{Text: "tunnel", K: 10}, nil); !errors.Is(err, retrieve.ErrNotFound) {
		t.Errorf("a collection that another host has removed: %v", err)
	}
}
