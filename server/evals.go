package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
)

const (
	// maxRunningJobs bounds the evaluations that run at the same time, and maxTenantJobs those of one
	// tenant. Each builds one query at a time, so that it takes little from requests.
	maxRunningJobs, maxTenantJobs = 2, 1
	// maxKeptJobs bounds the evaluations whose reports are kept, and keptFor how long.
	maxKeptJobs = 32
	keptFor     = time.Hour
	// maxJobTime bounds an evaluation.
	maxJobTime = time.Hour
	// maxReport is the largest report that is kept, in bytes.
	maxReport = 8 << 20
)

func evalEndpoints() []endpoint {
	return []endpoint{
		{Route: Route{Method: "POST", Path: "/v1/evals", Action: "startEval", Scope: ScopeBuild}, body: formBody, serve: (*call).startEval},
		{Route: Route{Method: "GET", Path: "/v1/evals", Action: "listEvals", Scope: ScopeBuild}, serve: (*call).listEvals},
		{Route: Route{Method: "GET", Path: "/v1/evals/{id}", Action: "getEval", Scope: ScopeBuild}, serve: (*call).getEval},
		{Route: Route{Method: "DELETE", Path: "/v1/evals/{id}", Action: "cancelEval", Scope: ScopeBuild}, serve: (*call).cancelEval},
	}
}

// The states of a job.
const (
	jobRunning   = "running"
	jobDone      = "done"
	jobFailed    = "failed"
	jobCancelled = "cancelled"
)

// job is one evaluation. mu guards what is below.
type job struct {
	tenant string
	cancel context.CancelFunc

	mu  sync.Mutex
	doc jobDoc
}

// jobDoc is a job as clients see it.
type jobDoc struct {
	ID         string          `json:"id"`
	State      string          `json:"state"`
	Done       int             `json:"done"`
	Total      int             `json:"total"`
	Started    time.Time       `json:"started"`
	Ended      *time.Time      `json:"ended,omitempty"`
	Generation int64           `json:"generation"`
	Report     json.RawMessage `json:"report,omitempty"`
	Error      *failure.Detail `json:"error,omitempty"`
}

// snapshot returns the document of the job.
func (j *job) snapshot(withReport bool) jobDoc {
	j.mu.Lock()
	defer j.mu.Unlock()
	doc := j.doc
	if !withReport {
		doc.Report = nil
	}
	return doc
}

// jobs are the evaluations of a server, oldest first.
type jobs struct {
	s     *Server
	ctx   context.Context
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu   sync.Mutex
	list []*job
}

func newJobs(s *Server) *jobs {
	ctx, stop := context.WithCancel(context.Background())
	return &jobs{s: s, ctx: ctx, stop: stop}
}

// close cancels all jobs and waits for their end.
func (j *jobs) close() {
	j.mu.Lock()
	j.stop()
	j.mu.Unlock()
	j.ended.Wait()
}

// start registers a job, unless there are too many.
func (j *jobs) start(tenant string, generation int64) (*job, context.Context, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ctx.Err() != nil {
		return nil, nil, &Refusal{Status: http.StatusServiceUnavailable, Reason: "draining", Message: "the service ends", Remedy: "send the request to another host", RetryAfter: time.Second}
	}
	running, own := 0, 0
	for _, other := range j.list {
		if other.snapshot(false).State == jobRunning {
			if running++; other.tenant == tenant {
				own++
			}
		}
	}
	if running >= maxRunningJobs || own >= maxTenantJobs {
		return nil, nil, &Refusal{Status: http.StatusTooManyRequests, Reason: "too_many_evals", Message: "as many evaluations run as may", Remedy: "wait until one has ended, or cancel it", RetryAfter: 10 * time.Second}
	}
	j.forget()
	ctx, cancel := context.WithTimeout(j.ctx, maxJobTime)
	n := &job{tenant: tenant, cancel: cancel, doc: jobDoc{ID: rand.Text(), State: jobRunning, Started: time.Now().UTC(), Generation: generation}}
	j.list = append(j.list, n)
	j.ended.Add(1)
	return n, ctx, nil
}

// forget removes old jobs. The caller holds mu.
func (j *jobs) forget() {
	kept := 0
	for i, n := range slices.Backward(j.list) {
		doc := n.snapshot(false)
		if doc.State == jobRunning {
			continue
		}
		if kept++; kept >= maxKeptJobs || time.Since(*doc.Ended) > keptFor {
			j.list = slices.Delete(j.list, i, i+1)
		}
	}
}

// find returns a job of a tenant.
func (j *jobs) find(tenant, id string) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.list {
		if n.doc.ID == id && n.tenant == tenant {
			return n, nil
		}
	}
	return nil, &Refusal{Status: http.StatusNotFound, Reason: "not_found", Message: "there is no such evaluation", Remedy: "reports are kept for an hour"}
}

