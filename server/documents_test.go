package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	"github.com/anchor-host/anchor-host/server/internal/uploads"
)

// documents is a form with documents: names and contents.
func documents(parts ...string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		p, _ := w.CreateFormFile("file", parts[i])
		_, _ = io.WriteString(p, parts[i+1])
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// finished waits for the end of a job.
func (l *live) finished(key string, got answer) (doc jobs.Doc) {
	l.t.Helper()
	if got.status != http.StatusAccepted {
		l.t.Fatalf("upload: %d %s", got.status, got.body)
	}
	got.into(l.t, &doc)
	id := doc.ID
	until(l.t, "the job does not end", func() bool {
		doc = jobs.Doc{}
		l.as(key, "GET", l.data, "/v1/jobs/"+id).into(l.t, &doc)
		return doc.Ended != nil
	})
	return doc
}

// Documents come, are found, are replaced and go. A document that cannot be read does not stop the others,
// and the disk and the memory are given back.
func TestDocuments(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}, MaxUpload: 1 << 20})
	found := func(query string) string {
		t.Helper()
		return string(l.do("POST", "http://"+l.data+"/v1/collections/docs/search", `{"query": "`+query+`", "by": "words"}`, "Authorization", "Bearer a").body)
	}
	send := func(name, body, kind string, more ...string) answer {
		t.Helper()
		return l.api("POST", "/v1/collections/docs/documents"+name, body, append(more, "Authorization", "Bearer a", "Content-Type", kind)...)
	}
	form, kind := documents("trains.md", "# Trains\n\nThe night train leaves at nine.\n", "list.jsonl", `{"id": "1", "text": "a ferry"}`+"\n"+`{"id": "2", "text": "a plane"}`+"\n", "bad.pdf", "no PDF")
	doc := l.finished("a", send("", form, kind))
	if doc.State != jobs.Done || doc.Done != 3 || doc.Total != 3 || doc.Bytes == 0 || !bytes.Contains(doc.Report, []byte(`"bad.pdf","message":"damaged`)) {
		t.Errorf("job: %+v %s", doc, doc.Report)
	}
	for _, word := range []string{"train", "ferry", "plane"} {
		if got := found(word); !strings.Contains(got, word) {
			t.Errorf("%s is not found: %s", word, got)
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, "The night bus")
	_ = w.Close()
	if doc = l.finished("a", send("?name=trains.md", packed.String(), "text/plain", "Content-Encoding", "gzip")); doc.State != jobs.Done {
		t.Errorf("job: %+v", doc)
	}
	if found("train") != `{"items":[]}`+"\n" || !strings.Contains(found("bus"), "night bus") {
		t.Error("the document is not replaced")
	}
	if got := l.as("a", "DELETE", l.data, "/v1/collections/docs/documents/-%2Flist.jsonl"); got.status != 200 || !bytes.Contains(got.body, []byte(`"deleted":3`)) {
		t.Errorf("delete: %d %s", got.status, got.body)
	}
	if doc = l.finished("a", send("?name=bad.pdf", "no PDF", "application/pdf")); doc.State != jobs.Failed || doc.Error == nil || !strings.Contains(doc.Error.Message, "download it again") {
		t.Errorf("a document that cannot be read: %+v", doc)
	}
	var list documentsDoc
	l.as("a", "GET", l.data, "/v1/collections/docs/documents").into(t, &list)
	if len(list.Documents) != 1 || list.Documents[0].ID != "-/trains.md" || list.Documents[0].Chunks != 1 || list.Documents[0].Bytes != 13 || list.Documents[0].Time.IsZero() {
		t.Errorf("documents: %+v", list)
	}
	l.allGiven()
}

// allGiven fails if uploads are still counted, or on the disk.
func (l *live) allGiven() {
	l.t.Helper()
	until(l.t, "uploads are still counted", func() bool { return l.uploads.Used() == 0 && l.bodies.Used() == 0 })
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(l.app.Status().StoreFile), ".anchor-upload-*")); err != nil || len(left) > 0 {
		l.t.Errorf("files of uploads: %v, %v", left, err)
	}
}

