package anchor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

func TestMemory(t *testing.T) {
	app := load(t, basic+"memory: {facts: {}}\n")
	ctx := t.Context()
	talk, err := app.Conversation(ctx, "acme", "chat-7")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"we meet in Oslo", "at nine"} {
		turn, err := talk.Add(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: text})
		if err != nil || turn.Sequence != int64(i+1) || turn.TokenCount == 0 || turn.CreatedAt.IsZero() {
			t.Fatalf("%+v, %v", turn, err)
		}
	}
	if _, err := talk.Add(ctx, pipeline.Turn{Role: "boss", Content: "x"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a wrong role: %v", err)
	}
	facts, err := app.Facts(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := facts.Add(ctx, memory.Entry{Content: "likes trains"}); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[string]string{"acme": "be brief|at nine|likes trains|we meet in Oslo", "other": "be brief"} {
		r, err := app.Build(ctx, pipeline.Query{Text: "trains"}, BuildOptions{Tenant: tenant, Conversation: "chat-7", Order: "chronological"})
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(r); len(got) != len(want) {
			t.Errorf("tenant %s: %q, want %q in any order", tenant, got, want)
		}
	}
	if found, err := talk.Search(ctx, "OSLO"); err != nil || len(found) != 1 || found[0].Sequence != 1 {
		t.Errorf("search: %+v, %v", found, err)
	}
	if n, err := talk.Forget(ctx); err != nil || n != 2 {
		t.Errorf("forget: %d, %v", n, err)
	}
	if turns, err := talk.Turns(ctx, 0, 0); err != nil || len(turns) != 0 {
		t.Errorf("after forgetting: %+v, %v", turns, err)
	}
	if _, err := app.Conversation(ctx, "", ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("a conversation without a name: %v", err)
	}
}

// One App serves many users: each build says whose facts it sees.
func TestFactsOfAUser(t *testing.T) {
	app := load(t, basic+"memory: {facts: {}}\n")
	ctx := t.Context()
	facts, err := app.Facts(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []memory.Entry{{Content: "of nobody"}, {Content: "of ann", UserID: "ann"}, {Content: "of bob", UserID: "bob"}, {Content: "of a stranger's session", SessionID: "s2"}, {Content: "of the session", UserID: "ann", SessionID: "s1"}} {
		if _, _, err := facts.Add(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		o    BuildOptions
		want []string
	}{
		{BuildOptions{Tenant: "acme", User: "bob"}, []string{"of bob"}},
		{BuildOptions{Tenant: "acme", User: "ann", Session: "s1"}, []string{"of the session"}},
		{BuildOptions{Tenant: "acme", User: "eve"}, nil},
		{BuildOptions{Tenant: "acme"}, []string{"of nobody"}},
		{BuildOptions{Tenant: "acme", Conversation: "new"}, []string{"of nobody"}},
		{BuildOptions{Tenant: "acme", Session: "s1"}, nil}, // it is one of ann's
	} {
		r, err := app.Build(ctx, pipeline.Query{Text: "of"}, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range r.Window.Items {
			if it.Source == pipeline.SourceMemory {
				got = append(got, it.Content)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.o.User, tt.o.Session, got, tt.want)
		}
	}
	if _, err := load(t, basic).Build(ctx, pipeline.Query{Text: "x"}, BuildOptions{Session: "s1"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a session without facts: %v", err)
	}
	if n, err := app.ForgetFacts(ctx, "acme", memory.Filter{Users: []string{"ann"}, Tags: []string{}}); n != 2 || err != nil {
		t.Errorf("forgot %d of ann, %v; want 2", n, err)
	}
	if n, err := app.ForgetFacts(ctx, "acme", memory.Filter{Tags: []string{}}); n != 3 || err != nil {
		t.Errorf("forgot %d of all, %v; want 3", n, err)
	}
	strict := load(t, basic+"memory: {facts: {require_user: true}}\n")
	if _, err := strict.Build(ctx, pipeline.Query{Text: "x"}, BuildOptions{User: "ann"}); err != nil {
		t.Errorf("with the user that is required: %v", err)
	}
	if _, err := strict.Build(ctx, pipeline.Query{Text: "x"}, BuildOptions{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "facts.require_user") {
		t.Errorf("without the user that is required: %v", err)
	}
}
