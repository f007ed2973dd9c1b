package hooks

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// Two users on other machines work in folders of the same name: none gets what the other said.
func TestUsersOfATenantAreApart(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	at := Place{Name: "/app"}
	for _, user := range []string{"ann", "bob"} {
		k, err := Known(s, store.DefaultTenant, user, false)
		if err != nil {
			t.Fatal(err)
		}
		if user == "ann" {
			err = k.Learn(t.Context(), at, "s-"+user, []pipeline.Turn{{Role: pipeline.RoleUser, Content: "Remember that Ann's shop ships from Lyon."}})
		}
		if err != nil {
			t.Fatal(err)
		}
		items, err := k.Start(t.Context(), at, 9000)
		n, want := 0, 0
		if user == "ann" {
			want = 1
		}
		for _, item := range items {
			n += strings.Count(item.Text, "Lyon")
		}
		if err != nil || n != want {
			t.Errorf("%s: %d of them, %v", user, n, err)
		}
	}
}
