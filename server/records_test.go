package server

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
)

// recordKeys are keys of two tenants: a sees texts, and plain does not.
type recordKeys struct{}

func (recordKeys) Authenticate(r *http.Request) (Principal, error) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	scopes := []string{ScopeBuild, ScopeMemoryWrite, ScopeContent}
	switch key {
	case "a":
		return Principal{KeyID: key, Tenant: "tenant-a", Scopes: scopes}, nil
	case "plain":
		return Principal{KeyID: key, Tenant: "tenant-a", Scopes: []string{ScopeBuild}}, nil
	case "b":
		return Principal{KeyID: key, Tenant: "tenant-b", Scopes: scopes}, nil
	}
	return Principal{}, errors.New("unknown key")
}

// recordsConfig is a configuration that keeps records. least is a setting of the step "good".
func recordsConfig(least string) string {
	return words + "builds: {records: {content: true}}\npipelines: {p: {window: {max_tokens: 100}, steps: [{name: best, use: sort}, {name: good, use: min_score, settings: {min_score: " + least + "}}]}}\n"
}

// recorded is a request whose texts and query are secret.
const recorded = `{"query": "the-secret-query", "pipeline": "p", "items": [
  {"id": "i1", "content": "the-secret-text one", "source": "retrieval", "score": 0.9}, {"id": "i2", "content": "the-secret-text two", "source": "retrieval", "score": 0.4}]}`

// keyed sends requests with keys.
type keyed struct{ *live }

func (k keyed) as(key, method, path, body string, header ...string) answer {
	k.t.Helper()
	return k.api(method, path, body, append(header, "Authorization", "Bearer "+key)...)
}

