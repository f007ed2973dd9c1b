package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/server/internal/degraded"
)

// dataEndpoints are the endpoints of the API.
func (s *Server) dataEndpoints() []endpoint {
	list := []endpoint{
		{Route: Route{Method: "GET", Path: "/livez", Action: "livez", Scope: ScopeNone}, serve: (*call).livez},
		{Route: Route{Method: "GET", Path: "/readyz", Action: "readyz", Scope: ScopeNone}, params: []string{"verbose"}, serve: (*call).readyz},
		{Route: Route{Method: "GET", Path: "/openapi.json", Action: "openapi", Scope: ScopeNone}, serve: (*call).openapi},
		{Route: Route{Method: "POST", Path: "/v1/builds", Action: "build", Scope: ScopeBuild}, body: jsonBody, params: []string{"user", "session", "conversation", "remember", "only", "skip", "omit"}, serve: (*call).build},
		{Route: Route{Method: "POST", Path: "/v1/assemble", Action: "assemble", Scope: ScopeBuild}, body: jsonBody, params: []string{"run", "from", "to", "lossy", "max_tokens", "max_messages", "phase", "user"}, optional: true, serve: (*call).assemble},
		{Route: Route{Method: "GET", Path: "/v1/costs", Action: "listCosts", Scope: ScopeBuild}, params: []string{"from", "to", "tenant", "all"}, serve: (*call).listCosts},
	}
	list = append(list, endpoint{Route: Route{Method: "GET", Path: "/v1/rollout", Action: "rollout", Scope: ScopeAdmin}, serve: (*call).rollout},
		endpoint{Route: Route{Method: "GET", Path: "/v1/plugins/failures", Action: "listFailures", Scope: ScopeBuild}, other: ScopeAdmin, serve: (*call).failures},
		endpoint{Route: Route{Method: "GET", Path: "/v1/plugins/{name}/failures", Action: "getFailures", Scope: ScopeBuild}, other: ScopeAdmin, serve: (*call).failures})
	list = append(list, recordEndpoints()...)
	list = append(list, memoryEndpoints()...)
	list = append(list, runEndpoints()...)
	list = append(list, collectionEndpoints()...)
	list = append(list, documentEndpoints()...)
	list = append(list, jobEndpoints()...)
	return append(list, evalEndpoints()...)
}

// build builds one window.
func (c *call) build() (any, error) {
	omit, err := c.omitted()
	if err != nil {
		return nil, err
	}
	if accepts(c.r.Header.Values("Accept"), "text/event-stream") {
		return c.streamBuild(omit)
	}
	result, err := c.runBuild(c.ctx, nil)
	if err != nil {
		return nil, err
	}
	degraded.Name(c.w.Header(), result.Degraded)
	return &partly{result, omit}, nil
}

// omittable are the members of an answer that a client may leave out.
var omittable = []string{"window", "formatted_output", "overflow_items", "diagnostics"}

// omitted returns the members of the answer that the client does not want.
func (c *call) omitted() ([]string, error) {
	omit := list(c.query["omit"])
	for _, name := range omit {
		if !slices.Contains(omittable, name) {
			return nil, badParam("omit", fmt.Sprintf("want some of %v, got %.100q", omittable, name))
		}
	}
	return omit, nil
}

// partly is a result without some members.
type partly struct {
	*pipeline.Result
	omit []string
}

// AppendJSON implements appender.
func (p *partly) AppendJSON(dst []byte) ([]byte, error) { return p.AppendWithout(dst, p.omit...) }

// runBuild builds the window of the request document.
func (c *call) runBuild(ctx context.Context, callbacks []pipeline.Callback) (*pipeline.Result, error) {
	remember, err := c.flag("remember")
	if err != nil {
		return nil, err
	}
	if remember && !c.info.Principal.Has(ScopeMemoryWrite) {
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: "remember adds a turn, and the key has not the scope " + ScopeMemoryWrite, Remedy: "leave remember out, or use a key that has it"}
	}
	o := anchor.BuildOptions{
		Tenant: c.info.Principal.Tenant, User: c.query.Get("user"), Session: c.query.Get("session"),
		Conversation: c.query.Get("conversation"), Remember: remember,
		Only: list(c.query["only"]), Skip: list(c.query["skip"]), Key: c.info.Principal.KeyID, RequestID: c.info.ID,
	}
	return c.built(ctx, c.body, callbacks, func(ctx context.Context, id string, observing []pipeline.Callback) (*pipeline.Result, error) {
		o.ID, o.Callbacks = id, observing
		return c.s.app.BuildRequest(ctx, "request", bytes.NewBuffer(c.body), o)
	})
}

// warnDegraded says in the log what an answer lacks. build is the ID of its record, if there is one.
func (c *call) warnDegraded(list []core.Degradation, build string) {
	c.usage.Degraded = len(list)
	args := []any{"request", c.info.ID, "key", c.info.Principal.KeyID}
	if c.s.o.TenantClass != nil {
		args = append(args, "tenant_class", c.s.o.TenantClass(c.s.tenant(c.info.Principal)))
	}
	if build != "" {
		args = append(args, "build", build)
	}
	c.s.degraded.Warn(c.ctx, c.s.log, list, args...)
}

// account notes the requests to models, and warns of those whose price is not known.
func (c *call) account(used *ledger.Ledger) {
	lines := used.Lines()
	c.usage.Services = append(c.usage.Services, lines...)
	for _, l := range lines {
		if l.Service == "llm" {
			c.usage.ModelCalls += int(l.Calls)
		}
		if l.Unpriced {
			text := fmt.Sprintf("model %q (%s) has no price, so its cost is unknown (name it in the file of telemetry.prices)", l.Model, l.Name)
			c.s.degraded.Warn(c.ctx, c.s.log, []core.Degradation{{Kind: degraded.Unpriced, Plugin: l.Model, Reason: "unpriced", Message: text}}, "request", c.info.ID, "key", c.info.Principal.KeyID)
		}
	}
}

// addFuel notes the fuel that steps have used, also those that failed.
func (c *call) addFuel(d *pipeline.Diagnostics) {
	for i := range d.Steps {
		c.usage.Fuel += uint64(max(0, d.Steps[i].Fuel))
	}
	for i := range d.StepFailures {
		c.usage.Fuel += uint64(max(0, d.StepFailures[i].Fuel))
	}
}

// list splits the values of a parameter that is repeated or has commas. It returns nil if there is
// none.
func list(values []string) (out []string) {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
