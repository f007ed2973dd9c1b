package jobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	// documentMemory is what reading one document may take, in bytes.
	documentMemory = 192 << 20
	// maxErrors is how many documents that could not be read a log names.
	maxErrors = 100
	// maxRequests bounds the requests of a list of builds, and maxRequest one of them, in bytes.
	maxRequests, maxRequest = 100_000, 16 << 20
)

// Run is one attempt at a job.
type Run struct {
	Task
	// ID names the job. Tenant owns it, and Key pays for it.
	ID, Tenant, Key string
	// Files are those of the submission.
	Files []Input
	// Progress says how far the job is. It costs little.
	Progress func(done, total int, text string)
	// Log adds a line to the log of the job.
	Log func(line string)
	// Has are the indexes of the results that former attempts have kept. Those of failures are true.
	Has func(ctx context.Context) (map[int]bool, error)
	// Keep keeps a result, which may be a failure. One with the same index is replaced. It returns [ErrLarge] if the
	// results get too large.
	Keep func(ctx context.Context, index int, failed bool, data []byte) error
}

// Input is a file of a job.
type Input struct {
	// Name is that of the submission, and Size in bytes.
	Name string
	Size int64
	// Open returns the content, which must be read while ctx is alive.
	Open func(ctx context.Context) io.Reader
}

// Around runs a build of a job for a tenant and a key: it waits for its turn, and counts what it uses. request names
// the job.
type Around func(ctx context.Context, tenant, key, request string, build func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error)

// Worker does jobs with an App. It is safe for concurrent use.
type Worker struct {
	// App does the work.
	App *anchor.App
	// Around runs each build. nil: builds run as they come.
	Around Around
	// Folder is below which each tenant has a folder of its name, whose files [Ingest] may read. Empty: none may.
	Folder string
	// Temporary is where files stay while they are read. Empty: the folder of the system.
	Temporary string
}

// Do does a job, and returns its report. It may be done again from the start: what it writes replaces what an
// attempt before wrote.
func (w *Worker) Do(ctx context.Context, r *Run) (report any, err error) {
	switch r.Kind {
	case Ingest:
		return w.ingest(ctx, r)
	case Embed:
		return w.embed(ctx, r)
	case Evaluate:
		return w.evaluate(ctx, r)
	case Builds:
		return w.builds(ctx, r)
	}
	return nil, fmt.Errorf("%w: kind %.100q", ErrInvalid, r.Kind)
}

