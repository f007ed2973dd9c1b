package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
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

// newEvals are the evaluations of a server.
func newEvals() *jobs.Set {
	return jobs.New(jobs.Limits{
		Running: maxRunningJobs, Own: maxTenantJobs, Kept: maxKeptJobs, KeptOwn: maxKeptJobs, For: keptFor, Time: maxJobTime,
		Report: maxReport, TooLarge: errors.New("the report is too large (use fewer queries: limit)"),
	})
}

// refusedJob is why a job cannot be started. what names such jobs.
func refusedJob(err error, reason, what string) error {
	switch {
	case errors.Is(err, jobs.ErrClosed):
		return &Refusal{Status: http.StatusServiceUnavailable, Reason: "draining", Message: "the service ends", Remedy: "send the request to another host", RetryAfter: time.Second}
	case errors.Is(err, jobs.ErrBusy):
		return &Refusal{Status: http.StatusTooManyRequests, Reason: reason, Message: "as many " + what + " run as may", Remedy: "wait until one has ended, or cancel it", RetryAfter: 10 * time.Second}
	}
	return err
}

// findJob returns a job of the tenant. what names such a job.
func (c *call) findJob(of *jobs.Set, what string) (*jobs.Job, error) {
	if j := of.Find(c.info.Principal.Tenant, c.r.PathValue("id")); j != nil {
		return j, nil
	}
	return nil, &Refusal{Status: http.StatusNotFound, Reason: "not_found", Message: "there is no such " + what, Remedy: "reports are kept for an hour"}
}

// running does a job. A panic ends the job alone, and the log has why one fails.
func (c *call) running(what string, work jobs.Work) jobs.Work {
	log, id := c.s.log, c.info.ID
	return func(ctx context.Context, j *jobs.Job) (report any, err error) {
		defer func() {
			if problem := recover(); problem != nil {
				err = &panicked{problem, debug.Stack()}
			}
			var of *ingest.FileError // a document that cannot be read is the sender's
			if err != nil && ctx.Err() == nil && !errors.As(err, &of) {
				log.Warn(what+" fails", "request", id, "id", j.Snapshot(false).ID, "error", err)
			}
		}()
		return work(observe.Discreet(ctx), j)
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
	tenant, size := c.info.Principal.Tenant, c.held // which the job keeps
	o := anchor.EvaluateOptions{
		Corpus: part{bytes.NewReader(parts["corpus"]), "corpus"}, Queries: part{bytes.NewReader(parts["queries"]), "queries"}, Qrels: part{bytes.NewReader(parts["qrels"]), "qrels"},
		CorpusItems: in.CorpusItems, Limit: in.Limit, AllowMissing: in.AllowMissing, Metrics: in.Metrics, Depths: in.Depths,
		IDMetadata: in.IDMetadata, IDCut: in.IDCut, IDAfter: in.IDAfter, ListTies: in.ListTies, Concurrency: 1,
		Build:  anchor.BuildOptions{Pipeline: in.Pipeline, Tenant: tenant},
		Around: c.buildOfEval,
	}
	j, err := c.s.evals.Start(tenant, jobs.Doc{Generation: c.info.Generation}, c.running("evaluation", func(ctx context.Context, j *jobs.Job) (any, error) {
		o.Progress = func(_ string, done, total int) { j.Progress(done, total, 0) }
		return c.s.app.Evaluate(ctx, o)
	}), func() { c.s.bodies.Give(tenant, size) })
	if err != nil {
		return nil, refusedJob(err, "too_many_evals", "evaluations")
	}
	c.held = 0
	return &reply{http.StatusAccepted, j.Snapshot(false)}, nil
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

// evalsDoc is a list of evaluations, the newest first.
type evalsDoc struct {
	Evals []jobs.Doc `json:"evals"`
}

func (c *call) listEvals() (any, error) {
	return evalsDoc{c.s.evals.List(c.info.Principal.Tenant)}, nil
}

func (c *call) getEval() (any, error) {
	j, err := c.findJob(c.s.evals, "evaluation")
	if err != nil {
		return nil, err
	}
	return j.Snapshot(true), nil
}

// cancelEval cancels a job. One that has ended stays as it is.
func (c *call) cancelEval() (any, error) {
	j, err := c.findJob(c.s.evals, "evaluation")
	if err != nil {
		return nil, err
	}
	j.Cancel()
	return j.Snapshot(false), nil
}