// record builds a request and returns the ID of its record, which is written.
func (k keyed) record(key, body string, status int) string {
	k.t.Helper()
	got := k.as(key, "POST", "/v1/builds", body)
	id := got.header.Get("Anchor-Build-Id")
	if got.status != status || id == "" {
		k.t.Fatalf("build: %d, record %q: %s", got.status, id, got.body)
	}
	if err := k.app.FlushRecords(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	return id
}

func newKeyed(t *testing.T, yaml string, o Options) keyed {
	t.Helper()
	o.Authenticator, o.Unwatched = recordKeys{}, true
	return keyed{start(t, yaml, o)}
}

// Who has the scope sees texts; others see digests, and know as much about the build.
func TestRecordsShowTextsByScope(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5"), Options{})
	id := k.record("a", recorded, 200)
	other := k.record("plain", strings.Replace(recorded, "text one", "text 1", 1), 200)
	failed := k.record("a", `{"query": "the-secret-query q q", "pipeline": "p", "window": {"max_tokens": 2}, "items": [{"content": "the-secret-text", "source": "retrieval"}]}`, 422)
	if full, plain := k.as("a", "GET", "/v1/builds", ""), k.as("plain", "GET", "/v1/builds", ""); !strings.Contains(string(full.body), `"query":"the-secret-query"`) || strings.Contains(string(plain.body), "the-secret") || !strings.Contains(string(plain.body), id) {
		t.Errorf("lists: %s\n%s", full.body, plain.body)
	}
	for _, path := range []string{"/v1/builds/" + id, "/v1/builds/" + id + "/explain", "/v1/builds/" + id + "/diff/" + other, "/v1/builds/" + failed, "/v1/builds/" + failed + "/explain"} {
		full, plain := k.as("a", "GET", path, ""), k.as("plain", "GET", path, "")
		if full.status != 200 || plain.status != 200 || strings.Contains(string(plain.body), "the-secret") {
			t.Errorf("%s: %d and %d: %s", path, full.status, plain.status, plain.body)
		}
		if strings.Contains(path, id) && !strings.Contains(path, "diff") && !strings.Contains(string(full.body), "the-secret-text") {
			t.Errorf("%s with the scope: %s", path, full.body)
		}
	}
	var diff builtdoc.Diff
	k.as("plain", "GET", "/v1/builds/"+id+"/diff/"+other, "").into(t, &diff)
	if len(diff.Differ) != 1 || !slices.Contains(diff.Differ[0].Changes, "rewritten") || diff.Differ[0].Text == nil || !strings.HasPrefix(diff.Differ[0].Text.From, "sha256:") && diff.Differ[0].Text.From == "" {
		t.Errorf("diff: %+v", diff)
	}
	var record builds.Record
	k.as("plain", "GET", "/v1/builds/"+id, "").into(t, &record)
	if record.Content || record.Detail.Request != nil || record.Included != 1 || !strings.Contains(string(record.Detail.Result), `"content":"sha256:`) {
		t.Errorf("record: %+v, %s", record.Summary, record.Detail.Result)
	}
	var e builtdoc.Explanation
	k.as("plain", "GET", "/v1/builds/"+id+"/explain", "").into(t, &e)
	if e.Build != id || len(e.Items) != 2 || !e.Items[0].In || e.Items[1].Why != `removed by step "good"` || len(e.Items[1].History) != 2 || len(e.Steps) != 3 {
		t.Errorf("explanation: %+v", e)
	}
}

// Records belong to the tenant of the key: another one cannot find, compare, repeat or delete them.
func TestRecordsOfOtherTenants(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5"), Options{})
	mine, theirs := k.record("b", recorded, 200), k.record("a", recorded, 200)
	for _, tt := range [][2]string{
		{"GET", theirs}, {"GET", theirs + "/explain"}, {"GET", mine + "/diff/" + theirs}, {"GET", theirs + "/diff/" + mine}, {"POST", theirs + "/replay"}, {"DELETE", theirs},
		{"GET", "none"}, {"GET", "none/explain"}, {"GET", strings.Repeat("x", 5000)}, {"GET", "%00"}, {"POST", "a%2Fb/replay"}, {"DELETE", "none"},
	} {
		got := k.as("b", tt[0], "/v1/builds/"+tt[1], "")
		if got.status != 404 || got.reason() != "not_found" || got.header.Get("Anchor-Build-Id") != "" || strings.Contains(string(got.body), "the-secret") {
			t.Errorf("%s %.60s: %d %s", tt[0], tt[1], got.status, got.body)
		}
	}
	var page builds.Page
	k.as("b", "GET", "/v1/builds", "").into(t, &page)
	if len(page.Builds) != 1 || page.Builds[0].ID != mine {
		t.Errorf("list: %+v", page)
	}
	if got := k.as("plain", "DELETE", "/v1/builds/"+theirs, ""); got.status != 403 {
		t.Errorf("delete without the scope: %d %s", got.status, got.body)
	}
	if got := k.as("a", "DELETE", "/v1/builds/"+theirs, ""); got.status != 200 || string(got.body) != `{"deleted":1}`+"\n" {
		t.Errorf("delete: %d %s", got.status, got.body)
	}
	if got := k.as("a", "GET", "/v1/builds/"+theirs, ""); got.status != 404 {
		t.Errorf("after it was deleted: %d", got.status)
	}
}

// A list is selected by the same values as that of the command, and has pages.
func TestListOfRecords(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5"), Options{})
	first := k.record("a", recorded, 200)
	k.record("a", recorded, 200)
	k.record("a", `{"query": "q q q", "counting": {"tokenizer": "words"}, "window": {"max_tokens": 2}}`, 422)
	if err := k.app.FlushRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"": 3, "?pipeline=p": 2, "?outcome=failed": 1, "?outcome=ok&limit=1": 1, "?since=1h": 3, "?since=2099-01-01T00:00:00Z": 0, "?until=1h": 0,
		"?conversation=c": 0, "?generation=x": 0, "?request=x": 0,
	} {
		var page builds.Page
		k.as("a", "GET", "/v1/builds"+query, "").into(t, &page)
		if len(page.Builds) != want || (page.Next != "") != strings.Contains(query, "limit=1") {
			t.Errorf("%s: %+v", query, page)
		}
	}
	var ids []string
	for cursor := ""; ; {
		var page builds.Page
		k.as("a", "GET", "/v1/builds?limit=1&cursor="+cursor, "").into(t, &page)
		ids = append(ids, page.Builds[0].ID)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(ids) != 3 || ids[2] != first {
		t.Errorf("pages: %v", ids)
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "outcome=fine", "since=yesterday", "until=x", "cursor=x", "cursor=-1", "cursor=99999999999999999999", "pipelin=p"} {
		if got := k.as("a", "GET", "/v1/builds?"+query, ""); got.status != 400 || got.reason() != "invalid_parameter" {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

// A client that asks for a drawing gets one that is well-formed and in which no script runs.
func TestDrawingsOfRecords(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5"), Options{})
	id := k.record("a", strings.Replace(recorded, "i1", `<script>\"&\u0001]]>`, 1), 200)
	for _, path := range []string{"/explain", "/diff/" + id} {
		got := k.as("plain", "GET", "/v1/builds/"+id+path, "", "Accept", "image/avif,image/svg+xml,*/*;q=0.8")
		if got.status != 200 || got.header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(got.header.Get("Content-Security-Policy"), "default-src 'none'") || !slices.Contains(got.header.Values("Vary"), "Accept") {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		d := xml.NewDecoder(strings.NewReader(string(got.body)))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%s has a script", path)
			}
		}
	}
	if got := k.as("plain", "GET", "/v1/builds/"+id+"/explain", "", "Accept", "*/*"); got.header.Get("Content-Type") != "application/json" {
		t.Errorf("whatever it accepts: %v", got.header)
	}
}

// The ID of a record is in answers, in errors and in streams, and only if there is a record.
func TestBuildID(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5"), Options{})
	got := k.as("a", "POST", "/v1/builds", recorded, "Accept", "text/event-stream")
	id := got.header.Get("Anchor-Build-Id")
	var started string
	for scan := bufio.NewScanner(strings.NewReader(string(got.body))); scan.Scan() && started == ""; {
		started, _ = strings.CutPrefix(scan.Text(), "data: ")
		if !strings.HasPrefix(scan.Text(), "data: ") {
			started = ""
		}
	}
	if id == "" || started != `{"build":"`+id+`"}` {
		t.Errorf("stream: record %q, first event %s", id, started)
	}
	if got := k.as("a", "GET", "/v1/builds/"+id, ""); got.status != 200 {
		t.Errorf("the record of a stream: %d %s", got.status, got.body)
	}
	for _, accept := range []string{"*/*", "text/event-stream"} {
		if got := k.as("a", "POST", "/v1/builds", `{"query": "q", "max_token": 1}`, "Accept", accept); got.status != 422 || got.header.Get("Anchor-Build-Id") != "" {
			t.Errorf("a build that did not begin: %d %v", got.status, got.header)
		}
	}
	l := start(t, words, Options{})
	if got := l.api("POST", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`); got.status != 200 || got.header.Get("Anchor-Build-Id") != "" {
		t.Errorf("without records: %d %v", got.status, got.header)
	}
}

// A replay is equal while nothing changes, and names the first step and item that differ after a
// change. It counts as a build, and has a record of its own.
func TestReplayOfRecords(t *testing.T) {
	a := &countingAdmission{}
	k := newKeyed(t, recordsConfig("0.5"), Options{Admission: a})
	id := k.record("plain", recorded, 200)
	replay := func(key string) (doc replayDoc) {
		t.Helper()
		got := k.as(key, "POST", "/v1/builds/"+id+"/replay", "")
		if got.status != 200 || strings.Contains(string(got.body), "the-secret") {
			t.Fatalf("replay: %d %s", got.status, got.body)
		}
		got.into(t, &doc)
		if doc.Repeated == "" || doc.Repeated != got.header.Get("Anchor-Build-Id") || doc.Build != id {
			t.Errorf("replay: %+v, %v", doc, got.header)
		}
		return doc
	}
	for _, key := range []string{"a", "plain"} {
		if doc := replay(key); !doc.Equal || doc.First != nil || doc.Generation.From != doc.Generation.To {
			t.Errorf("nothing has changed: %+v, %+v", doc, doc.First)
		}
	}
	k.write(recordsConfig("0.3"))
	if got := k.control("POST", "/admin/v1/reload", ""); got.status != 401 {
		t.Fatalf("%d", got.status)
	}
	if err := k.app.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	doc := replay("plain")
	if first := doc.First; doc.Equal || first == nil || first.Stage != "step" || first.Step != "good" || first.Item != "i2" || doc.Generation.From == doc.Generation.To {
		t.Errorf("another setting: %+v, %+v", doc, doc.First)
	}
	var diff builtdoc.Diff
	k.as("a", "GET", "/v1/builds/"+id+"/diff/"+doc.Repeated, "").into(t, &diff)
	if diff.Came.Items != 1 {
		t.Errorf("diff with the replay: %+v", diff)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.admitted, func(c Cost) bool { return c.Action == "replayBuild" })
	if at < 0 || a.admitted[at].Scope != ScopeBuild || a.released[at].Tokens == 0 {
		t.Errorf("admitted %+v, released %+v", a.admitted, a.released)
	}
}

// A replay has the same user, conversation and steps, and remembers nothing.
func TestReplayAsksTheSame(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5")+"memory: {conversation: {id: c}}\n", Options{})
	got := k.as("a", "POST", "/v1/builds?conversation=talk&remember=true&skip=best", `{"query": "the-secret-query", "pipeline": "p"}`)
	id := got.header.Get("Anchor-Build-Id")
	var doc replayDoc
	again := k.as("a", "POST", "/v1/builds/"+id+"/replay", "")
	again.into(t, &doc)
	if got.status != 200 || again.status != 200 || doc.Equal || doc.First.Stage != "memory" { // the turn that was remembered
		t.Fatalf("%d, %d %s", got.status, again.status, again.body)
	}
	id = doc.Repeated
	doc = replayDoc{}
	k.as("a", "POST", "/v1/builds/"+id+"/replay", "").into(t, &doc)
	if !doc.Equal {
		t.Errorf("the replay of a replay: %+v", doc.First)
	}
}

// What cannot be built again is refused with the reason.
func TestReplayRefusals(t *testing.T) {
	k := newKeyed(t, strings.Replace(recordsConfig("0.5"), "content: true", "content: false", 1), Options{})
	id := k.record("a", recorded, 200)
	if got := k.as("a", "POST", "/v1/builds/"+id+"/replay", ""); got.status != 409 || got.reason() != "not_kept" || !strings.Contains(string(got.body), "content: true") {
		t.Errorf("without texts: %d %s", got.status, got.body)
	}
	k = newKeyed(t, recordsConfig("0.5"), Options{})
	id = k.record("a", recorded, 200)
	k.write(words + "builds: {records: {content: true}}\n")
	if err := k.app.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := k.as("a", "POST", "/v1/builds/"+id+"/replay", ""); got.status != 422 || !strings.Contains(string(got.body), "the request of the record") || got.header.Get("Anchor-Build-Id") != "" {
		t.Errorf("a pipeline that is gone: %d %s", got.status, got.body)
	}
	k.write(words)
	if err := k.app.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := k.as("a", "GET", "/v1/builds/"+id, ""); got.status != 200 {
		t.Errorf("records that are kept no more can still be read: %d %s", got.status, got.body)
	}
}

// A replay of a plugin that traps, or a build that traps no more, names the step.
func TestReplayOfFailures(t *testing.T) {
	config := func(plugin string) string {
		return fmt.Sprintf("plugins: {dir: %q}\nbuilds: {records: {content: true}}\npipelines: {p: {counting: {tokenizer: words}, steps: [{name: s, use: %s, must: true}]}}\n", plugins(t, "trap", "keep-first"), plugin)
	}
	k := newKeyed(t, config("trap"), Options{})
	id := k.record("a", recorded, 500)
	var doc replayDoc
	got := k.as("a", "POST", "/v1/builds/"+id+"/replay", "")
	if got.into(t, &doc); got.status != 200 || !doc.Equal {
		t.Errorf("it traps again: %d %s", got.status, got.body)
	}
	k.write(config("keep-first"))
	if err := k.app.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	doc = replayDoc{}
	got = k.as("a", "POST", "/v1/builds/"+id+"/replay", "")
	if got.into(t, &doc); got.status != 200 || doc.Equal || doc.First.Step != "s" || !strings.Contains(doc.First.What, "recorded: it failed (trap)") {
		t.Errorf("another plugin: %d %s", got.status, got.body)
	}
}

// A list finds builds by words of the question, which needs the scope content, and by an item.
func TestSearchOfRecords(t *testing.T) {
	k := newKeyed(t, recordsConfig("0.5"), Options{})
	of := func(query, item string) string {
		t.Helper()
		got := k.as("a", "POST", "/v1/builds", `{"query": "`+query+`", "counting": {"tokenizer": "words"}, "items": [{"id": "`+item+`", "content": "c", "source": "user"}]}`)
		if got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		return got.header.Get("Anchor-Build-Id")
	}
	refund, parcel := of("When is my REFUND paid?", "refunds.md#1"), of("Where is my parcel?", "parcels.md#1")
	if err := k.app.FlushRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"q=paid+refund": {refund}, "q=is+MY": {parcel, refund}, "q=refund+parcel": nil, "item=parcels.md%231": {parcel}, "item=parcels": nil, "q=refund&item=parcels.md%231": nil,
	} {
		var page builds.Page
		k.as("a", "GET", "/v1/builds?"+query, "").into(t, &page)
		var ids []string
		for i := range page.Builds {
			ids = append(ids, page.Builds[i].ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: %q, want %q", query, ids, want)
		}
	}
	if got := k.as("plain", "GET", "/v1/builds?q=refund", ""); got.status != 403 || got.reason() != "forbidden" || strings.Contains(string(got.body), refund) {
		t.Errorf("without the scope content: %d %s", got.status, got.body)
	}
	if got := k.as("b", "GET", "/v1/builds?item=parcels.md%231", ""); got.status != 200 || strings.Contains(string(got.body), parcel) {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
}