// end notes how a job ended.
func (j *job) end(ctx context.Context, report *anchor.Report, err error) {
	var data []byte
	if err == nil {
		if data, err = json.Marshal(report); err == nil && len(data) > maxReport {
			err = errors.New("the report is too large (use fewer queries: limit)")
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now().UTC()
	j.doc.Ended = &now
	switch {
	case err == nil:
		j.doc.State, j.doc.Report = jobDone, data
	case errors.Is(ctx.Err(), context.Canceled):
		j.doc.State = jobCancelled
	default:
		detail := failure.Public(err).Error
		j.doc.State, j.doc.Error = jobFailed, &detail
	}
}

// evalOptions is the part options of the form.
type evalOptions struct {
	Pipeline     string   `key:"pipeline"`
	Metrics      []string `key:"metrics" max:"100"`
	Depths       []int    `key:"depths" max:"100"`
	Limit        int      `key:"limit" min:"1"`
	AllowMissing bool     `key:"allow_missing"`
	CorpusItems  bool     `key:"corpus_items"`
	IDMetadata   string   `key:"id_metadata"`
	IDCut        string   `key:"id_cut"`
	IDAfter      string   `key:"id_after"`
	ListTies     bool     `key:"list_ties"`
}

// startEval starts an evaluation, and answers with the job.
func (c *call) startEval() (any, error) {
	parts, in, err := c.evalParts()
	if err != nil {
		return nil, err
	}
	n, ctx, err := c.s.jobs.start(c.info.Principal.Tenant, c.info.Generation)
	if err != nil {
		return nil, err
	}
	o := anchor.EvaluateOptions{
		Corpus: part{bytes.NewReader(parts["corpus"]), "corpus"}, Queries: part{bytes.NewReader(parts["queries"]), "queries"}, Qrels: part{bytes.NewReader(parts["qrels"]), "qrels"},
		CorpusItems: in.CorpusItems, Limit: in.Limit, AllowMissing: in.AllowMissing, Metrics: in.Metrics, Depths: in.Depths,
		IDMetadata: in.IDMetadata, IDCut: in.IDCut, IDAfter: in.IDAfter, ListTies: in.ListTies, Concurrency: 1,
		Build:  anchor.BuildOptions{Pipeline: in.Pipeline, Tenant: c.info.Principal.Tenant},
		Around: c.buildOfEval,
		Progress: func(_ string, done, total int) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.doc.Done, n.doc.Total = done, total
		},
	}
	tenant, size := c.info.Principal.Tenant, c.held // which the job keeps
	c.held = 0
	go func() {
		defer c.s.jobs.ended.Done()
		defer c.s.bodies.give(tenant, size)
		c.runEval(observe.Discreet(ctx), n, o)
	}()
	return &reply{http.StatusAccepted, n.snapshot(false)}, nil
}

// runEval runs an evaluation, and notes how it ended.
func (c *call) runEval(ctx context.Context, n *job, o anchor.EvaluateOptions) {
	defer n.cancel()
	var report *anchor.Report
	var err error
	defer func() {
		if problem := recover(); problem != nil {
			err = &panicked{problem, debug.Stack()}
		}
		if err != nil && ctx.Err() == nil {
			c.s.log.Warn("evaluation fails", "request", c.info.ID, "id", n.doc.ID, "error", err)
		}
		n.end(ctx, report, err)
	}()
	report, err = c.s.app.Evaluate(ctx, o)
}

// buildOfEval runs one build of an evaluation. Its tenant pays for it as for any build, and it waits for
// its turn among the builds of all tenants.
func (c *call) buildOfEval(ctx context.Context, build func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error) {
	if c.s.o.Admission == nil {
		return build(ctx)
	}
	release, err := c.turn(ctx)
	if err != nil {
		return nil, err
	}
	ctx, asked := ledger.Under(ctx)
	var result *pipeline.Result
	began := time.Now()
	defer func() {
		used := call{s: c.s, ctx: ctx, info: c.info}
		used.account(asked)
		if result != nil {
			used.usage.Tokens = result.Window.UsedTokens
		}
		if d := pipeline.DiagnosticsOf(result, err); d != nil {
			used.addFuel(d)
		}
		used.usage.Took = time.Since(began)
		release(used.usage)
	}()
	result, err = build(ctx)
	return result, err
}

// turn waits until a build of the evaluation may run.
func (c *call) turn(ctx context.Context) (release func(Usage), err error) {
	cost := Cost{Action: c.endpoint.Action, Scope: c.endpoint.Scope, RequestID: c.info.ID}
	for {
		release, err = c.s.o.Admission.Admit(ctx, c.info.Principal, cost)
		var refusal *Refusal
		if err == nil || !errors.As(err, &refusal) || refusal.RetryAfter <= 0 {
			return release, err
		}
		select {
		case <-time.After(min(refusal.RetryAfter, time.Minute)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// evalParts reads the form.
func (c *call) evalParts() (parts map[string][]byte, in evalOptions, err error) {
	if parts, err = c.form("corpus", "queries", "qrels", "options"); err != nil {
		return nil, in, err
	}
	if data, ok := parts["options"]; ok {
		n, err := c.parse("options", data)
		if err == nil {
			err = strict.DecodeContext(c.ctx, "options", n, &in)
		}
		if err != nil {
			return nil, in, err
		}
	}
	for _, name := range []string{"corpus", "queries", "qrels"} {
		if parts[name] == nil {
			return nil, in, &Refusal{Status: http.StatusUnprocessableEntity, Reason: "invalid_request", Message: "the form has no part " + name, Remedy: "send the files of a collection in BEIR's form as the parts corpus, queries and qrels"}
		}
	}
	return parts, in, nil
}

// part is a file of a form. Errors show its name.
type part struct {
	io.Reader
	name string
}

// Name returns the name of the part.
func (p part) Name() string { return p.name }

// form reads the parts of a form, which replaces the body. Others than the named ones are refused, and so
// are repeated ones.
func (c *call) form(names ...string) (map[string][]byte, error) {
	_, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err // it was checked
	}
	refuse := func(problem string) error {
		return &Refusal{Status: http.StatusBadRequest, Reason: "invalid_form", Message: "the form cannot be read: " + problem}
	}
	in := &io.LimitedReader{R: bytes.NewReader(c.body)}
	form := multipart.NewReader(in, params["boundary"])
	parts := map[string][]byte{}
	size := int64(len(c.body))
	if err := c.hold(size); err != nil { // all parts together are smaller than the body
		return nil, err
	}
	memory := make([]byte, 0, size)
	defer func() {
		c.body = nil
		c.drop(size)
	}()
	for {
		p, err := nextPart(form, in)
		if err == io.EOF { //nolint:errorlint // a reader returns it as it is
			return parts, nil
		}
		if err != nil {
			return nil, refuse(shorten(err.Error()))
		}
		name := shorten(p.FormName())
		if !slices.Contains(names, name) {
			return nil, refuse("unknown part " + name + strict.Hint(name, names))
		}
		if parts[name] != nil {
			return nil, refuse("the part " + name + " is there twice")
		}
		begin := len(memory)
		if memory, err = appendPart(memory, p); err != nil {
			return nil, refuse(shorten(err.Error()))
		}
		parts[name] = memory[begin:len(memory):len(memory)]
	}
}

// nextPart returns the next part of a form that reads from in. Its header is bounded, or it could cost many
// times its size.
func nextPart(form *multipart.Reader, in *io.LimitedReader) (*multipart.Part, error) {
	in.N = maxHeader
	p, err := form.NextRawPart()
	if in.N <= 0 {
		return nil, fmt.Errorf("the header of a part has more than %d bytes", maxHeader)
	}
	in.N = math.MaxInt64
	return p, err
}

// appendPart reads a part of a form into memory that has room for it.
func appendPart(memory []byte, p io.Reader) ([]byte, error) {
	for len(memory) < cap(memory) {
		n, err := p.Read(memory[len(memory):cap(memory)])
		memory = memory[:len(memory)+n]
		if errors.Is(err, io.EOF) {
			return memory, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, io.ErrShortBuffer
}

// jobsDoc is a list of evaluations, the newest first.
type jobsDoc struct {
	Evals []jobDoc `json:"evals"`
}

func (c *call) listEvals() (any, error) {
	out := jobsDoc{[]jobDoc{}}
	c.s.jobs.mu.Lock()
	defer c.s.jobs.mu.Unlock()
	for _, n := range c.s.jobs.list {
		if n.tenant == c.info.Principal.Tenant {
			out.Evals = append(out.Evals, n.snapshot(false))
		}
	}
	slices.SortStableFunc(out.Evals, func(a, b jobDoc) int { return cmp.Compare(b.Started.UnixNano(), a.Started.UnixNano()) })
	return out, nil
}

func (c *call) getEval() (any, error) {
	n, err := c.s.jobs.find(c.info.Principal.Tenant, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return n.snapshot(true), nil
}

// cancelEval cancels a job. One that has ended stays as it is.
func (c *call) cancelEval() (any, error) {
	n, err := c.s.jobs.find(c.info.Principal.Tenant, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	n.cancel()
	return n.snapshot(false), nil
}
