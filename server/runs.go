package server

import (
	"encoding/json"
	"net/http"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

func runEndpoints() []endpoint {
	return []endpoint{
		{Route: Route{Method: "GET", Path: "/v1/runs", Action: "listRuns", Scope: ScopeMemoryRead}, serve: (*call).listRuns},
		{Route: Route{Method: "DELETE", Path: "/v1/runs/{id}", Action: "forgetRun", Scope: ScopeMemoryWrite}, serve: (*call).forgetRun},
		{Route: Route{Method: "GET", Path: "/v1/runs/{id}/frames", Action: "listFrames", Scope: ScopeMemoryRead}, params: []string{"limit", "from"}, serve: (*call).listFrames},
		{Route: Route{Method: "POST", Path: "/v1/runs/{id}/frames", Action: "pushFrame", Scope: ScopeMemoryWrite}, body: jsonBody, serve: (*call).pushFrame},
		{Route: Route{Method: "GET", Path: "/v1/runs/{id}/window", Action: "getWindow", Scope: ScopeMemoryRead}, serve: (*call).getWindow},
		{Route: Route{Method: "GET", Path: "/v1/cuts/{handle}", Action: "getCut", Scope: ScopeMemoryRead}, params: []string{"run"}, serve: (*call).getCut},
	}
}

// runsDoc is a list of runs.
type runsDoc struct {
	Runs []anchor.Stream `json:"runs"`
}

func (c *call) listRuns() (any, error) {
	streams, err := c.s.app.Runs(c.ctx, c.info.Principal.Tenant)
	if err != nil {
		return nil, err
	}
	return runsDoc{streams}, nil
}

func (c *call) runOf() (*agentrun.Run, error) {
	return c.s.app.Run(c.ctx, c.info.Principal.Tenant, c.r.PathValue("id"))
}

func (c *call) forgetRun() (any, error) {
	run, err := c.runOf()
	if err != nil {
		return nil, err
	}
	n, err := run.Forget(c.ctx)
	if err != nil {
		return nil, err
	}
	return deletedDoc{n}, nil
}

// framesDoc is a list of frames. Next is the number from which on further frames come.
type framesDoc struct {
	Frames []frames.Frame `json:"frames"`
	Next   *uint64        `json:"next,omitempty"`
}

func (c *call) listFrames() (any, error) {
	limit, err := c.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return nil, err
	}
	from, err := c.number("from", 0, 0, 1<<62)
	if err != nil {
		return nil, err
	}
	run, err := c.runOf()
	if err != nil {
		return nil, err
	}
	list, err := run.Frames(c.ctx, uint64(from), limit+1)
	if err != nil {
		return nil, err
	}
	out := framesDoc{Frames: []frames.Frame{}}
	if out.Frames = append(out.Frames, list[:min(limit, len(list))]...); len(list) > limit {
		out.Next = &list[limit].ID
	}
	return out, nil
}

func (c *call) getWindow() (any, error) {
	run, err := c.runOf()
	if err != nil {
		return nil, err
	}
	w, err := run.Window(c.ctx)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, &Refusal{Status: http.StatusNotFound, Reason: "not_found", Message: "the run has no frames"}
	}
	return w.Document(), nil
}

// rawJSON keeps a value as it was sent.
type rawJSON struct{ data json.RawMessage }

func (r *rawJSON) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	data, err := n.JSON()
	if err != nil {
		d.Fail(n, path, "%v", err)
		return
	}
	r.data = data
}

// frameInput is a new frame, with what the flags of "anchor-host frames push" say.
type frameInput struct {
	Kind          string  `key:"kind,required"`
	Summary       string  `key:"summary,required"`
	Data          rawJSON `key:"data"`
	Tokens        *int64  `key:"token_estimate" min:"0"`
	Count         bool    `key:"count"`
	Step          int     `key:"step" min:"1" max:"1000000"`
	By            string  `key:"by"`
	GlobalSummary string  `key:"global_summary"`
	MaxFrames     *int64  `key:"max_frames" min:"0" max:"4294967295"`
	MaxTokens     *int64  `key:"max_tokens" min:"0"`
}

// limits applies the limits that are given.
func (f *frameInput) limits(now frames.Limits) frames.Limits {
	if f.MaxFrames != nil {
		now.MaxFrames = uint32(*f.MaxFrames)
	}
	if f.MaxTokens != nil {
		now.MaxTokens = uint64(*f.MaxTokens)
	}
	return now
}

// pushedDoc says where a frame is.
type pushedDoc struct {
	Run      string   `json:"run"`
	ID       uint64   `json:"frame_id"`
	Frames   int      `json:"frames_in_window"`
	Tokens   uint64   `json:"total_token_estimate"`
	Warnings []string `json:"warnings,omitempty"`
}

func (c *call) pushFrame() (any, error) {
	var in frameInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	kind, err := frames.ParseKind(in.Kind)
	if err != nil {
		return nil, strict.Problems{{File: "request", Path: "kind", Message: err.Error()}}
	}
	frame := frames.Frame{Kind: kind, Summary: in.Summary, Data: in.Data.data}
	if in.Tokens != nil {
		if in.Count {
			return nil, strict.Problems{{File: "request", Path: "count", Message: "token_estimate and count exclude each other (keep one)"}}
		}
		frame.TokenEstimate = frames.Tokens(uint64(*in.Tokens))
	}
	run, err := c.runOf()
	if err != nil {
		return nil, err
	}
	pushed, err := run.Push(c.ctx, frame, agentrun.PushOptions{By: in.By, Step: in.Step, Count: in.Count, Limits: in.limits, GlobalSummary: in.GlobalSummary})
	if err != nil {
		return nil, err
	}
	return &reply{http.StatusCreated, pushedDoc{c.r.PathValue("id"), pushed.ID, pushed.Frames, pushed.Tokens, pushed.Warnings}}, nil
}

// cutDoc is the whole text of a result that was cut.
type cutDoc struct {
	Text string `json:"text"`
}

func (c *call) getCut() (any, error) {
	text, err := c.s.app.CutText(c.ctx, c.info.Principal.Tenant, c.query.Get("run"), c.r.PathValue("handle"))
	if err != nil {
		return nil, err
	}
	return cutDoc{text}, nil
}

// shorten cuts a text for an error.
func shorten(s string) string { return s[:min(len(s), 100)] }
