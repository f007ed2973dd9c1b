package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/server/jobs"
)

// maxResultsPage bounds the results of one answer, in bytes. It has one at least.
const maxResultsPage = 8 << 20

func jobEndpoints() []endpoint {
	const job = "/v1/jobs/{id}"
	// Which of both scopes a job needs depends on its kind; see [scopeOf].
	route := func(method, path, action string) Route {
		return Route{Method: method, Path: path, Action: action, Scope: ScopeCollectionsWrite}
	}
	return []endpoint{
		{Route: route("POST", "/v1/jobs", "submitJob"), other: ScopeBuild, body: jsonBody, serve: (*call).submitJob},
		{Route: route("GET", "/v1/jobs", "listJobs"), other: ScopeBuild, params: []string{"limit", "before"}, serve: (*call).listJobs},
		{Route: route("GET", job, "getJob"), other: ScopeBuild, serve: (*call).getJob},
		{Route: route("DELETE", job, "cancelJob"), other: ScopeBuild, serve: (*call).cancelJob},
		{Route: route("GET", job+"/logs", "getJobLog"), other: ScopeBuild, serve: (*call).getJobLog},
		{Route: route("GET", job+"/results", "listJobResults"), other: ScopeBuild, params: []string{"limit", "from"}, serve: (*call).listJobResults},
	}
}

// scopeOf is the scope that a key needs for jobs of a kind.
func scopeOf(kind string) string {
	if kind == jobs.Evaluate || kind == jobs.Builds {
		return ScopeBuild
	}
	return ScopeCollectionsWrite
}

// jobInput is a job that is asked for.
type jobInput struct {
	Kind       string    `key:"kind,required" enum:"ingest,embed,evaluate,builds"`
	Priority   int       `key:"priority" min:"1" max:"4"`
	Collection string    `key:"collection"`
	Folder     string    `key:"folder"`
	Pipeline   string    `key:"pipeline"`
	User       string    `key:"user"`
	Limit      int       `key:"limit" min:"1"`
	Questions  string    `key:"questions"`
	Corpus     string    `key:"corpus"`
	Queries    string    `key:"queries"`
	Qrels      string    `key:"qrels"`
	Requests   []rawJSON `key:"requests" max:"100000"`
}

// submission is the job of the input.
func (in *jobInput) submission() jobs.Submission {
	s := jobs.Submission{Priority: in.Priority, Task: jobs.Task{
		Kind: in.Kind, Collection: in.Collection, Folder: in.Folder, Pipeline: in.Pipeline, User: in.User, Limit: in.Limit,
	}}
	add := func(name, text string) {
		if text != "" {
			s.Files = append(s.Files, jobs.File{Name: name, Content: io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))})
		}
	}
	add("questions", in.Questions)
	add("corpus", in.Corpus)
	add("queries", in.Queries)
	add("qrels", in.Qrels)
	var lines bytes.Buffer
	for _, r := range in.Requests {
		_ = json.Compact(&lines, r.data) // it is valid, and may be of several lines
		lines.WriteByte('\n')
	}
	add("requests", lines.String())
	return s
}

func (c *call) submitJob() (any, error) {
	var in jobInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if scope := scopeOf(in.Kind); !c.info.Principal.Has(scope) {
		return nil, noScope(scope)
	}
	return c.submit(in.submission())
}

// submit accepts a job, and answers with it.
func (c *call) submit(job jobs.Submission) (any, error) {
	job.Tenant, job.Key = c.jobTenant(), c.info.Principal.KeyID
	doc, added, err := c.s.jobs.Submit(c.ctx, job)
	if err != nil {
		return nil, c.jobError(err)
	}
	doc.Report = nil
	status := http.StatusAccepted
	if !added {
		status = http.StatusOK
	}
	return &reply{status, doc}, nil
}

// jobTenant is the tenant that owns the jobs of the request. It has a name, also that of the configuration.
func (c *call) jobTenant() string { return c.s.tenant(c.info.Principal) }

// jobError is why the queue refuses a request.
func (c *call) jobError(err error) error {
	switch {
	case errors.Is(err, jobs.ErrInvalid):
		return &Refusal{Status: http.StatusUnprocessableEntity, Reason: "invalid_request", Message: shorten(err.Error())}
	case errors.Is(err, jobs.ErrBusy), errors.Is(err, jobs.ErrRoom):
		return &Refusal{Status: http.StatusTooManyRequests, Reason: "too_many_jobs", Message: shorten(err.Error()), Remedy: "wait until some have ended, or cancel them", RetryAfter: 10 * time.Second}
	case errors.Is(err, jobs.ErrNotFound):
		return &Refusal{Status: http.StatusNotFound, Reason: "not_found", Message: "there is no such job", Remedy: "GET /v1/jobs lists those that are kept"}
	case errors.Is(err, jobs.ErrUnknown): // also if the time of the request is up, or the service ends
		c.why = err
		return &Refusal{Status: http.StatusServiceUnavailable, Reason: "outcome_unknown", Message: jobs.ErrUnknown.Error(), Remedy: "GET /v1/jobs lists it if it is: else send the request again", RetryAfter: time.Second}
	case c.ctx.Err() != nil:
		return err
	}
	c.why = err // it may name the database
	return &Refusal{Status: http.StatusServiceUnavailable, Reason: "unavailable", Message: "the database of the jobs does not answer", Remedy: "try again later", RetryAfter: 5 * time.Second}
}