// Permanent reports whether another attempt fails in the same way.
func Permanent(err error) bool {
	for _, is := range []error{
		ErrInvalid, ErrLarge, config.ErrInvalid, retrieve.ErrNotFound, retrieve.ErrModel, pipeline.ErrInvalid,
		parse.ErrBinary, parse.ErrEncrypted, parse.ErrDamaged, parse.ErrTooLarge, parse.ErrNoText, parse.ErrUnreadable,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// options are those of a job that reads or embeds documents.
func (r *Run) options(in retrieve.Collection, first *error) ingest.Options {
	said := 0
	say := func(path, text string) {
		if said++; said <= maxErrors {
			r.Log(path + ": " + text)
		}
	}
	return ingest.Options{
		Collection: in, Limits: parse.Limits{Memory: documentMemory},
		Progress: func(p ingest.Progress) { r.Progress(p.Files, p.TotalFiles, fmt.Sprintf("%d bytes", p.Bytes)) },
		Failed: func(e *ingest.FileError) {
			if *first == nil || Permanent(*first) && !Permanent(e) { // one that may be read later is a reason to begin again
				*first = e
			}
			say(e.Path, failure.Public(e.Err).Error.Message)
		},
		Warned: func(warning ingest.Warning) { say(warning.Path, "warning: "+warning.Text) },
	}
}

// ended pays for an ingestion or an embedding. It fails if all of it has.
func (w *Worker) ended(r *Run, report ingest.Report, first, err error) (any, error) {
	if len(report.Services) > 0 {
		w.App.Spend(r.Tenant, r.Key, report.Services)
	}
	if err == nil && report.Files > 0 && report.Failed == report.Files {
		err = first
	}
	return report, err
}

func (w *Worker) ingest(ctx context.Context, r *Run) (any, error) {
	in := retrieve.Collection{Tenant: r.Tenant, Name: r.Collection}
	if err := w.App.WritableCollection(ctx, in); err != nil {
		return nil, err
	}
	sources, end, err := w.sources(ctx, r)
	defer end()
	if err != nil {
		return nil, err
	}
	var first error
	report, err := w.App.Ingest(ctx, sources, r.options(in, &first))
	return w.ended(r, report, first, err)
}

// sources are what an ingestion reads. end must be called.
func (w *Worker) sources(ctx context.Context, r *Run) (list []ingest.Source, end func(), err error) {
	if r.Folder != "" {
		f, err := w.open(r.Tenant)
		if err != nil {
			return nil, func() {}, err
		}
		list, err := f.find(ctx, r.Folder)
		return list, f.close, err
	}
	f, err := os.CreateTemp(w.Temporary, ".anchor-job-*")
	if err != nil {
		return nil, func() {}, fmt.Errorf("job: make a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // where an open file cannot be removed, end does it
	end = func() {
		_ = f.Close() // it is not read any more
		_ = os.Remove(f.Name())
	}
	at, now := int64(0), time.Now().UTC()
	for _, file := range r.Files {
		n, err := io.Copy(f, file.Open(ctx))
		if err != nil {
			return nil, end, fmt.Errorf("job: copy a document: %w", err)
		}
		list = append(list, ingest.Source{Path: file.Name, Reader: io.NewSectionReader(f, at, n), Time: now})
		at += n
	}
	return list, end, nil
}

func (w *Worker) embed(ctx context.Context, r *Run) (any, error) {
	e, err := w.App.CollectionEmbedder(r.Collection)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("%w: no embedder is named for collection %.200q (collections: {NAME: {embedder: NAME}} in the configuration)", ErrInvalid, r.Collection)
	}
	var first error
	o := r.options(retrieve.Collection{Tenant: r.Tenant, Name: r.Collection}, &first)
	o.Embedder = e
	report, err := w.App.Reembed(ctx, o)
	return w.ended(r, report, first, err)
}

// named is a file of a job. Errors show its name.
type named struct {
	io.Reader
	name string
}

// Name returns the name of the file.
func (n named) Name() string { return n.name }

// file returns a file of the job, nil if there is none.
func (r *Run) file(ctx context.Context, name string) io.Reader {
	i := slices.IndexFunc(r.Files, func(f Input) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return named{r.Files[i].Open(ctx), name}
}

func (w *Worker) evaluate(ctx context.Context, r *Run) (any, error) {
	o := anchor.EvaluateOptions{
		Questions: r.file(ctx, "questions"), Corpus: r.file(ctx, "corpus"), Queries: r.file(ctx, "queries"), Qrels: r.file(ctx, "qrels"),
		Limit: r.Limit, Concurrency: 1, Build: anchor.BuildOptions{Pipeline: r.Pipeline, Tenant: r.Tenant},
		Progress: func(_ string, done, total int) { r.Progress(done, total, "") },
	}
	if w.Around != nil {
		o.Around = func(ctx context.Context, build func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error) {
			return w.Around(ctx, r.Tenant, r.Key, "job-"+r.ID, build)
		}
	}
	return w.App.Evaluate(ctx, o)
}

// BuildsReport says how many builds a job has done.
type BuildsReport struct {
	Builds int `json:"builds"`
	Failed int `json:"failed"`
}

// builds builds each request. A build that fails is a result like others; the job goes on.
func (w *Worker) builds(ctx context.Context, r *Run) (any, error) {
	var report BuildsReport
	count := func(int, []byte) error { report.Builds++; return nil }
	if err := r.requests(ctx, count); err != nil {
		return nil, err
	}
	has, err := r.Has(ctx)
	if err != nil {
		return nil, err
	}
	err = r.requests(ctx, func(i int, request []byte) error {
		r.Progress(i, report.Builds, "")
		failed, kept := has[i]
		if !kept {
			result := w.build(ctx, r, i, request)
			if ctx.Err() != nil {
				return ctx.Err() // the build was cut, so that its error is not its result
			}
			if failed = result.Error != nil; failed {
				r.Log(fmt.Sprintf("build %d: %s", i, result.Error.Message))
			}
			data, err := json.Marshal(result)
			if err != nil {
				return fmt.Errorf("job: write a result: %w", err)
			}
			if err := r.Keep(ctx, i, failed, data); err != nil {
				return err
			}
		}
		if failed {
			report.Failed++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Progress(report.Builds, report.Builds, "")
	return report, nil
}

// requests calls each with the requests of a file, one a line. Empty lines are none.
func (r *Run) requests(ctx context.Context, each func(i int, request []byte) error) error {
	in := r.file(ctx, "requests")
	if in == nil {
		return fmt.Errorf("%w: there are no requests", ErrInvalid)
	}
	lines, n := bufio.NewScanner(in), 0
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		request := bytes.TrimSpace(lines.Bytes())
		if len(request) == 0 {
			continue
		}
		if n == maxRequests {
			return fmt.Errorf("%w: there are more than %d requests", ErrInvalid, maxRequests)
		}
		if err := each(n, request); err != nil {
			return err
		}
		n++
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: a request has more than %d MiB", ErrInvalid, maxRequest>>20)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("job: read the requests: %w", err)
	}
	return nil
}

// build does one build, whose ID says of which job it is: an attempt that repeats it replaces its record.
func (w *Worker) build(ctx context.Context, r *Run, i int, request []byte) Result {
	out := Result{Index: i, Build: fmt.Sprintf("job-%s-%d", r.ID, i)}
	around := w.Around
	if around == nil {
		around = func(ctx context.Context, _, _, _ string, build func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error) {
			return build(ctx)
		}
	}
	built, err := around(ctx, r.Tenant, r.Key, "job-"+r.ID, func(ctx context.Context) (*pipeline.Result, error) {
		return w.App.BuildRequest(ctx, "request", bytes.NewReader(request), anchor.BuildOptions{
			Pipeline: r.Pipeline, Tenant: r.Tenant, User: r.User, ID: out.Build, Key: r.Key, RequestID: "job-" + r.ID,
		})
	})
	if err == nil {
		out.Value, err = json.Marshal(built)
	}
	if err != nil {
		detail := failure.Public(err).Error
		out.Error = &detail
	}
	return out
}