// Uploads that are not valid, or more than may be, are refused with a reason, and nothing is left of them.
func TestRefusedUploads(t *testing.T) {
	l := start(t, words+"collections: {shared: {shared: [tenant-a], owner: tenant-b}}\n", Options{Authenticator: staticKeys{}, MaxUpload: 300_000})
	many := make([]string, 0, 2*uploads.MaxFiles+2)
	for i := range uploads.MaxFiles + 1 {
		many = append(many, fmt.Sprintf("%d.md", i), "x")
	}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Close()
	form := func(parts ...string) [2]string {
		body, kind := documents(parts...)
		return [2]string{body, kind}
	}
	whole := form("a.md", "x")
	for name, c := range map[string]struct {
		query  string
		body   [2]string
		coding string
		status int
		reason string
	}{
		"no name":          {"", [2]string{"x", "text/plain"}, "", 422, "invalid_parameter"},
		"two names":        {"?name=a.md", whole, "", 422, "invalid_parameter"},
		"dots":             {"?name=a/../b", [2]string{"x", "text/plain"}, "", 422, "invalid_upload"},
		"control":          {"?name=a%0A", [2]string{"x", "text/plain"}, "", 422, "invalid_upload"},
		"long":             {"?name=" + strings.Repeat("a", uploads.MaxName+1), [2]string{"x", "text/plain"}, "", 422, "invalid_upload"},
		"no files":         {"", form(), "", 422, "invalid_upload"},
		"twice":            {"", form("a.md", "x", "a.md", "y"), "", 422, "invalid_upload"},
		"many":             {"", form(many...), "", 422, "invalid_upload"},
		"cut":              {"", [2]string{whole[0][:len(whole[0])-20], whole[1]}, "", 400, "invalid_body"},
		"header of a part": {"", form(strings.Repeat("a", 100_000), "x"), "", 422, "invalid_upload"},
		"other part":       {"", [2]string{strings.Replace(whole[0], `name="file"`, `name="more"`, 1), whole[1]}, "", 422, "invalid_upload"},
		"large":            {"?name=a.md", [2]string{strings.Repeat("a", 400_000), "text/plain"}, "", 413, "body_too_large"},
		"bomb":             {"?name=a.md", [2]string{bomb.String(), "text/plain"}, "gzip", 413, "body_too_large"},
	} {
		got := l.api("POST", "/v1/collections/docs/documents"+c.query, c.body[0], "Authorization", "Bearer a", "Content-Type", c.body[1], "Content-Encoding", c.coding)
		if got.status != c.status || got.reason() != c.reason {
			t.Errorf("%s: %d %s, want %d %s", name, got.status, got.body, c.status, c.reason)
		}
	}
	if got := l.as("a", "DELETE", l.data, "/v1/collections/shared/documents/a"); got.status != 403 || got.reason() != "forbidden" {
		t.Errorf("a reader deletes: %d %s", got.status, got.body)
	}
	if got := l.api("POST", "/v1/collections/shared/documents?name=a.md", "x", "Authorization", "Bearer a"); got.status != 403 || got.reason() != "forbidden" {
		t.Errorf("an upload of a reader: %d %s", got.status, got.body)
	}
	if doc := l.finished("b", l.api("POST", "/v1/collections/shared/documents?name=a.md", "the night train", "Authorization", "Bearer b")); doc.State != jobs.Done {
		t.Errorf("an upload of the owner: %+v", doc)
	}
	if got := l.api("POST", "/v1/collections/shared/search", `{"query": "train"}`, "Authorization", "Bearer a"); !bytes.Contains(got.body, []byte("night train")) {
		t.Errorf("a reader searches: %d %s", got.status, got.body)
	}
	l.allGiven()
}

// A tenant has few jobs and a share of the disk, and others have theirs. A job that waits can be cancelled.
func TestUploadsOfOneTenant(t *testing.T) {
	const size = 1 << 20
	l := start(t, words, Options{Authenticator: staticKeys{}, MaxUpload: size})
	send := func(key, name, body string) answer {
		return l.api("POST", "/v1/collections/docs/documents?name="+name, body, "Authorization", "Bearer "+key)
	}
	_, err := l.ingests.Start("tenant-a", jobs.Doc{}, func(ctx context.Context, _ *jobs.Job) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("a ", 450_000)
	var waiting []jobs.Doc
	for range 2 {
		var doc jobs.Doc
		if got := send("a", "a.md", large); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.body)
		} else {
			got.into(t, &doc)
		}
		if waiting = append(waiting, doc); doc.State != jobs.Waiting {
			t.Errorf("the job is %s, not waiting", doc.State)
		}
	}
	if got := send("a", "a.md", large); got.status != 503 || got.reason() != "busy" || got.header.Get("Retry-After") == "" {
		t.Errorf("more than half of the disk: %d %s", got.status, got.body)
	}
	for range maxWaitingIngests - 2 {
		if got := send("a", "small.md", "x"); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if got := send("a", "a.md", "x"); got.status != 429 || got.reason() != "too_many_jobs" || got.header.Get("Retry-After") == "" {
		t.Errorf("one more job: %d %s", got.status, got.body)
	}
	if doc := l.finished("b", send("b", "b.md", "the night train")); doc.State != jobs.Done {
		t.Errorf("the job of another tenant: %+v", doc)
	}
	if got := l.as("b", "DELETE", l.data, "/v1/jobs/"+waiting[0].ID); got.status != 404 {
		t.Errorf("another tenant cancels: %d", got.status)
	}
	for _, doc := range waiting {
		l.as("a", "DELETE", l.data, "/v1/jobs/"+doc.ID)
	}
	until(t, "the disk is not given back", func() bool { return l.uploads.Used() <= 2<<16 })
	l.end() // the end of the service cancels the job that runs, and those that wait
	if !await.True(func() bool { return l.ingests.Room("tenant-b") != nil }) {
		t.Error("jobs can be started after the end of the service")
	}
	l.allGiven()
}
