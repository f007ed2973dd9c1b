package server

import (
	"encoding/json"
	"fmt"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// marker is in everything that one tenant sends, and in nothing else.
const marker = "zqxmarkerzqx"

// markedConfig has a pipeline through everything that keeps something of a build: the records, facts and
// a conversation, a collection, the cache of an embedder, and one instance of a plugin for all tenants
// that keeps its memory and answers with the query before. Pipelines fail in several ways.
func markedConfig(dir, embedder string) string {
	return fmt.Sprintf(`
counting: {tokenizer: words}
builds: {records: {content: true}}
memory: {conversation: {tokens: 200}, facts: {embedder: far}}
plugins:
  dir: %q
  instances:
    keeps: {plugin: foreign-step, state: keep, limits: {instances: 1}}
    breaks: {plugin: foreign-step, state: keep, limits: {instances: 1}}
embedders: {far: {http: {base_url: %q, model: vectors, retries: 0}}}
collections: {docs: {embedder: far}}
retrievers: {docs: {collection: docs, by: hybrid}}
pipelines:
  p: {window: {max_tokens: 300}, steps: [{name: found, use: docs, must: false}, {name: before, use: keeps, function: recall, must: true}]}
  skips: {window: {max_tokens: 300}, steps: [{name: before, use: breaks, function: recall}, {name: s, use: breaks, function: fails}]}
  raises: {window: {max_tokens: 300}, steps: [{name: before, use: breaks, function: recall}, {name: s, use: breaks, function: fails, must: true}]}
  tight: {window: {max_tokens: 2}}
`, dir, embedder)
}

// echoes is the server of an embedder that repeats a text that it refuses.
func echoes(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		var data []any
		for i, text := range q.Input {
			if strings.Contains(text, "refuse") {
				http.Error(w, `{"error": {"message": "no vector of `+text+`"}}`, http.StatusBadRequest)
				return
			}
			data = append(data, map[string]any{"index": i, "embedding": modeltest.Vector(text)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(s.Close)
	return s
}

// marked is a tenant that works.
type marked struct {
	*live
	key string
}

func (m marked) send(method, path, body string, header ...string) answer {
	m.t.Helper()
	return m.api(method, path, body, append(header, "Authorization", "Bearer "+m.key)...)
}

// work does everything that a tenant can, with a text in all of it, and returns all answers and the ids
// that they have given: of a build and of an evaluation. Names by which others may ask are "one";
// lists have names with the text beside them.
func (m marked) work(text string) (answers []answer, build, eval string) {
	m.t.Helper()
	do := func(status int, method, path, body string, header ...string) answer {
		m.t.Helper()
		got := m.send(method, path, body, header...)
		if got.status != status {
			m.t.Errorf("%s: %s %s %s: %d %s, want %d", m.key, method, path, body, got.status, got.body, status)
		}
		answers = append(answers, got)
		return got
	}
	for i, name := range []string{"one", text} {
		do(201, "POST", "/v1/memory/facts", fmt.Sprintf(`{"id": %q, "content": "the train %d of %s", "user_id": %q, "tags": [%q]}`, name, i, text, text, text))
		do(201, "POST", "/v1/conversations/"+name+"/turns", `{"turns": [{"role": "user", "content": "the train of `+text+`"}]}`)
		do(201, "POST", "/v1/runs/"+name+"/frames", `{"kind": "tool_call", "summary": "the train of `+text+`"}`)
		source := ingest.Source{Path: text + ".md", Reader: strings.NewReader("the train of " + text)}
		in := retrieve.Collection{Tenant: m.key, Name: []string{"docs", text}[i]}
		if _, err := m.app.Ingest(m.t.Context(), []ingest.Source{source}, ingest.Options{Collection: in}); err != nil {
			m.t.Fatal(err)
		}
	}
	query := func(pipeline, query string) string {
		return fmt.Sprintf(`{"query": "%s %s", "pipeline": %q, "items": [{"id": %[2]q, "content": "an item of %[2]s", "source": "retrieval", "metadata": {"note": %[2]q}}]}`, query, text, pipeline)
	}
	for _, accept := range []string{"application/json", "text/event-stream"} {
		got := do(200, "POST", "/v1/builds?conversation=one&remember=true&user="+text, query("p", "the train"), "Accept", accept)
		if accept == "application/json" {
			build = got.header.Get("Anchor-Build-Id")
		}
		do(200, "POST", "/v1/builds", query("p", "refuse the train"), "Accept", accept)
		do(200, "POST", "/v1/builds", query("skips", "the train"), "Accept", accept)
	}
	do(500, "POST", "/v1/builds", query("raises", "the train"))
	do(422, "POST", "/v1/builds", query("tight", "the long long train"))
	do(200, "POST", "/v1/assemble?run=one", `[{"role": "user", "content": "the train of `+text+`"}]`)
	do(200, "POST", "/v1/memory/search", `{"query": "train"}`)
	do(200, "POST", "/v1/collections/docs/search", `{"query": "train", "by": "hybrid"}`)
	m.send("POST", "/v1/collections/docs/search", `{"query": "refuse `+text+`", "by": "hybrid"}`) // fails
	form, kind := evalForm(`{"pipeline": "p"}`, "corpus", `{"_id": "1", "text": "the train of `+text+`"}`+"\n", "queries", `{"_id": "q", "text": "train `+text+`"}`+"\n", "qrels", evalFiles[5])
	var job jobs.Doc
	do(202, "POST", "/v1/evals", form, "Content-Type", kind).into(m.t, &job)
	if !await.True(func() bool {
		m.send("GET", "/v1/evals/"+job.ID, "").into(m.t, &job)
		return job.State != jobs.Running
	}) {
		m.t.Fatalf("%s: the evaluation does not end: %+v", m.key, job)
	}
	if err := m.app.FlushRecords(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return answers, build, job.ID
}

// One tenant sends a text through everything that keeps something, and nothing that another one can read
// over HTTP has it: no list, no record, no search, no build by the same plugin instances, no error.
func TestNoTextLeavesItsTenant(t *testing.T) {
	l := start(t, markedConfig(plugins(t, "foreign-step"), echoes(t).URL), Options{Authenticator: badKeys{}, Unwatched: true})
	owner, other := marked{l, "owner"}, marked{l, "other"}
	ownerAnswers, build, eval := owner.work(marker)
	// The plugin does keep its memory for the tenant, so the other one would find it there.
	leave := func() { owner.send("POST", "/v1/builds", `{"query": "`+marker+`", "pipeline": "p"}`) }
	leave()
	if got := owner.send("POST", "/v1/builds", `{"query": "kept?", "pipeline": "p"}`); !strings.Contains(string(got.body), `"content":"`+marker+`"`) {
		t.Errorf("the plugin does not keep the query before: %s", got.body)
	}
	leave()
	otherAnswers, otherBuild, _ := other.work("lamp")
	has := func(a answer) bool {
		return strings.Contains(strings.ToLower(fmt.Sprint(a.header)+string(a.body)), marker)
	}
	if n := len(slices.DeleteFunc(slices.Clone(ownerAnswers), func(a answer) bool { return !has(a) })); n < 8 {
		t.Errorf("%d of the answers to the owner have his text: too few to show anything", n)
	}
	for _, a := range otherAnswers {
		if has(a) {
			t.Errorf("an answer to the other tenant has the text of the owner: %d %v %s", a.status, a.header, a.body)
		}
	}
	// All that can be read: each path with each name that the owner's things have.
	read := func(m marked) (shown []string) {
		for _, to := range l.targets() {
			paths := []string{to.Path}
			if to.Method == "GET" && pathParam.MatchString(to.Path) {
				paths = nil
				for _, id := range []string{"one", "docs", "0", "1", build, otherBuild, eval} {
					paths = append(paths, pathParam.ReplaceAllString(to.Path, id))
				}
				paths = append(paths, strings.NewReplacer("{a}", build, "{b}", otherBuild).Replace(to.Path), strings.NewReplacer("{a}", otherBuild, "{b}", build).Replace(to.Path))
			}
			for _, path := range paths {
				if to.Method != "GET" || strings.Contains(path, "{") {
					continue
				}
				got := m.do("GET", "http://"+to.base+path, "", "Authorization", "Bearer "+m.key)
				if got.status >= 500 {
					t.Errorf("%s: GET %s: %d %s", m.key, path, got.status, got.body)
				}
				if has(got) && !slices.Contains(shown, to.Path) {
					shown = append(shown, to.Path)
				}
			}
		}
		slices.Sort(shown)
		return shown
	}
	if shown := read(owner); len(shown) < 12 {
		t.Errorf("the owner finds his text at %v only: too few to show anything", shown)
	}
	if shown := read(other); shown != nil {
		t.Errorf("another tenant finds the text of the owner at %v, want nowhere", shown)
	}
	for path, body := range map[string]string{
		"/v1/memory/search": `{"query": "train of"}`, "/v1/collections/docs/search": `{"query": "train of", "by": "hybrid"}`,
		"/v1/builds/" + build + "/replay": "", "/v1/builds": `{"query": "train", "pipeline": "p"}`, "/v1/builds?conversation=one": `{"query": "train", "pipeline": "skips"}`,
		"/v1/builds?conversation=one&x": `{"query": "train", "pipeline": "raises"}`, "/v1/assemble?run=one": `[{"role": "user", "content": "train"}]`,
	} {
		if got := other.send("POST", strings.TrimSuffix(path, "&x"), body); has(got) {
			t.Errorf("%s: the answer to the other tenant has the text of the owner: %d %s", path, got.status, got.body)
		}
	}
}
