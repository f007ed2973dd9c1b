package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	background "github.com/anchor-host/anchor-host/server/internal/jobs"
	"github.com/anchor-host/anchor-host/server/internal/uploads"
	"github.com/anchor-host/anchor-host/server/jobs"
)

const (
	// maxRunningIngests bounds the ingestions that run at the same time, each of which reads one document
	// at a time, and maxWaitingIngests those of one tenant that wait for their turn.
	maxRunningIngests, maxWaitingIngests = 2, 4
	// maxKeptIngests bounds the ingestions that are kept, and maxKeptOwnIngests those of one tenant.
	maxKeptIngests, maxKeptOwnIngests = 4096, 64
	// uploadsTimes is how many uploads of the largest size the disk has room for.
	uploadsTimes = 4
	// documentMemory is what reading one document may take, in bytes.
	documentMemory = 192 << 20
	// maxIngestErrors is how many documents that could not be read, or perhaps were read wrong, a report names.
	maxIngestErrors = 20
)

func documentEndpoints() []endpoint {
	const documents = "/v1/collections/{collection}/documents"
	return []endpoint{
		{Route: Route{Method: "GET", Path: documents, Action: "listDocuments", Scope: ScopeCollections}, params: []string{"limit", "after"}, serve: (*call).listDocuments},
		{Route: Route{Method: "POST", Path: documents, Action: "addDocuments", Scope: ScopeCollectionsWrite}, params: []string{"name"}, body: uploadBody, serve: (*call).addDocuments},
		{Route: Route{Method: "DELETE", Path: documents + "/{id}", Action: "deleteDocument", Scope: ScopeCollectionsWrite}, serve: (*call).deleteDocument},
	}
}

// newIngests are the ingestions of a server.
func newIngests() *background.Set {
	return background.New(background.Limits{
		Running: maxRunningIngests, Own: 1, Waiting: maxWaitingIngests, Kept: maxKeptIngests, KeptOwn: maxKeptOwnIngests, For: keptFor, Time: maxJobTime,
		Report: maxReport, TooLarge: errors.New("the report is too large"),
	})
}

// documentDoc is a document of a collection.
type documentDoc struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Chunks int       `json:"chunks"`
	Bytes  int64     `json:"bytes"`
	Time   time.Time `json:"time,omitzero"`
}

// documentsDoc is a list of documents. Next is the id after which further documents come.
type documentsDoc struct {
	Documents []documentDoc `json:"documents"`
	Next      string        `json:"next,omitempty"`
}

func (c *call) listDocuments() (any, error) {
	limit, err := c.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return nil, err
	}
	ids := retrieve.IDs{}
	if after := c.query.Get("after"); after != "" {
		ids.From = after + "\x00"
	}
	out := documentsDoc{Documents: []documentDoc{}}
	for d, err := range c.s.app.CollectionDocuments(c.ctx, c.collection(), ids) {
		if err != nil {
			return nil, err
		}
		if len(out.Documents) == limit {
			out.Next = out.Documents[limit-1].ID
			break
		}
		out.Documents = append(out.Documents, documentDoc{d.ID, d.Path, d.Chunks, d.Size, d.ModTime})
	}
	return out, nil
}

func (c *call) deleteDocument() (any, error) {
	n, err := c.s.app.RemoveDocument(c.ctx, c.collection(), c.r.PathValue("id"))
	if err == nil && n == 0 {
		err = retrieve.ErrNotFound
	}
	return deletedDoc{n}, err
}

// disk is what uploads of a tenant take of the disk.
type disk struct {
	s      *Server
	tenant string
}

func (d disk) Take(n int64) bool { return d.s.uploads.Take(d.tenant, n) }

func (d disk) Give(n int64) { d.s.uploads.Give(d.tenant, n) }

// mayUpload says why the tenant cannot add documents, before they come.
func (c *call) mayUpload() error {
	if err := c.s.app.WritableCollection(c.ctx, c.collection()); err != nil {
		return err
	}
	if c.s.o.Jobs != nil {
		return nil
	}
	return refusedJob(c.s.ingests.Room(c.jobTenant()), "too_many_jobs", "ingestions")
}

// receive reads the documents of an upload as they come.
func (c *call) receive(in io.Reader) error {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	form := err == nil && kind == "multipart/form-data"
	if form == c.query.Has("name") {
		return &Refusal{Status: http.StatusUnprocessableEntity, Reason: "invalid_parameter", Message: "parameter name: a document that is the body needs a name, and those of a form have their own", Remedy: "send one document as the body with name=guide.md, or a form (multipart/form-data) without this parameter"}
	}
	if err := c.hold(uploads.Memory); err != nil {
		return err
	}
	folder := os.TempDir()
	if file := c.s.app.Status().StoreFile; file != "" && !storeurl.Is(file) {
		folder = filepath.Dir(file)
	}
	if c.upload, err = uploads.New(folder, disk{c.s, c.info.Principal.Tenant}); err != nil {
		return c.unkept(err)
	}
	c.after = append(c.after, func() {
		if c.upload != nil {
			c.upload.Remove()
		}
	})
	in = &upTo{in, c.maxBody(), c.tooLarge}
	if form {
		return c.unkept(c.upload.Form(in, params["boundary"]))
	}
	return c.unkept(c.upload.Add(c.query.Get("name"), in))
}

