package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// buildIDHeader names the record of a build.
	buildIDHeader = "Anchor-Build-Id"
	// defaultBuilds is how many records a list has.
	defaultBuilds = 50
	// flushTime is how long a request waits for a record that is not written yet.
	flushTime = time.Second
)

func recordEndpoints() []endpoint {
	return []endpoint{
		{Route: Route{Method: "GET", Path: "/v1/builds", Action: "listBuilds", Scope: ScopeBuild}, params: []string{"pipeline", "conversation", "generation", "request", "user", "session", "key", "request_id", "outcome", "since", "until", "q", "item", "limit", "cursor"}, serve: (*call).listBuilds},
		{Route: Route{Method: "GET", Path: "/v1/builds/{id}", Action: "getBuild", Scope: ScopeBuild}, serve: (*call).getBuild},
		{Route: Route{Method: "DELETE", Path: "/v1/builds/{id}", Action: "deleteBuild", Scope: ScopeMemoryWrite}, serve: (*call).deleteBuild},
		{Route: Route{Method: "GET", Path: "/v1/builds/{id}/explain", Action: "getExplanation", Scope: ScopeBuild}, serve: (*call).getExplanation},
		{Route: Route{Method: "GET", Path: "/v1/builds/{a}/diff/{b}", Action: "getDiff", Scope: ScopeBuild}, serve: (*call).getDiff},
		{Route: Route{Method: "POST", Path: "/v1/builds/{id}/replay", Action: "replayBuild", Scope: ScopeBuild}, serve: (*call).replayBuild},
	}
}

// listBuilds lists records, the newest first.
func (c *call) listBuilds() (any, error) {
	limit, err := c.number("limit", defaultBuilds, 1, builds.MaxPage)
	if err != nil {
		return nil, err
	}
	f := builds.Filter{
		Pipeline: c.query.Get("pipeline"), Conversation: c.query.Get("conversation"), Generation: c.query.Get("generation"), Request: c.query.Get("request"),
		User: c.query.Get("user"), Session: c.query.Get("session"), Key: c.query.Get("key"), RequestID: c.query.Get("request_id"),
		Outcome: builds.Outcome(c.query.Get("outcome")), Text: c.query.Get("q"), Item: c.query.Get("item"),
	}
	if f.Text != "" && !c.info.Principal.Has(ScopeContent) { // the answer would say what texts are
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: "q searches texts, and the key has not the scope " + ScopeContent, Remedy: "leave q out, or use a key that has it"}
	}
	if c.query.Has("outcome") && !slices.Contains(builds.Outcomes, f.Outcome) {
		return nil, badParam("outcome", "want ok, degraded or failed")
	}
	now := time.Now()
	for _, at := range []struct {
		name string
		to   *time.Time
	}{{"since", &f.Since}, {"until", &f.Until}} {
		if !c.query.Has(at.name) {
			continue
		}
		if *at.to, err = config.ParseSince(c.query.Get(at.name), now); err != nil || at.to.IsZero() {
			return nil, badParam(at.name, fmt.Sprintf("want an age such as 24h or 7d, or a time such as 2026-05-01T12:00:00Z, got %.100q", c.query.Get(at.name)))
		}
	}
	list := c.s.app.Builds
	if f.Text+f.Item != "" {
		list = c.s.app.FindBuilds // it reads no record again that it has seen
	}
	page, err := list(c.ctx, c.info.Principal.Tenant, f, c.query.Get("cursor"), limit)
	if errors.Is(err, builds.ErrCursor) {
		return nil, badParam("cursor", builds.ErrCursor.Error())
	}
	if err != nil {
		return nil, err
	}
	if !c.info.Principal.Has(ScopeContent) {
		for i := range page.Builds {
			page.Builds[i].Query = ""
		}
	}
	return page, nil
}

// record returns a record of the tenant of the request. It waits for one that is not written yet.
func (c *call) record(id string) (*builds.Record, error) {
	waiting := c.s.app.RecordStats().Waiting > 0 // before the look, as it may be written right after it
	r, err := c.s.app.BuildRecord(c.ctx, c.info.Principal.Tenant, id)
	if !errors.Is(err, store.ErrNotFound) || !waiting {
		return r, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, flushTime)
	defer cancel()
	if c.s.app.FlushRecords(ctx) != nil {
		return nil, err // there may be one later
	}
	return c.s.app.BuildRecord(c.ctx, c.info.Principal.Tenant, id)
}

// shown returns a record without what the key may not see.
func (c *call) shown(id string) (*builds.Record, error) {
	r, err := c.record(id)
	if err != nil || c.info.Principal.Has(ScopeContent) {
		return r, err
	}
	return r.WithoutContent()
}

