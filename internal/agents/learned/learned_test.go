package learned

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

var (
	shop = project.Project{ID: "p-1", Name: "shop"}
	bank = project.Project{ID: "p-2", Name: "bank"}
)

func open(t *testing.T, o Options) *Memory {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return over(t, s, o)
}

func over(t *testing.T, s store.Store, o Options) *Memory {
	t.Helper()
	m, err := Open(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func learn(t *testing.T, m *Memory, p project.Project, source Source, text string) Result {
	t.Helper()
	r, err := m.Learn(t.Context(), p, Candidate{Text: text, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func texts(notes []Note) string {
	var out []string
	for _, n := range notes {
		out = append(out, n.Text)
	}
	return strings.Join(out, " | ")
}

func TestNextSessionKnows(t *testing.T) {
	m := open(t, Options{User: "ann"})
	learn(t, m, shop, Assistant, "The tests of the shop run with make check.")
	learn(t, m, bank, User, "The bank's tests need a database.")
	if _, err := m.Turns(t.Context(), shop, "s1", []Said{{Source: User, Text: "Why is the cart empty after login?"}, {Source: Assistant, Text: "The cookie of the session was renamed."}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Frame(t.Context(), shop, "s1", "compact", "Repaired the cart."); err != nil {
		t.Fatal(err)
	}
	start, err := m.Start(t.Context(), shop, 1000)
	if got := texts(start); err != nil || got != "The tests of the shop run with make check. | Repaired the cart." {
		t.Errorf("start: %q, %v", got, err)
	}
	found, err := m.Search(t.Context(), shop, "how do tests run?", 1, 0)
	if got := texts(found); err != nil || got != "The tests of the shop run with make check." {
		t.Errorf("search for the fact: %q, %v", got, err)
	}
	found, err = m.Search(t.Context(), shop, "which cookie was renamed?", 1, 0)
	if got := texts(found); err != nil || got != "The cookie of the session was renamed." {
		t.Errorf("search for the turn: %q, %v", got, err)
	}
	ben := over(t, m.store, Options{User: "ben"})
	for name, of := range map[string]*Memory{"another project": m, "another user": ben} {
		p := shop
		if of == m {
			p = project.Project{ID: "p-3"}
		}
		start, err := of.Start(t.Context(), p, 1000)
		found, err2 := of.Search(t.Context(), p, "tests cart cookie database", 5, 0)
		if err != nil || err2 != nil || len(start)+len(found) > 0 {
			t.Errorf("%s: %v, %v, %v, %v", name, start, found, err, err2)
		}
	}
}

func TestReview(t *testing.T) {
	m := open(t, Options{Now: func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }})
	a := learn(t, m, shop, Assistant, "The port is 8080.").Note
	b := learn(t, m, shop, Assistant, "Logs go to stderr.").Note
	if r, err := m.Edit(t.Context(), shop.ID, a.ID, "The port is 9090."); err != nil || r.Status != Accepted {
		t.Fatalf("edit: %+v, %v", r, err)
	}
	if n, err := m.Drop(t.Context(), shop.ID, b.ID); err != nil || n != 1 {
		t.Fatalf("drop: %d, %v", n, err)
	}
	list, err := m.Review(t.Context(), Filter{}, 0)
	if got := texts(list); err != nil || got != "The port is 9090." {
		t.Errorf("review: %q, %v", got, err)
	}
	found, err := m.Search(t.Context(), shop, "logs stderr port", 5, 0)
	if got := texts(found); err != nil || got != "The port is 9090." {
		t.Errorf("search: %q, %v", got, err)
	}
}

func TestOriginal(t *testing.T) {
	m := open(t, Options{})
	text := strings.Repeat("line\n", 1000)
	handle, err := m.Keep(t.Context(), shop, text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Original(t.Context(), shop, handle); err != nil || got != text {
		t.Errorf("original of %d bytes, %v", len(got), err)
	}
	if _, err := m.Original(t.Context(), bank, handle); err == nil {
		t.Error("another project reads the text")
	}
}