// upTo reads at most so many bytes, and then fails.
type upTo struct {
	io.Reader
	left int64
	fail func() error
}

func (u *upTo) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return n, u.fail()
	}
	return n, err
}

// unkept is why the documents cannot be received.
func (c *call) unkept(err error) error {
	var wrong *uploads.Error
	switch {
	case errors.As(err, &wrong):
		return &Refusal{Status: http.StatusUnprocessableEntity, Reason: "invalid_upload", Message: wrong.Problem, Remedy: wrong.Remedy}
	case errors.Is(err, uploads.ErrRoom):
		return &Refusal{
			Status: http.StatusServiceUnavailable, Reason: "busy", Message: err.Error(),
			Remedy: "wait until jobs have ended, send less at the same time, or raise server.max_upload", RetryAfter: 5 * time.Second,
		}
	case errors.Is(err, uploads.ErrDisk):
		c.why = err // it names a folder of the host
		return &Refusal{Status: http.StatusInsufficientStorage, Reason: "disk_full", Message: uploads.ErrDisk.Error(), Remedy: "the operator has to make room beside the store, and let the service write there; the log has more"}
	}
	return err
}

// ingestReport is what became of the documents of an upload.
type ingestReport struct {
	Files     int `json:"files"`
	Unchanged int `json:"unchanged"`
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Failed    int `json:"failed"`
	// Removed is the number of records that are not in their documents any more.
	Removed int     `json:"removed"`
	Chunks  int     `json:"chunks"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Errors are the first documents that could not be read.
	Errors []unread `json:"errors,omitempty"`
	// Warnings are the first documents that were perhaps read wrong.
	Warnings []unread `json:"warnings,omitempty"`
}

// unread is a document that could not be read, or perhaps was read wrong.
type unread struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// addDocuments starts an ingestion, and answers with the job.
func (c *call) addDocuments() (any, error) {
	s, in, u, key := c.s, c.collection(), c.upload, c.info.Principal.KeyID
	if s.o.Jobs != nil {
		job := jobs.Submission{Task: jobs.Task{Kind: jobs.Ingest, Collection: in.Name}}
		for _, f := range u.Files {
			job.Files = append(job.Files, jobs.File{Name: f.Name, Content: u.Open(f)})
		}
		return c.submit(job)
	}
	j, err := s.ingests.Start(c.jobTenant(), background.Doc{Kind: jobs.Ingest, Collection: in.Name, Total: len(u.Files), Generation: c.info.Generation},
		c.running("ingestion", func(ctx context.Context, j *background.Job) (any, error) { return s.ingest(ctx, j, in, u, key) }), u.Remove)
	if err != nil {
		return nil, refusedJob(err, "too_many_jobs", "ingestions")
	}
	c.upload = nil
	return &reply{http.StatusAccepted, j.Snapshot(false)}, nil
}

// ingest reads the documents of an upload into a collection. The key pays for it.
func (s *Server) ingest(ctx context.Context, j *background.Job, in retrieve.Collection, u *uploads.Upload, key string) (any, error) {
	sources, now := make([]ingest.Source, len(u.Files)), time.Now().UTC()
	for i, f := range u.Files {
		sources[i] = ingest.Source{Path: f.Name, Reader: u.Open(f), Time: now}
	}
	var first error
	var out ingestReport
	r, err := s.app.Ingest(ctx, sources, ingest.Options{
		Collection: in, MaxFile: min(s.o.MaxUpload, ingest.DefaultMaxFile), Limits: parse.Limits{Memory: documentMemory},
		Progress: func(p ingest.Progress) { j.Progress(p.Files, p.TotalFiles, p.Bytes) },
		Failed: func(e *ingest.FileError) {
			first = cmp.Or[error](first, e)
			if len(out.Errors) < maxIngestErrors {
				out.Errors = append(out.Errors, unread{e.Path, failure.Public(e.Err).Error.Message})
			}
		},
		Warned: func(w ingest.Warning) {
			if len(out.Warnings) < maxIngestErrors {
				out.Warnings = append(out.Warnings, unread{w.Path, w.Text})
			}
		},
	})
	if len(r.Services) > 0 {
		s.app.Spend(in.Tenant, key, r.Services)
	}
	if err == nil && r.Failed == r.Files {
		err = first
	}
	out.Files, out.Unchanged, out.Added, out.Changed, out.Failed = r.Files, r.Unchanged, r.Added, r.Changed, r.Failed
	out.Removed, out.Chunks, out.Bytes, out.Seconds = r.Removed, r.Chunks, r.Bytes, r.Seconds
	return out, err
}