// recorded returns the result of a build without what the key may not see.
func (c *call) recorded(param string) (*builtdoc.Doc, error) {
	r, err := c.shown(c.r.PathValue(param))
	if err != nil {
		return nil, err
	}
	return builtdoc.Recorded(r.ID, r.Detail.Result, r.Content)
}

func (c *call) getBuild() (any, error) {
	return c.shown(c.r.PathValue("id"))
}

func (c *call) deleteBuild() (any, error) {
	id := c.r.PathValue("id")
	n, err := c.s.app.RemoveBuilds(c.ctx, c.info.Principal.Tenant, id)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		_, err := c.s.app.BuildRecord(c.ctx, c.info.Principal.Tenant, id) // says that there is none
		if err != nil {
			return nil, err
		}
	}
	return deletedDoc{n}, nil
}

// getExplanation says what happened to each item, or draws the build.
func (c *call) getExplanation() (any, error) {
	d, err := c.recorded("id")
	if err != nil {
		return nil, err
	}
	if c.wants(svgType) {
		return draw(d.Drawings()...)
	}
	return d.Explain(), nil
}

// getDiff compares two builds, or draws both.
func (c *call) getDiff() (any, error) {
	a, err := c.recorded("a")
	if err != nil {
		return nil, err
	}
	b, err := c.recorded("b")
	if err != nil {
		return nil, err
	}
	if c.wants(svgType) {
		return draw(builtdoc.DrawDiff(a, b))
	}
	return builtdoc.Compare(a, b), nil
}

// svgType is the type of drawings.
const svgType = "image/svg+xml"

// wants reports whether the client asks for a type other than JSON. The answer depends on it, which
// caches must know.
func (c *call) wants(kind string) bool {
	c.w.Header().Add("Vary", "Accept")
	return accepts(c.r.Header.Values("Accept"), kind)
}

// draw returns drawings as an answer. They have no scripts, and a browser runs none in them.
func draw(drawings ...svg.Drawing) (any, error) {
	var b bytes.Buffer
	if err := svg.Write(&b, svg.Options{Page: true}, drawings...); err != nil {
		return nil, err
	}
	return &file{kind: svgType, policy: "default-src 'none'; style-src 'unsafe-inline'; sandbox", data: b.Bytes()}, nil
}

// replayDoc says how a build that was repeated differs from the recorded one.
type replayDoc struct {
	// Build is the ID of the record, and Repeated that of the new build, if records are kept.
	Build    string `json:"build"`
	Repeated string `json:"repeated,omitempty"`
	// Equal is true if each part did the same. First is the first place where it did not.
	Equal bool               `json:"equal"`
	First *explain.Departure `json:"first,omitempty"`
	// Generation is the digest of the configuration and the plugins.
	Generation explain.Change[string] `json:"generation"`
}

// replayBuild builds a recorded request again. It counts as a build.
func (c *call) replayBuild() (any, error) {
	r, err := c.record(c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := replayDoc{Build: r.ID, Generation: explain.Change[string]{From: r.Generation}}
	began := false
	_, err = c.built(c.ctx, r.Detail.Request, nil, func(ctx context.Context, id string, observing []pipeline.Callback) (*pipeline.Result, error) {
		again, err := c.s.app.RepeatBuild(ctx, c.info.Principal.Tenant, r, anchor.BuildOptions{ID: id, Callbacks: observing, Key: c.info.Principal.KeyID, RequestID: c.info.ID})
		if err != nil {
			return nil, err
		}
		began = true
		out.Repeated, out.First, out.Equal, out.Generation.To = id, again.Departure, again.Departure == nil, again.Generation
		return again.Result, again.Err
	})
	if !began {
		return nil, err
	}
	return out, nil
}

// built runs a build for the request: it names the record, tells observers, and counts what the build
// uses. document is the request of the build.
func (c *call) built(ctx context.Context, document []byte, callbacks []pipeline.Callback, run func(_ context.Context, id string, _ []pipeline.Callback) (*pipeline.Result, error)) (*pipeline.Result, error) {
	id, err := c.s.app.NewBuildID(ctx)
	if err != nil {
		return nil, err
	}
	if id != "" {
		c.w.Header().Set(buildIDHeader, id) // before the first event of a stream
	}
	ctx, observing, end := c.observeBuild(ctx, id, document)
	ctx, used := ledger.Under(ctx)
	result, err := run(ctx, id, append(callbacks, observing...))
	end(result, err)
	c.account(used)
	if result != nil {
		c.usage.Tokens = result.Window.UsedTokens
	}
	d := pipeline.DiagnosticsOf(result, err)
	if d == nil {
		c.w.Header().Del(buildIDHeader) // it did not begin, so that there is no record
		return result, err
	}
	c.addFuel(d) // quotas count that of failed builds, too
	if err == nil {
		c.warnDegraded(result.Degraded, id)
	}
	return result, err
}
