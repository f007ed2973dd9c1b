package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	"io"
	"mime/multipart"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const words = "counting: {tokenizer: words}\n"

// Each endpoint answers as the OpenAPI document says. The steps depend on each other; {x} stands
// for a value of an earlier answer.
func TestEveryEndpoint(t *testing.T) {
	l := start(t, words+"memory: {conversation: {id: c}, facts: {}}\nagent: {max_tokens: 1000}\nbuilds: {records: {content: true}}\n", Options{})
	check := newChecker(t)
	fill(t, l)
	saved, seen := map[string]string{}, map[string]bool{}
	for _, step := range []struct {
		method, path, pattern, body string
		status                      int
		save                        string // the member of the answer that later steps name
	}{
		{"GET", "/livez", "/livez", "", 200, ""},
		{"GET", "/readyz", "/readyz", "", 200, ""},
		{"GET", "/openapi.json", "/openapi.json", "", 200, ""},
		{"POST", "/v1/builds", "/v1/builds", `{"query": "q", "explain": true, "items": [{"content": "a b", "source": "retrieval"}]}`, 200, ""},
		{"POST", "/v1/builds?timeout=10s", "/v1/builds", `{"query": "q", "format": "openai", "window": {"max_tokens": 1}, "counting": {"tokenizer": "words"}, "items": [{"content": "a b", "source": "retrieval"}]}`, 200, ""},
		{"POST", "/v1/builds?conversation=talk&remember=true", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`, 200, ""},
		{"POST", "/v1/builds?remember=true", "/v1/builds", `{"query": "", "counting": {"tokenizer": "words"}}`, 422, ""},
		{"GET", "/v1/conversations/talk/turns", "/v1/conversations/{id}/turns", "", 200, "turns"},
		{"DELETE", "/v1/conversations/talk", "/v1/conversations/{id}", "", 200, ""},
		{"POST", "/v1/builds", "/v1/builds", `{"query": "q", "max_token": 1}`, 422, ""},
		{"GET", "/v1/plugins/failures", "/v1/plugins/failures", "", 200, ""},
		{"GET", "/v1/plugins/absent/failures", "/v1/plugins/{name}/failures", "", 200, ""},
		{"GET", "/v1/builds?limit=1", "/v1/builds", "", 200, "builds"},
		{"GET", "/v1/builds/none", "/v1/builds/{id}", "", 404, ""},
		{"GET", "/v1/builds/{build}", "/v1/builds/{id}", "", 200, ""},
		{"GET", "/v1/builds/{build}/explain", "/v1/builds/{id}/explain", "", 200, ""},
		{"GET", "/v1/builds/{build}/diff/{build}", "/v1/builds/{a}/diff/{b}", "", 200, ""},
		{"POST", "/v1/builds/{build}/replay", "/v1/builds/{id}/replay", "", 200, "repeated"},
		{"GET", "/v1/builds/{build}/diff/{repeated}", "/v1/builds/{a}/diff/{b}", "", 200, ""},
		{"DELETE", "/v1/builds/{build}", "/v1/builds/{id}", "", 200, ""},
		{"POST", "/v1/assemble", "/v1/assemble", `[{"role": "user", "content": "hi"}]`, 200, ""},
		{"POST", "/v1/assemble?run=r", "/v1/assemble", `[{"role": "user", "content": "hi"}]`, 200, ""},
		{"POST", "/v1/assemble?run=r", "/v1/assemble", "", 200, ""},
		{"POST", "/v1/assemble?to=anthropic", "/v1/assemble", `{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}`, 200, ""},
		{"POST", "/v1/assemble", "/v1/assemble", "", 400, ""},
		{"POST", "/v1/memory/facts", "/v1/memory/facts", `{"content": "Ann likes trains", "user_id": "ann", "tags": ["travel"], "expires_at": "2099-01-02T15:04:05Z"}`, 201, "fact.id"},
		{"POST", "/v1/memory/facts", "/v1/memory/facts", `{"content": "Ann likes trains", "user_id": "ann"}`, 200, ""},
		{"GET", "/v1/memory/facts?user=ann&tag=travel", "/v1/memory/facts", "", 200, ""},
		{"GET", "/v1/memory/facts/{fact.id}", "/v1/memory/facts/{id}", "", 200, ""},
		{"GET", "/v1/memory/facts/none", "/v1/memory/facts/{id}", "", 404, ""},
		{"POST", "/v1/memory/search", "/v1/memory/search", `{"query": "trains", "touch": true}`, 200, ""},
		{"POST", "/v1/memory/search", "/v1/memory/search", `{"query": "trains", "contains": true}`, 200, ""},
		{"DELETE", "/v1/memory/facts/{fact.id}", "/v1/memory/facts/{id}", "", 200, ""},
		{"DELETE", "/v1/memory/facts/{fact.id}", "/v1/memory/facts/{id}", "", 404, ""},
		{"DELETE", "/v1/memory/facts", "/v1/memory/facts", "", 422, ""},
		{"DELETE", "/v1/memory/facts?all=true", "/v1/memory/facts", "", 200, ""},
		{"POST", "/v1/conversations/a%2Fb/turns", "/v1/conversations/{id}/turns", `{"turns": [{"role": "user", "content": "when?"}, {"role": "assistant", "content": "At nine.", "metadata": {"importance": 1}}]}`, 201, ""},
		{"GET", "/v1/conversations/a%2Fb/turns?limit=1", "/v1/conversations/{id}/turns", "", 200, "next"},
		{"GET", "/v1/conversations/a%2Fb/turns?after={next}", "/v1/conversations/{id}/turns", "", 200, ""},
		{"GET", "/v1/conversations/a%2Fb/turns?contains=NINE", "/v1/conversations/{id}/turns", "", 200, ""},
		{"GET", "/v1/conversations", "/v1/conversations", "", 200, ""},
		{"DELETE", "/v1/conversations/a%2Fb/turns/1", "/v1/conversations/{id}/turns/{turn}", "", 200, ""},
		{"DELETE", "/v1/conversations/a%2Fb/turns/1", "/v1/conversations/{id}/turns/{turn}", "", 404, ""},
		{"DELETE", "/v1/conversations/a%2Fb", "/v1/conversations/{id}", "", 200, ""},
		{"POST", "/v1/builds?omit=window,diagnostics", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`, 200, ""},
		{"POST", "/v1/builds?omit=query", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`, 400, ""},
		{"POST", "/v1/builds?conversation=hers&user=eve", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`, 200, ""},
		{"POST", "/v1/builds?conversation=hers&user=bob", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`, 403, ""},
		{"POST", "/v1/assemble?run=hers&user=eve", "/v1/assemble", `[{"role": "user", "content": "hi"}]`, 200, ""},
		{"POST", "/v1/assemble?run=hers", "/v1/assemble", `[{"role": "user", "content": "hi"}]`, 403, ""},
		{"GET", "/v1/builds?user=eve&request_id=none", "/v1/builds", "", 200, ""},
		{"DELETE", "/v1/users/eve", "/v1/users/{id}", "", 200, ""},
		{"POST", "/v1/runs/r/frames", "/v1/runs/{id}/frames", `{"kind": "tool_call", "summary": "tests pass", "data": {"exit": 0}, "max_frames": 5}`, 201, ""},
		{"POST", "/v1/runs/r/frames", "/v1/runs/{id}/frames", `{"kind": "other:mine", "summary": "a", "count": true}`, 201, ""},
		{"POST", "/v1/runs/r/frames", "/v1/runs/{id}/frames", `{"kind": "mine", "summary": "a"}`, 422, ""},
		{"GET", "/v1/runs/r/frames?limit=1", "/v1/runs/{id}/frames", "", 200, ""},
		{"GET", "/v1/runs/r/window", "/v1/runs/{id}/window", "", 200, ""},
		{"GET", "/v1/runs/none/window", "/v1/runs/{id}/window", "", 404, ""},
		{"GET", "/v1/runs", "/v1/runs", "", 200, ""},
		{"DELETE", "/v1/runs/r", "/v1/runs/{id}", "", 200, ""},
		{"GET", "/v1/cuts/cut-00000000000000000000", "/v1/cuts/{handle}", "", 404, ""},
		{"GET", "/v1/collections", "/v1/collections", "", 200, ""},
		{"GET", "/v1/collections/docs", "/v1/collections/{collection}", "", 200, ""},
		{"GET", "/v1/collections/none", "/v1/collections/{collection}", "", 404, ""},
		{"POST", "/v1/collections/docs/search", "/v1/collections/{collection}/search", `{"query": "train", "filter": [{"field": "id", "values": ["d1"]}]}`, 200, ""},
		{"POST", "/v1/collections/none/search", "/v1/collections/{collection}/search", `{"query": "train"}`, 404, ""},
		{"POST", "/v1/collections/new/documents?name=guides/a.md", "/v1/collections/{collection}/documents", "The night train", 202, "id"},
		{"POST", "/v1/collections/new/documents?name=..", "/v1/collections/{collection}/documents", "The night train", 422, ""},
		{"GET", "/v1/jobs/{id}", "/v1/jobs/{id}", "", 200, ""},
		{"GET", "/v1/jobs/{id}/logs", "/v1/jobs/{id}/logs", "", 200, ""},
		{"GET", "/v1/jobs/{id}/results?from=1", "/v1/jobs/{id}/results", "", 200, ""},
		{"POST", "/v1/jobs", "/v1/jobs", `{"kind": "embed", "collection": "docs"}`, 422, ""},
		{"DELETE", "/v1/jobs/{id}", "/v1/jobs/{id}", "", 200, ""},
		{"GET", "/v1/jobs", "/v1/jobs", "", 200, ""},
		{"GET", "/v1/jobs/none", "/v1/jobs/{id}", "", 404, ""},
		{"GET", "/v1/collections/docs/documents?limit=1", "/v1/collections/{collection}/documents", "", 200, ""},
		{"GET", "/v1/collections/none/documents", "/v1/collections/{collection}/documents", "", 404, ""},
		{"DELETE", "/v1/collections/docs/documents/-%2Fd1.md", "/v1/collections/{collection}/documents/{id}", "", 200, ""},
		{"DELETE", "/v1/collections/docs/documents/-%2Fd1.md", "/v1/collections/{collection}/documents/{id}", "", 404, ""},
		{"GET", "/v1/costs?all=true", "/v1/costs", "", 200, ""},
		{"GET", "/v1/rollout", "/v1/rollout", "", 404, "no_rollout"},
		{"GET", "/v1/costs?from=2026-13-01", "/v1/costs", "", 400, ""},
		{"GET", "/v1/evals", "/v1/evals", "", 200, ""},
		{"GET", "/v1/evals/none", "/v1/evals/{id}", "", 404, ""},
		{"DELETE", "/v1/evals/none", "/v1/evals/{id}", "", 404, ""},
		{"GET", "admin/livez", "/livez", "", 200, ""},
		{"GET", "admin/readyz?verbose", "/readyz", "", 200, ""},
		{"GET", "admin/admin/v1/config", "/admin/v1/config", "", 200, ""},
		{"GET", "admin/admin/v1/plugins", "/admin/v1/plugins", "", 200, ""},
		{"GET", "admin/admin/v1/shadows", "/admin/v1/shadows", "", 200, ""},
		{"POST", "admin/admin/v1/reload", "/admin/v1/reload", "", 200, ""},
		{"GET", "/debug/pprof/", "/livez", "", 404, ""},
		{"GET", "/admin/v1/config", "/livez", "", 404, ""},
		{"PUT", "/v1/builds", "/v1/builds", "", 405, ""},
	} {
		path := step.path
		for name, value := range saved {
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		}
		url := "http://" + l.data + path
		if inside, ok := strings.CutPrefix(path, "admin"); ok {
			url = "http://" + l.admin + inside
		}
		got := l.do(step.method, url, step.body)
		if got.status != step.status {
			t.Errorf("%s %s: status %d, want %d: %s", step.method, path, got.status, step.status, got.body)
			continue
		}
		seen[step.method+" "+step.pattern] = true
		method, pattern := step.method, step.pattern
		if method == "PUT" {
			method = "POST"
		}
		if err := check.check(method, pattern, got.status, got.body); err != nil {
			t.Errorf("%s %s: %v\n%s", step.method, path, err, got.body)
		}
		if id := got.header.Get("Anchor-Build-Id"); id != "" && saved["build"] == "" {
			saved["build"] = id
		}
		if step.save != "" {
			var v any
			got.into(t, &v)
			for part := range strings.SplitSeq(step.save, ".") {
				v = v.(map[string]any)[part]
			}
			saved[step.save] = fmt.Sprint(v)
		}
	}
	if !strings.Contains(saved["turns"], "content:q") {
		t.Errorf("the remembered turn: %v", saved["turns"])
	}
	for _, table := range []*table{l.Server.data, l.Server.admin} {
		for path, methods := range table.paths {
			for method := range methods {
				if !seen[method+" "+path] && path != "/v1/evals" && !strings.HasPrefix(path, "/debug/") {
					t.Errorf("%s %s is not called", method, path)
				}
			}
		}
	}
	if got := l.control("GET", "/debug/pprof/goroutine?debug=1", ""); got.status != 200 || !bytes.Contains(got.body, []byte("goroutine profile")) {
		t.Errorf("profile: %d %.100s", got.status, got.body)
	}
}

// fill adds a collection to the store of a server.
func fill(t *testing.T, l *live) {
	t.Helper()
	source := ingest.Source{Path: "d1.md", Reader: strings.NewReader("The night train leaves at nine.\n")}
	r, err := l.app.Ingest(t.Context(), []ingest.Source{source}, ingest.Options{Collection: retrieve.Collection{Name: "docs"}})
	if err != nil || r.Added != 1 {
		t.Fatalf("ingest: %+v, %v", r, err)
	}
}

// evalFiles are the parts of a small evaluation.
var evalFiles = []string{"corpus", `{"_id": "1", "text": "the night train"}` + "\n", "queries", `{"_id": "q", "text": "train"}` + "\n", "qrels", "query-id\tcorpus-id\tscore\nq\t1\t1\n"}

// evalForm is the form of an evaluation: names of files and their contents, with options.
func evalForm(options string, parts ...string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		p, _ := w.CreateFormFile(parts[i], parts[i])
		_, _ = io.WriteString(p, parts[i+1])
	}
	if options != "" {
		_ = w.WriteField("options", options)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// An evaluation is a job, whose report is there when it is done.
func TestEvaluation(t *testing.T) {
	l := start(t, words+"steps: [{name: s, use: sort}]\n", Options{})
	check := newChecker(t)
	send := func(options string, parts ...string) answer {
		t.Helper()
		body, contentType := evalForm(options, parts...)
		return l.api("POST", "/v1/evals", body, "Content-Type", contentType)
	}
	files := evalFiles
	got := send(`{"corpus_items": true, "metrics": ["recall"], "depths": [1]}`, files...)
	if got.status != 202 {
		t.Fatalf("start: %d %s", got.status, got.body)
	}
	if err := check.check("POST", "/v1/evals", 202, got.body); err != nil {
		t.Error(err)
	}
	var job jobs.Doc
	got.into(t, &job)
	got, job = l.awaitJob(job.ID)
	if job.State != jobs.Done || job.Done != 1 || !bytes.Contains(job.Report, []byte(`"recall@1"`)) {
		t.Errorf("job: %+v %s", job, job.Report)
	}
	if err := check.check("GET", "/v1/evals/{id}", 200, got.body); err != nil {
		t.Error(err)
	}
	if got := l.api("DELETE", "/v1/evals/"+job.ID, ""); got.status != 200 || check.check("DELETE", "/v1/evals/{id}", 200, got.body) != nil {
		t.Errorf("cancel: %d %s", got.status, got.body)
	}
	if got := l.api("GET", "/v1/evals", ""); got.status != 200 || !bytes.Contains(got.body, []byte(job.ID)) {
		t.Errorf("list: %d %s", got.status, got.body)
	}
	for name, bad := range map[string]answer{
		"no parts":     send(""),
		"no qrels":     send("", files[:4]...),
		"unknown part": send("", append(slices.Clone(files), "more", "x")...),
		"twice":        send("", append(slices.Clone(files), "corpus", "x")...),
		"options":      send(`{"depth": 1}`, files...),
		"no form":      l.api("POST", "/v1/evals", "x", "Content-Type", "multipart/form-data; boundary=b"),
		"no boundary":  l.api("POST", "/v1/evals", "x", "Content-Type", "multipart/form-data"),
	} {
		if bad.status < 400 || bad.status >= 500 {
			t.Errorf("%s: %d %s", name, bad.status, bad.body)
		}
	}
	broken := send("", "corpus", "{", "queries", "{", "qrels", "")
	broken.into(t, &job)
	_, job = l.awaitJob(job.ID)
	if job.State != jobs.Failed || job.Error == nil || !strings.Contains(job.Error.Message, "corpus") {
		t.Errorf("broken files: %+v", job)
	}
}

// Requests and answers may be compressed.
func TestCompression(t *testing.T) {
	l := start(t, words, Options{MaxBody: 100_000, Compress: "always"})
	doc := `{"query": "q", "counting": {"tokenizer": "words"}, "items": [{"content": "` + strings.Repeat("word ", 2000) + `", "source": "retrieval"}]}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, doc)
	_ = z.Close()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bomb := strings.Repeat(" ", 10_000_000)
	var zippedBomb bytes.Buffer
	z.Reset(&zippedBomb)
	_, _ = io.WriteString(z, bomb)
	_ = z.Close()
	for _, tt := range []struct {
		name, coding, body string
		status             int
	}{
		{"none", "identity", doc, 200},
		{"gzip", "gzip", zipped.String(), 200},
		{"zstd", "zstd", string(e.EncodeAll([]byte(doc), nil)), 200},
		{"bomb of gzip", "gzip", zippedBomb.String(), 413},
		{"bomb of zstd", "zstd", string(e.EncodeAll([]byte(bomb), nil)), 413},
		{"no gzip", "gzip", doc, 400},
		{"half of gzip", "gzip", zipped.String()[:zipped.Len()/2], 400},
		{"no zstd", "zstd", doc, 400},
		{"empty gzip", "gzip", " ", 400},
		{"brotli", "br", doc, 415},
		{"twice", "gzip, gzip", doc, 415},
	} {
		got := l.api("POST", "/v1/builds", tt.body, "Content-Encoding", tt.coding)
		if got.status != tt.status {
			t.Errorf("%s: status %d, want %d: %.200s", tt.name, got.status, tt.status, got.body)
		}
	}
	if used := l.bodies.Used(); used != 0 {
		t.Errorf("%d bytes of bodies are still counted", used)
	}
	plain := l.api("POST", "/v1/builds", doc)
	for accept, want := range map[string]string{
		"gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "gzip;q=1, zstd;q=0.5": "gzip", "zstd;q=0, gzip": "gzip", "br": "", "gzip;q=0": "", "*": "", "gzip;q=x": "",
	} {
		got := l.api("POST", "/v1/builds", doc, "Accept-Encoding", accept)
		if got.header.Get("Content-Encoding") != want {
			t.Errorf("%s: answered as %q, want %q", accept, got.header.Get("Content-Encoding"), want)
			continue
		}
		var r io.Reader = bytes.NewReader(got.body)
		switch want {
		case "gzip":
			if r, err = gzip.NewReader(r); err != nil {
				t.Fatal(err)
			}
		case "zstd":
			d, err := zstd.NewReader(r)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			r = d
		}
		data, err := io.ReadAll(r)
		if err != nil || len(data) < len(plain.body)-100 || !json.Valid(data) {
			t.Errorf("%s: %d bytes, %v", accept, len(data), err)
		}
		if want != "" && len(got.body) > len(plain.body)/2 {
			t.Errorf("%s: %d of %d bytes", accept, len(got.body), len(plain.body))
		}
	}
}

// Ids of requests and trace contexts come back, if they are sane.
func TestRequestID(t *testing.T) {
	l := start(t, words, Options{})
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	got := l.api("GET", "/livez", "", "X-Request-Id", "abc-1", "Traceparent", trace)
	if got.header.Get("X-Request-Id") != "abc-1" || got.header.Get("Traceparent") != trace {
		t.Errorf("header: %v", got.header)
	}
	for _, id := range []string{"", "a b", `a"b`, strings.Repeat("a", 129), "ä"} {
		got := l.api("GET", "/livez", "", "X-Request-Id", id, "Traceparent", "x")
		if own := got.header.Get("X-Request-Id"); own == id || len(own) < 20 || got.header.Get("Traceparent") != "" {
			t.Errorf("%q: header: %v", id, got.header)
		}
	}
	if got := l.api("HEAD", "/readyz", ""); got.status != 200 || len(got.body) != 0 {
		t.Errorf("HEAD: %d %s", got.status, got.body)
	}
}
