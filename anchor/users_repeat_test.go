package anchor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// A build that is repeated leaves no trace in the store, such as an owner of what was deleted meanwhile.
func TestRepeatedBuildClaimsNothing(t *testing.T) {
	ctx, app := t.Context(), load(t, usersConfig)
	o := BuildOptions{User: "ann", Conversation: "c", ID: "b"}
	if _, err := app.BuildRequest(ctx, "request", strings.NewReader(`{"query": "q"}`), o); err != nil {
		t.Fatal(err)
	}
	if err := app.FlushRecords(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := app.BuildRecord(ctx, "", "b")
	if err != nil {
		t.Fatal(err)
	}
	talk, err := app.Conversation(ctx, "", "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := talk.Forget(ctx); err != nil {
		t.Fatal(err)
	}
	if again, err := app.RepeatBuild(ctx, "", r, BuildOptions{}); err != nil || again.Err != nil {
		t.Fatal(err, again)
	}
	_, s, err := app.storeOf(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := agentstore.Owned(ctx, s, store.DefaultTenant, agentstore.AConversation, "ann"); err != nil || len(ids) != 0 {
		t.Errorf("conversations %q, %v", ids, err)
	}
	// A conversation that another user has begun meanwhile is not given to the repetition.
	if _, err := app.Build(ctx, pipeline.Query{Text: "of bob"}, BuildOptions{User: "bob", Conversation: "c", Remember: true}); err != nil {
		t.Fatal(err)
	}
	if again, err := app.RepeatBuild(ctx, "", r, BuildOptions{}); err == nil && again.Err == nil {
		t.Errorf("the repetition has a conversation of bob: %+v", again.Result.Window)
	}
}

// What plugins store in a build that is repeated is gone with it: in memory, in the store, and where the embedder
// keeps it.
func TestRepeatedBuildStoresNothing(t *testing.T) {
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	const kept = `
counting: {tokenizer: words}
builds: {records: {content: true}}
plugins: {dir: %q, instances: {kv: {plugin: foreign-kv, grants: {kv: {}}}}}
%s
pipelines:
  set: {steps: [{name: set, use: kv, function: set, must: true}]}
  both: {steps: [{name: set, use: kv, function: set, must: true}, {name: get, use: kv, function: get, input: text, must: true}]}
  get: {steps: [{name: get, use: kv, function: get, must: true}]}
`
	for _, where := range []string{"", "store: {path: values.db}"} {
		ctx, app := t.Context(), load(t, fmt.Sprintf(kept, filepath.ToSlash(dir), where))
		build := func(pipe, query, id string) string {
			document := fmt.Sprintf(`{"query": %q, "pipeline": %q, "items": [{"content": "k", "source": "retrieval"}]}`, query, pipe)
			r, err := app.BuildRequest(ctx, "request", strings.NewReader(document), BuildOptions{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			return contents(r)
		}
		build("both", "k=old", "b")
		build("set", "k=", "gone")
		build("set", "k=new", "")
		if err := app.FlushRecords(ctx); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{"b": "old", "gone": "k"} {
			r, err := app.BuildRecord(ctx, "", id)
			if err != nil {
				t.Fatal(err)
			}
			again, err := app.RepeatBuild(ctx, "", r, BuildOptions{})
			if err != nil || again.Err != nil || contents(again.Result) != want {
				t.Errorf("%q: the repetition of %s has %+v, %v, want %s", where, id, again, err, want)
			}
			if got := build("get", "k", ""); !strings.Contains(got, "new") {
				t.Errorf("%q: after the repetition of %s the value is %q", where, id, got)
			}
		}
	}
}

// A repeated build neither condenses the conversation that it reads nor notes which turns have left its window.
func TestRepeatedBuildLeavesTheConversation(t *testing.T) {
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, smaller := range []string{"low_water: 5", "eviction: paired", "compact: {use: documents}"} {
		ctx, s := t.Context(), store.NewMemory()
		open := func(conversation string) *App {
			app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\nbuilds: {records: {content: true}}\nmemory: {conversation: "+conversation+"}\n"), Options{Store: s, PluginDir: dir, CacheDir: "off"})
			if err != nil {
				t.Fatal(err)
			}
			return app
		}
		app := open("{tokens: 900}")
		for range 30 {
			if _, err := app.BuildRequest(ctx, "request", strings.NewReader(`{"query": "turns of the same words"}`), BuildOptions{Conversation: "c", Remember: true, ID: "b"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := app.FlushRecords(ctx); err != nil {
			t.Fatal(err)
		}
		app = open("{tokens: 10, " + smaller + "}")
		r, err := app.BuildRecord(ctx, "", "b")
		if err != nil {
			t.Fatal(err)
		}
		again, err := app.RepeatBuild(ctx, "", r, BuildOptions{})
		if err != nil || again.Err != nil {
			t.Fatal(err, again)
		}
		if err := app.compacting.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if keys, err := s.Keys(ctx, store.DefaultTenant, conversation.KindDigest); err != nil || len(keys) > 0 {
			t.Errorf("%s: %v, %v", smaller, keys, err)
		}
	}
}

// dying is a store that fails once a conversation has an owner, until it is mended.
type dying struct {
	store.Store
	claimed bool
}

func (d *dying) note(err error, key store.Key) error {
	if d.claimed {
		return store.ErrReadOnly
	}
	d.claimed = err == nil && key.Kind == agentstore.KindOwner
	return err
}

func (d *dying) Append(ctx context.Context, key store.Key, recs ...store.Record) (n int64, err error) {
	if !d.claimed {
		n, err = d.Store.Append(ctx, key, recs...)
	}
	return n, d.note(err, key)
}

func (d *dying) Delete(ctx context.Context, key store.Key, ids ...string) (n int, err error) {
	if !d.claimed {
		n, err = d.Store.Delete(ctx, key, ids...)
	}
	return n, d.note(err, key)
}

func (d *dying) Apply(ctx context.Context, changes ...store.Change) (err error) {
	if d.claimed {
		return store.ErrReadOnly
	}
	err = d.Store.Apply(ctx, changes...)
	for _, c := range changes {
		err = d.note(err, c.Key)
	}
	return err
}

// A store that dies as soon as a user has a conversation leaves none of its facts to nobody.
func TestFactsAreClaimedWithTheirConversation(t *testing.T) {
	for _, n := range []int{1, takenTogether, 2*takenTogether + 1} {
		ctx, s := t.Context(), &dying{Store: store.NewMemory()}
		app, err := Load(write(t, t.TempDir(), usersConfig), Options{Store: s, CacheDir: "off"})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close(ctx)
		say(t, app, "I live in Oslo.")
		if err := conversation.NewLog(s, store.DefaultTenant, "c").SetPromoted(ctx, 1); err != nil {
			t.Fatal(err)
		}
		entries := []*memory.Entry{{ID: "another", Content: "x", SessionID: "other", Relevance: 1, Type: memory.Semantic}}
		for i := range n {
			entries = append(entries, &memory.Entry{ID: fmt.Sprint(i), Content: fmt.Sprint("fact ", i), SessionID: "c", Relevance: 1, Type: memory.Semantic})
		}
		if err := memory.NewStoreFacts(s, store.DefaultTenant).Put(ctx, entries...); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{User: "ann", Conversation: "c"}); err != nil {
			t.Logf("the build: %v", err)
		}
		if !s.claimed {
			t.Errorf("%d facts: the conversation is not claimed", n)
		}
		list, err := memory.NewStoreFacts(s, store.DefaultTenant).List(ctx)
		if err != nil || len(list) != n+1 {
			t.Fatalf("%d facts: %d, %v", n, len(list), err)
		}
		for _, e := range list {
			if (e.UserID == "ann") != (e.SessionID == "c") {
				t.Fatalf("%d facts: %s of session %s belongs to %q", n, e.ID, e.SessionID, e.UserID)
			}
		}
	}
}

// The session of a coding agent that is deleted as a conversation is not found by searches any more. Other sessions,
// also those with a longer name, and other users lose nothing.
func TestDeletedSessionsAreNotFound(t *testing.T) {
	ctx := t.Context()
	app, err := Load(write(t, t.TempDir(), usersConfig+"store: {path: store.db}\n"), Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(ctx)
	s, err := app.Store(ctx)
	if err != nil {
		t.Fatal(err)
	}
	shop := project.Project{ID: "p-1"}
	found := map[string]func() bool{}
	for _, user := range []string{"ann/x", "ann", ""} {
		m, err := learned.Open(s, learned.Options{User: user})
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range []string{"one", "one/more", "one/1", "on", "x/one"} {
			text := "The cookie of " + user + " in " + session + " was renamed."
			if _, err := m.Turns(ctx, shop, session, []learned.Said{{Source: learned.Assistant, Text: text}}); errors.Is(err, ErrOwned) {
				continue // two users whose names and sessions make the same name
			} else if err != nil {
				t.Fatal(err)
			}
			found["agent:p-1/"+user+"/"+session] = func() bool {
				list, err := m.Search(ctx, shop, text, 10, 0)
				return err != nil || slices.ContainsFunc(list, func(n learned.Note) bool { return n.Text == text })
			}
		}
	}
	for name, is := range found {
		if !is() {
			t.Fatalf("%s is not found before", name)
		}
	}
	for name := range found {
		talk, err := app.Conversation(ctx, "", name)
		if err != nil {
			t.Fatal(err)
		}
		forget := talk.Forget
		if strings.HasSuffix(name, "/on") {
			if n, err := talk.Delete(ctx); n != 0 || err != nil || !found[name]() {
				t.Errorf("%s: %d, %v, or no turn is deleted and it is gone", name, n, err)
			}
			forget = func(ctx context.Context) (int, error) { return talk.Delete(ctx, 1) }
		}
		if n, err := forget(ctx); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if found[name]() {
			t.Errorf("%s is still found", name)
		}
		delete(found, name)
		for name, is := range found {
			if !is() {
				t.Errorf("%s is not found any more", name)
			}
		}
	}
}

// Records of builds with texts go with the conversation, whoever deletes it. Those without texts stay, but for those of a
// user who is forgotten, and so do those of another conversation.
func TestRecordsGoWithTheirConversation(t *testing.T) {
	ctx := t.Context()
	for name, tt := range map[string]struct {
		config string
		forget func(*App) error
		want   string
	}{
		"forget": {"{content: true}", forgetTalk, "none other plain"},
		"age": {"{content: true}", func(a *App) error {
			_, err := a.DeleteOld(ctx, "")
			return err
		}, "none plain"},
		"without texts": {"{}", forgetTalk, "claimed mine none other plain"},
		"no longer kept": {"{content: true}", func(a *App) error {
			talk, err := a.Conversation(ctx, "", "c")
			if err == nil {
				c := *talk.config
				c.Builds.Records, talk.config = nil, &c
				_, err = talk.Forget(ctx)
			}
			return err
		}, "none other plain"},
		"user": {"{}", func(a *App) error {
			done, err := a.ForgetUser(ctx, "", "ann")
			if err == nil && done.Builds != 3 {
				err = fmt.Errorf("%d builds are counted", done.Builds)
			}
			return err
		}, "none other"},
	} {
		file, s := write(t, t.TempDir(), ""), store.NewMemory()
		with := func(records string) *App {
			text := basic + "memory: {conversation: {}}\nstore: {keep: {conversations: 1ns}}\nbuilds: {records: " + records + "}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			app, err := Load(file, Options{Store: s, CacheDir: "off"})
			if err != nil {
				t.Fatal(err)
			}
			return app
		}
		build := func(a *App, o BuildOptions) {
			o.Remember = o.Conversation != ""
			if _, err := a.Build(ctx, pipeline.Query{Text: "a secret"}, o); err != nil {
				t.Fatal(err)
			}
		}
		plain := with("{}")
		build(plain, BuildOptions{ID: "plain", Conversation: "c"})
		if err := plain.Close(ctx); err != nil {
			t.Fatal(err)
		}
		app := with(tt.config)
		build(app, BuildOptions{ID: "claimed", Conversation: "c"})
		build(app, BuildOptions{ID: "mine", User: "ann", Conversation: "c"})
		build(app, BuildOptions{ID: "other", Conversation: "other"})
		build(app, BuildOptions{ID: "none"})
		if err := tt.forget(app); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := app.FlushRecords(ctx); err != nil {
			t.Fatal(err)
		}
		page, err := app.Builds(ctx, "", builds.Filter{}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, b := range page.Builds {
			ids = append(ids, b.ID)
		}
		if slices.Sort(ids); strings.Join(ids, " ") != tt.want {
			t.Errorf("%s: %v are left, want %s", name, ids, tt.want)
		}
		if err := app.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

func forgetTalk(a *App) error {
	talk, err := a.Conversation(context.Background(), "", "c")
	if err == nil {
		_, err = talk.Forget(context.Background())
	}
	return err
}

// ending is a store whose caller goes away as soon as a conversation has no owner any more.
type ending struct {
	store.Store
	end context.CancelFunc
}

func (e *ending) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	n, err := e.Store.Delete(ctx, key, ids...)
	if e.end != nil && key.Kind == agentstore.KindOwner {
		e.end()
	}
	return n, err
}

// Who ends before the records of builds are deleted, and tries again, deletes those of the conversations too.
func TestRecordsGoBeforeTheirConversation(t *testing.T) {
	for name, forget := range map[string]func(context.Context, *App) error{
		"user": func(ctx context.Context, a *App) error {
			_, err := a.ForgetUser(ctx, "", "ann")
			return err
		},
		"age": func(ctx context.Context, a *App) error {
			_, err := a.DeleteOld(ctx, "")
			return err
		},
	} {
		s := &ending{Store: store.NewMemory()}
		text := basic + "memory: {conversation: {}}\nstore: {keep: {conversations: 1ns}}\nbuilds: {records: {content: true}}\n"
		app, err := Load(write(t, t.TempDir(), text), Options{Store: s, CacheDir: "off"})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close(t.Context())
		for _, user := range []string{"", "ann"} {
			if _, err := app.Build(t.Context(), pipeline.Query{Text: "a secret"}, BuildOptions{User: user, Conversation: "c", Remember: true}); err != nil {
				t.Fatal(err)
			}
		}
		var ctx context.Context
		ctx, s.end = context.WithCancel(t.Context())
		if err := forget(ctx, app); err == nil {
			t.Errorf("%s: no error", name)
		}
		s.end = nil
		if err := forget(t.Context(), app); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if page, err := app.Builds(t.Context(), "", builds.Filter{}, "", 10); err != nil || len(page.Builds) > 0 {
			t.Errorf("%s: %d records are left, %v", name, len(page.Builds), err)
		}
	}
}
