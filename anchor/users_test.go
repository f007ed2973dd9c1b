package anchor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// usersConfig has facts, stored conversations, agent runs and records.
const usersConfig = basic + "memory: {conversation: {}, facts: {}}\nagent: {max_tokens: 1000}\nbuilds: {records: {content: true}}\n"

// fillUser stores something of each kind for a user.
func fillUser(t *testing.T, app *App, user string) {
	t.Helper()
	ctx := t.Context()
	m, err := app.Facts(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Add(ctx, memory.Entry{Content: user + " likes tea", UserID: user}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Add(ctx, memory.Entry{Content: "of the chat of " + user, SessionID: "chat-" + user}); err != nil {
		t.Fatal(err)
	}
	o := BuildOptions{User: user, Conversation: "chat-" + user, Remember: true, Key: "k1", RequestID: "r-" + user}
	for range 2 {
		if _, err := app.Build(ctx, pipeline.Query{Text: "what does " + user + " like"}, o); err != nil {
			t.Fatal(err)
		}
	}
	messages := []pipeline.Message{message.New(pipeline.RoleUser, "hello")}
	if _, err := app.Assemble(ctx, messages, AssembleOptions{Run: "run-" + user, User: user}); err != nil {
		t.Fatal(err)
	}
	if err := app.FlushRecords(ctx); err != nil {
		t.Fatal(err)
	}
}

// left counts what the store has of a user.
func left(ctx context.Context, t *testing.T, app *App, user string) (got ForgottenUser) {
	t.Helper()
	m, err := app.Facts(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []memory.Filter{{UserID: user}, {SessionID: "chat-" + user}} {
		facts, err := m.List(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		got.Facts += len(facts)
	}
	talk, err := app.Conversation(ctx, "", "chat-"+user)
	if err != nil {
		t.Fatal(err)
	}
	turns, err := talk.Turns(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Turns = len(turns); got.Turns > 0 {
		got.Conversations = 1
	}
	runs, err := app.Runs(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID == "run-"+user {
			got.Runs++
		}
	}
	page, err := app.Builds(ctx, "", builds.Filter{User: user}, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	got.User, got.Builds = user, len(page.Builds)
	return got
}

// What was stored of a user goes, and that of another stays.
func TestForgetUser(t *testing.T) {
	ctx, app := t.Context(), load(t, usersConfig)
	fillUser(t, app, "ann")
	fillUser(t, app, "bob")
	want := ForgottenUser{User: "ann", Facts: 2, Conversations: 1, Turns: 2, Runs: 1, Builds: 2}
	if got := left(ctx, t, app, "ann"); got != want {
		t.Fatalf("before: %+v", got)
	}
	g, err := app.Graph(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range listFacts(t, app) {
		if err := g.Add(ctx, memory.Relation{Source: cmp.Or(e.UserID, e.SessionID), Fact: e.ID}); err != nil {
			t.Fatal(err)
		}
	}
	done, err := app.ForgetUser(ctx, "", "ann")
	if err != nil || done != want {
		t.Errorf("%+v, %v, want %+v", done, err, want)
	}
	if links, err := g.Relations(ctx); err != nil || len(links) != 2 || !strings.Contains(links[0].Source+links[1].Source, "bob") || strings.Contains(links[0].Source+links[1].Source, "ann") {
		t.Errorf("links %+v, %v", links, err)
	}
	if got := left(ctx, t, app, "ann"); got != (ForgottenUser{User: "ann"}) {
		t.Errorf("left of ann: %+v", got)
	}
	if got, want := left(ctx, t, app, "bob"), (ForgottenUser{User: "bob", Facts: 2, Conversations: 1, Turns: 2, Runs: 1, Builds: 2}); got != want {
		t.Errorf("left of bob: %+v, want %+v", got, want)
	}
	if done, err := app.ForgetUser(ctx, "", "ann"); err != nil || done != (ForgottenUser{User: "ann"}) {
		t.Errorf("again: %+v, %v", done, err)
	}
	if _, err := app.ForgetUser(ctx, "", ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("nobody: %v", err)
	}
	// The names are free again.
	if _, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{User: "eve", Conversation: "chat-ann"}); err != nil {
		t.Error(err)
	}
}

// A conversation and a run are for the user that they belong to.
func TestOwnedByOneUser(t *testing.T) {
	ctx, app := t.Context(), load(t, usersConfig)
	talk, err := app.Conversation(ctx, "", "open")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := talk.Add(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: "of nobody"}); err != nil {
		t.Fatal(err)
	}
	build := func(user string) error {
		_, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{User: user, Conversation: "open"})
		return err
	}
	if err := build(""); err != nil {
		t.Fatalf("a conversation of nobody: %v", err)
	}
	if err := build("ann"); err != nil {
		t.Fatalf("the first user: %v", err)
	}
	for _, user := range []string{"bob", ""} {
		if err := build(user); !errors.Is(err, ErrOwned) || !errors.Is(err, ErrInvalid) {
			t.Errorf("user %q in the conversation of ann: %v", user, err)
		}
	}
	assemble := func(user string) error {
		_, err := app.Assemble(ctx, []pipeline.Message{message.New(pipeline.RoleUser, "hello")}, AssembleOptions{Run: "open", User: user})
		return err
	}
	if err := assemble("bob"); err != nil { // the run is another thing than the conversation
		t.Fatal(err)
	}
	for _, user := range []string{"ann", ""} {
		if err := assemble(user); !errors.Is(err, ErrOwned) {
			t.Errorf("user %q in the run of bob: %v", user, err)
		}
	}
}

// A record says who asked.
func TestRecordSaysWhoAsked(t *testing.T) {
	ctx, app := t.Context(), load(t, usersConfig)
	fillUser(t, app, "ann")
	fillUser(t, app, "bob")
	for _, f := range []builds.Filter{{User: "ann"}, {RequestID: "r-ann"}, {User: "ann", Key: "k1"}} {
		page, err := app.Builds(ctx, "", f, "", 10)
		if err != nil || len(page.Builds) != 2 {
			t.Fatalf("%+v: %d builds, %v", f, len(page.Builds), err)
		}
		if b := page.Builds[0]; b.User != "ann" || b.Key != "k1" || b.RequestID != "r-ann" {
			t.Errorf("%+v", b)
		}
	}
}

// What the store has kept for too long goes, and what is young stays.
func TestDeleteOld(t *testing.T) {
	ctx := t.Context()
	app := load(t, usersConfig+"store: {keep: {conversations: 90d, runs: 30d, facts: 365d}}\n")
	fillUser(t, app, "ann")
	_, s, err := app.storeOf(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-100 * 24 * time.Hour)
	for _, rec := range []struct {
		kind, stream, data string
		auto               bool
	}{{"turn", "old", `{"role":"user","content":"x"}`, true}, {"state", "old", `{}`, false}} {
		r := store.Record{Data: []byte(rec.data), Time: before}
		if !rec.auto {
			r.ID = "a"
		}
		if _, err := s.Append(ctx, store.Key{Tenant: store.DefaultTenant, Kind: rec.kind, Stream: rec.stream}, r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := app.Facts(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []memory.Entry{{Content: "old", CreatedAt: before.Add(-400 * 24 * time.Hour), LastAccessed: before.Add(-300 * 24 * time.Hour)}, {Content: "old, but used", CreatedAt: before.Add(-400 * 24 * time.Hour), LastAccessed: before}} {
		if _, _, err := m.Add(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	for stream, at := range map[string]time.Time{"claimed": before, "new": time.Now()} { // without a turn
		if _, err := s.Append(ctx, store.Key{Tenant: store.DefaultTenant, Kind: agentstore.KindOwner, Stream: stream}, store.Record{ID: string(agentstore.AConversation), Data: []byte(`{"user_id":"old"}`), Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := app.DeleteOld(ctx, ""); err != nil || got != (Aged{Conversations: 1, Runs: 1, Facts: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got := left(ctx, t, app, "ann"); got.Turns != 2 || got.Runs != 1 || got.Facts != 2 {
		t.Errorf("young things: %+v", got)
	}
	if ids, err := agentstore.Owned(ctx, s, store.DefaultTenant, agentstore.AConversation, "old"); err != nil || !slices.Equal(ids, []string{"new"}) {
		t.Errorf("conversations with an owner and without turns: %q, %v", ids, err)
	}
	if got, err := app.DeleteOld(ctx, ""); err != nil || got != (Aged{}) {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// A service deletes what is too old by itself.
func TestAging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked := 0
		var g aging
		g.start(func(context.Context) { looked++ })
		time.Sleep(agingFirst + 2*agingEvery + time.Second)
		synctest.Wait()
		if looked != 3 {
			t.Errorf("looked %d times, want 3", looked)
		}
		g.stop()
		time.Sleep(2 * agingEvery)
		if looked != 3 {
			t.Errorf("looked %d times after the end", looked)
		}
		new(aging).stop()
	})
}

// Facts of a conversation are for the user that it belongs to, whoever promotes it.
func TestPromoteForOwner(t *testing.T) {
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: `{"add":[{"content":"lives in Oslo","tags":[]}],"update":[],"remove":[]}`}
	})
	app, _ := loadFacts(t, s, "{extract: {model: small, every: 0}}")
	if _, err := app.Build(t.Context(), pipeline.Query{Text: "I live in Oslo."}, BuildOptions{User: "ann", Conversation: "c", Remember: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Promote(t.Context(), "c", PromoteOptions{User: "bob"}); !errors.Is(err, ErrOwned) {
		t.Errorf("for another user: %v", err)
	}
	if p, err := app.Promote(t.Context(), "c", PromoteOptions{}); err != nil || len(p.Added) != 1 || p.Added[0].UserID != "ann" {
		t.Errorf("for nobody: %+v, %v", p, err)
	}
}

// Facts that were extracted from a conversation of nobody are for the user who claims it, for nobody else,
// and go with the user. Those of a session that only has the name of a conversation stay.
func TestFactsGoWithTheirConversation(t *testing.T) {
	ctx := t.Context()
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: `{"add":[{"content":"lives in Oslo","tags":[]}],"update":[],"remove":[]}`}
	})
	app, _ := loadFacts(t, s, "{extract: {model: small, every: 0}}")
	build := func(o BuildOptions) (string, error) {
		r, err := app.Build(ctx, pipeline.Query{Text: "Who lives in Oslo?"}, o)
		if err != nil {
			return "", err
		}
		return contents(r), nil
	}
	say(t, app, "I live in Oslo.")
	if p, err := app.Promote(ctx, "c", PromoteOptions{}); err != nil || len(p.Added) != 1 || p.Added[0].UserID != "" {
		t.Fatalf("%+v, %v", p, err)
	}
	m, err := app.Facts(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Add(ctx, memory.Entry{Content: "the office is in Oslo", SessionID: "office"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"c", "office"} {
		if _, err := build(BuildOptions{User: "ann", Conversation: id, Remember: true}); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := build(BuildOptions{User: "ann"}); err != nil || !strings.Contains(text, "lives in Oslo") || strings.Contains(text, "office") {
		t.Errorf("the user who claimed the conversation: %q, %v", text, err)
	}
	for _, o := range []BuildOptions{{}, {User: "bob"}, {User: "bob", Session: "c"}} {
		if text, err := build(o); err != nil || strings.Contains(text, "lives in Oslo") {
			t.Errorf("%+v: %q, %v", o, text, err)
		}
	}
	for _, id := range []string{"c", "office"} {
		if text, err := build(BuildOptions{Session: id}); !errors.Is(err, ErrOwned) {
			t.Errorf("nobody in the session %s: %q, %v", id, text, err)
		}
	}
	// The conversation is deleted before its user is, and its name belongs to another user.
	talk, err := app.Conversation(ctx, "", "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := talk.Forget(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := build(BuildOptions{User: "bob", Conversation: "c", Remember: true}); err != nil {
		t.Fatal(err)
	}
	if done, err := app.ForgetUser(ctx, "", "bob"); err != nil || done.Facts != 0 {
		t.Errorf("bob: %+v, %v", done, err)
	}
	if done, err := app.ForgetUser(ctx, "", "ann"); err != nil || done.Facts != 2 || done.Conversations != 1 {
		t.Errorf("ann: %+v, %v", done, err)
	}
}