// jobsDoc is a list of jobs, the newest first. Next is the id before which older ones come.
type jobsDoc struct {
	Jobs []jobs.Doc `json:"jobs"`
	Next string     `json:"next,omitempty"`
}

func (c *call) listJobs() (any, error) {
	limit, err := c.number("limit", 100, 1, jobs.MaxList)
	if err != nil {
		return nil, err
	}
	kinds := slices.DeleteFunc(slices.Clone(jobs.Kinds), func(kind string) bool { return !c.info.Principal.Has(scopeOf(kind)) })
	list, err := c.s.jobs.List(c.ctx, jobs.Filter{Tenant: c.jobTenant(), Kinds: kinds, Before: c.query.Get("before"), Limit: limit})
	if err != nil {
		return nil, c.jobError(err)
	}
	out := jobsDoc{Jobs: list}
	if len(list) == limit {
		out.Next = list[limit-1].ID
	}
	return out, nil
}

// job returns the job that the path names, if the key may see it, and texts of its requests if the caller shows some.
func (c *call) job(texts bool) (doc jobs.Doc, err error) {
	doc, err = c.s.jobs.Get(c.ctx, c.jobTenant(), c.r.PathValue("id"))
	if err == nil && !c.info.Principal.Has(scopeOf(doc.Kind)) {
		err = jobs.ErrNotFound
	}
	if err != nil {
		return doc, c.jobError(err)
	}
	if texts && scopeOf(doc.Kind) == ScopeBuild && doc.Key != c.info.Principal.KeyID && !c.info.Principal.Has(ScopeContent) {
		return doc, noScope(ScopeContent)
	}
	return doc, nil
}

func (c *call) getJob() (any, error) {
	return c.job(false)
}

// cancelJob cancels a job. One that has ended stays as it is, and so does what it has done.
func (c *call) cancelJob() (any, error) {
	doc, err := c.job(false)
	if err != nil {
		return nil, err
	}
	if doc, err = c.s.jobs.Cancel(c.ctx, c.jobTenant(), doc.ID); err != nil {
		return nil, c.jobError(err)
	}
	doc.Report = nil
	return doc, nil
}

// jobLogDoc is the log of a job.
type jobLogDoc struct {
	Lines []string `json:"lines"`
}

func (c *call) getJobLog() (any, error) {
	doc, err := c.job(true)
	if err != nil {
		return nil, err
	}
	out := jobLogDoc{Lines: []string{}}
	data, err := c.s.jobs.Log(c.ctx, c.jobTenant(), doc.ID)
	if err != nil {
		return nil, c.jobError(err)
	}
	for line := range strings.Lines(string(data)) {
		out.Lines = append(out.Lines, strings.TrimSuffix(line, "\n"))
	}
	return out, nil
}

// jobResultsDoc is a part of the results of a job. Next is the index from which on further ones come.
type jobResultsDoc struct {
	Results []json.RawMessage `json:"results"`
	Next    *int              `json:"next,omitempty"`
}

// listJobResults lists results, which have texts of requests: of a key that has not sent them it needs a scope.
func (c *call) listJobResults() (any, error) {
	limit, err := c.number("limit", 100, 1, jobs.MaxList)
	if err != nil {
		return nil, err
	}
	from, err := c.number("from", 0, 0, 1<<31-1)
	if err != nil {
		return nil, err
	}
	doc, err := c.job(true)
	if err != nil {
		return nil, err
	}
	out := jobResultsDoc{Results: []json.RawMessage{}}
	size := 0
	err = c.s.jobs.Results(c.ctx, c.jobTenant(), doc.ID, from, limit, func(index int, data []byte) error {
		size += len(data)
		if len(out.Results) > 0 && size > maxResultsPage {
			return errFull
		}
		next := index + 1
		out.Results, out.Next = append(out.Results, data), &next
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return nil, c.jobError(err)
	}
	if err == nil && len(out.Results) < limit {
		out.Next = nil
	}
	return out, nil
}

var errFull = errors.New("the page is full")

// AroundBuild runs a build of a job: its tenant pays for it as for any build, and it waits for its turn among the
// builds of all tenants.
func (s *Server) AroundBuild(ctx context.Context, tenant, key, request string, build func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error) {
	c := &call{
		s: s, ctx: ctx, info: RequestInfo{ID: request, Principal: Principal{KeyID: key, Tenant: tenant}},
		endpoint: &endpoint{Route: Route{Action: "build", Scope: ScopeBuild}},
	}
	return c.buildOfEval(ctx, build)
}
