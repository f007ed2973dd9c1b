package sharing_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/sharing"
	"github.com/anchor-host/anchor-host/internal/testkit/indextest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

func real(t *testing.T) retrieve.Index {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Index()
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	loaded, err := config.Parse("anchor.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &loaded.Config
}

// An index in which something is shared keeps the contract of an index for all else.
func TestContract(t *testing.T) {
	c := parse(t, "collections: {\"shared by nobody else\": {shared: true}}\n")
	indextest.Run(t, func(t *testing.T) retrieve.Index { return sharing.Index(real(t), c, nil) })
}

// The name of a shared collection means that of its owner, also for a tenant that has one of its own, and for
// each way to read. No other tenant writes to it. For all others the name means what is their own.
func TestWhoReadsAndWrites(t *testing.T) {
	ctx, store := t.Context(), real(t)
	at := func(tenant string) retrieve.Collection { return retrieve.Collection{Tenant: tenant, Name: "book"} }
	add := func(x retrieve.Index, tenant string) error {
		return x.Upsert(ctx, at(tenant), retrieve.Document{ID: tenant, Chunks: []retrieve.Chunk{{Text: "train"}}})
	}
	for _, tenant := range []string{"acme", "hides", "other"} {
		if err := errors.Join(store.Create(ctx, at(tenant), retrieve.Settings{}), add(store, tenant)); err != nil {
			t.Fatal(err)
		}
	}
	var told []retrieve.Collection
	hidden := &sharing.Hidden{Tell: func(own retrieve.Collection) { told = append(told, own) }}
	x := sharing.Index(store, parse(t, "collections: {book: {owner: acme, shared: [reads, hides]}}\n"), hidden)
	for tenant, want := range map[string]string{"acme": "acme", "reads": "acme", "hides": "acme", "other": "other"} {
		hits, err := x.Search(ctx, at(tenant), retrieve.Query{Text: "train", By: retrieve.ByWords, K: 9})
		if err != nil || len(hits) != 1 || hits[0].Document != want {
			t.Errorf("%s finds %v, %v, want the document of %s", tenant, hits, err, want)
		}
		if d, err := x.Document(ctx, at(tenant), want); err != nil || d.ID != want {
			t.Errorf("%s reads %v, %v", tenant, d.ID, err)
		}
		list, err := x.Collections(ctx, tenant)
		if foreign := tenant != want; err != nil || len(list) != 1 || list[0].Shared != foreign || list[0].Collection != at(tenant) {
			t.Errorf("%s lists %+v, %v", tenant, list, err)
		}
		for d, err := range x.Documents(ctx, at(tenant), retrieve.IDs{}) {
			if err != nil || d.ID != want {
				t.Errorf("%s lists the document %s, %v", tenant, d.ID, err)
			}
		}
		_, failed := x.Delete(ctx, at(tenant), "none")
		for _, err := range []error{add(x, tenant), failed, x.Create(ctx, at(tenant), retrieve.Settings{}), x.SetModel(ctx, at(tenant), retrieve.Model{}), x.SetRoot(ctx, at(tenant), "a", "b"), x.Compact(ctx, at(tenant))} {
			if owned := errors.Is(err, sharing.ErrOwned); owned != (tenant != want) || err != nil && !owned {
				t.Errorf("%s writes: %v", tenant, err)
			}
		}
	}
	if !slices.Equal(told, []retrieve.Collection{at("hides")}) {
		t.Errorf("hidden collections: %v", told)
	}
	if err := x.Remove(ctx, at("reads")); !errors.Is(err, sharing.ErrOwned) {
		t.Errorf("a reader removes it: %v", err)
	}
	if err := x.Remove(ctx, at("hides")); err != nil {
		t.Errorf("a tenant removes its own: %v", err)
	}
	if err := x.Remove(ctx, at("acme")); err != nil {
		t.Errorf("the owner removes it: %v", err)
	}
	if _, err := x.Collection(ctx, at("reads")); !errors.Is(err, retrieve.ErrNotFound) || strings.Contains(err.Error(), "acme") {
		t.Errorf("what is gone: %v, which must not name the owner", err)
	}
}

// The owner is who the file says, whatever tenant a request or a flag names.
func TestOwner(t *testing.T) {
	for text, want := range map[string]string{
		"tenant: acme\ncollections: {book: {shared: true}}\n":               "acme",
		"tenant: acme\ncollections: {book: {shared: true, owner: other}}\n": "other",
		"collections: {book: {shared: [reads]}}\n":                          "default",
		"tenant: acme\ncollections: {book: {shared: false}}\n":              "reads",
	} {
		c := parse(t, text)
		if err := c.Set("tenant", "reads"); err != nil {
			t.Fatal(err)
		}
		if got := c.OwnerOf("reads", "book"); got != want {
			t.Errorf("%q: owner %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"collections: {book: {owner: acme}}\n":                       "collections.book.owner",
		"collections: {book: {shared: ['*']}}\n":                     "shared: true",
		"collections: {book: {shared: acme}}\n":                      "a list of tenants",
		"collections: {book: {shared: [\"a\\u0001\"]}}\n":            "collections.book.shared[0]",
		"collections: {book: {shared: true, owner: \"a\\u0001\"}}\n": "collections.book.owner",
	} {
		if _, err := config.Parse("anchor.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
