package anchor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// recorder makes an App of a folder with a store, with a conversation, facts and a collection.
func recordedFolder(t *testing.T) (dir, yaml string) {
	t.Helper()
	dir = t.TempDir()
	yaml = "store: {path: " + filepath.Join(dir, "s.db") + `}
counting: {tokenizer: words}
window: {max_tokens: 60}
memory: {facts: {}, conversation: {id: chat}}
retrievers: {docs: {collection: docs}}
steps: [{name: docs, use: docs}, {name: best, use: sort, settings: {by: score, order: desc}}]
`
	app := loadWith(t, yaml, Options{})
	c, err := app.Conversation(t.Context(), "", "chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"when do trains leave", "soon", "and buses"} {
		if _, err := c.Add(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: text}); err != nil {
			t.Fatal(err)
		}
	}
	index, docs, err := app.indexOf(t.Context(), retrieve.Collection{Name: "docs"})
	if err == nil {
		err = index.Create(t.Context(), docs, retrieve.Settings{})
	}
	if err == nil {
		err = index.Upsert(t.Context(), docs, retrieve.Document{ID: "d1", Chunks: []retrieve.Chunk{{Text: "trains leave at nine"}, {Text: "buses leave at ten"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir, yaml
}

// A recorded build is the same on a machine without its store, and a change is named where it
// begins.
func TestReplay(t *testing.T) {
	dir, yaml := recordedFolder(t)
	app := loadWith(t, yaml, Options{Tape: NewTape()})
	r, result, err := app.RecordBuild(t.Context(), pipeline.Query{Text: "when do trains leave"}, nil, BuildOptions{MaxTokens: 50, Explain: true, Items: items("given")})
	if err != nil || len(result.Window.Items) < 5 {
		t.Fatal(err, result)
	}
	if err := r.Write(filepath.Join(dir, "rec")); err != nil {
		t.Fatal(err)
	}
	if err := app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "s.db")); err != nil { // nothing is read from it
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, to string
		want     []string
	}{
		"the same": {},
		"order":    {"order: desc", "order: asc", []string{`setting "steps[1].settings.order"`, `step "best": place 4 of the list has item`}},
		"window":   {"window: {max_tokens: 60}", "window: {max_tokens: 70}", []string{`setting "window.max_tokens": it is "70", recorded was "60"`}},
		"step":     {"steps: [{name: docs", "steps: [{name: first", []string{`setting "steps[0].name"`, `step "docs": step "first" ran in its place`, `result "`}},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := ReadRecording(filepath.Join(dir, "rec"))
			if err != nil {
				t.Fatal(err)
			}
			app := loadWith(t, strings.Replace(yaml, tt.from, tt.to, 1), Options{Tape: read.Tape()})
			differences, asked, err := app.Replay(t.Context(), read)
			if err != nil || len(asked) != 0 || tt.want == nil && len(differences) != 0 {
				t.Fatalf("%v, %v, asked %q", err, differences, asked)
			}
			for i, want := range tt.want {
				if i >= len(differences) || !strings.HasPrefix(differences[i].String(), want) {
					t.Errorf("difference %d: want %s: %v", i, want, differences)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "s.db")); err == nil {
		t.Error("a replay made a store")
	}
}

// A build that fails is recorded and repeated, and what the recording lacks is named.
func TestReplayOfFailures(t *testing.T) {
	dir, yaml := recordedFolder(t)
	app := loadWith(t, yaml, Options{Tape: NewTape()})
	r, _, err := app.RecordBuild(t.Context(), pipeline.Query{Text: "q"}, []byte(`{"query": "when", "items": [], "steps": [{"name": "s", "use": "gone", "operation": "filter", "must": true}]}`), BuildOptions{})
	if err == nil {
		t.Fatal("the plugin does not exist")
	}
	if r != nil {
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	app = loadWith(t, yaml, Options{Tape: NewTape()})
	r, _, err = app.RecordBuild(t.Context(), pipeline.Query{Text: "when do trains leave"}, nil, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.r.Answers = r.r.Answers[:1]
	app = loadWith(t, yaml, Options{Tape: r.Tape()})
	differences, asked, err := app.Replay(t.Context(), r)
	if err == nil && len(differences) == 0 || len(asked) == 0 {
		t.Errorf("%v, %v, %q", err, differences, asked)
	}
	if _, _, err := app.RecordBuild(t.Context(), pipeline.Query{}, nil, BuildOptions{}); err == nil {
		t.Error("a tape that plays records")
	}
}

// Hostile recordings are refused, or read.
func FuzzRecording(f *testing.F) {
	f.Add([]byte(`{"version": 2, "document": {}, "result": {}, "steps": [{"step": "a", "items": [{"id": "x"}]}]}`))
	f.Add([]byte(`{"version": 2, "query": {}, "options": {"Tools": null}, "result": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := tape.Decode("x", data)
		if err != nil {
			return
		}
		for _, d := range r.Compare(&tape.Recording{Result: json.RawMessage(`{}`)}) {
			_ = d.String()
		}
		if again := r.Compare(r); len(again) != 0 {
			t.Errorf("it differs from itself: %v", again)
		}
	})
}
