package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/failures"
)

// adminEndpoints are the endpoints of the admin listener.
func (s *Server) adminEndpoints() []endpoint {
	list := []endpoint{
		{Route: Route{Method: "GET", Path: "/livez", Action: "livez", Scope: ScopeNone}, serve: (*call).livez},
		{Route: Route{Method: "GET", Path: "/readyz", Action: "readyz", Scope: ScopeNone}, params: []string{"verbose"}, serve: (*call).readyz},
		{Route: Route{Method: "GET", Path: "/admin/v1/config", Action: "config", Scope: ScopeAdmin}, serve: (*call).config},
		{Route: Route{Method: "GET", Path: "/admin/v1/plugins", Action: "plugins", Scope: ScopeAdmin}, serve: (*call).plugins},
		{Route: Route{Method: "GET", Path: "/admin/v1/shadows", Action: "shadows", Scope: ScopeAdmin}, serve: (*call).shadows},
		{Route: Route{Method: "POST", Path: "/admin/v1/reload", Action: "reload", Scope: ScopeAdmin}, serve: (*call).reload},
	}
	for path, h := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		list = append(list, endpoint{
			Route: Route{Method: "GET", Path: "/debug/pprof/" + path, Action: "pprof", Scope: ScopeAdmin}, body: anyBody, optional: true,
			serve: func(c *call) (any, error) {
				h(c.w, c.r.WithContext(c.ctx))
				return written{}, nil
			},
		})
	}
	return list
}

// healthDoc is the answer of /livez and /readyz.
type healthDoc struct {
	Status string `json:"status"`
	*healthDetails
}

// healthDetails is what /readyz?verbose says on the admin listener.
type healthDetails struct {
	Generation int64      `json:"generation"`
	Since      time.Time  `json:"since"`
	Reload     *reloadDoc `json:"last_reload,omitempty"`
	// Keys says why the file of the keys was not taken when it was last read.
	Keys *failure.Detail `json:"keys_error,omitempty"`
	// TLS says what is wrong with the files of the certificate, and that it ends in two weeks or less.
	TLS *failure.Detail `json:"tls_error,omitempty"`
	// Store says why the store cannot be read.
	Store *failure.Detail `json:"store_error,omitempty"`
	// Limits says why limits do not count for all hosts.
	Limits *failure.Detail `json:"limits_error,omitempty"`
	// NotReady are plugins of the configuration that cannot be called.
	NotReady []pluginDoc `json:"plugins_not_ready"`
	// Kept are plugins whose module cannot be loaded, and which are called as they were before.
	Kept []pluginDoc `json:"plugins_kept"`
	// Draining is the number of former generations that requests still use.
	Draining int `json:"draining_generations"`
	// Running is the number of requests, and BodyBytes the memory of their bodies.
	Running   int64 `json:"running_requests"`
	BodyBytes int64 `json:"body_bytes"`
}

// reloadDoc is how a reload ended.
type reloadDoc struct {
	Time time.Time `json:"time"`
	OK   bool      `json:"ok"`
	// Error says why it changed nothing.
	Error *failure.Detail `json:"error,omitempty"`
}

func (c *call) livez() (any, error) { return healthDoc{Status: "live"}, nil }

// readyz says whether requests should be sent to this host.
func (c *call) readyz() (any, error) {
	doc, status := healthDoc{Status: "ready"}, http.StatusOK
	st := c.s.app.Status()
	switch {
	case c.s.draining.Load():
		doc.Status, status = "draining", http.StatusServiceUnavailable
	case st.Number == 0:
		doc.Status, status = "closed", http.StatusServiceUnavailable
	}
	if c.info.Admin && c.query.Has("verbose") {
		if err := c.verbose(); err != nil {
			return nil, err
		}
		notReady, kept := c.s.troubled()
		doc.healthDetails = &healthDetails{
			Generation: st.Number, Since: st.Since, NotReady: notReady, Kept: kept, Draining: st.Draining,
			Running: c.s.running.Load(), BodyBytes: c.s.bodies.Used(),
		}
		doc.Keys, doc.TLS, doc.Store = detailOf(c.s.keysProblem()), detailOf(c.s.o.TLS.Problem()), detailOf(c.checkStore())
		if problem := c.s.o.LimitsProblem; problem != nil {
			doc.Limits = detailOf(problem())
		}
		if last := st.Last; !last.Time.IsZero() {
			doc.Reload = &reloadDoc{Time: last.Time, OK: last.Err == nil, Error: detailOf(last.Err)}
		}
	}
	return &reply{status, doc}, nil
}

// checkTime bounds the reading of the store for /readyz.
const checkTime = time.Second

// checkStore returns why the store cannot be read.
func (c *call) checkStore() error {
	ctx, cancel := context.WithTimeout(c.ctx, checkTime)
	defer cancel()
	return c.s.app.CheckStore(ctx)
}

// detailOf describes an error, nil if there is none.
func detailOf(err error) *failure.Detail {
	if err == nil {
		return nil
	}
	detail := failure.Of(err).Error
	return &detail
}

// verbose checks that the client may see details.
func (c *call) verbose() error {
	of := *c.endpoint
	of.Scope = ScopeAdmin
	c.endpoint = &of
	return c.authenticate()
}

// configDoc is the configuration in use.
type configDoc struct {
	Generation int64     `json:"generation"`
	Since      time.Time `json:"since"`
	File       string    `json:"file"`
	// Settings are all values, with their origins. Those of secrets are hidden.
	Settings []anchor.Setting `json:"settings"`
	Warnings []string         `json:"warnings"`
}

func (c *call) config() (any, error) {
	st := c.s.app.Status()
	return configDoc{st.Number, st.Since, st.File, c.s.app.Settings(), c.s.warnings.get()}, nil
}

// pluginDoc is a plugin.
type pluginDoc struct {
	Name    string `json:"name"`
	Module  string `json:"module,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Ready   bool   `json:"ready"`
	Error   string `json:"error,omitempty"`
	// Kept says why the plugin has the module from before the last reload.
	Kept   string  `json:"kept,omitempty"`
	LoadMS float64 `json:"load_ms"`
	// The rest is what it has done, and what it uses.
	Calls        int64  `json:"calls"`
	Failed       int64  `json:"failed"`
	Fuel         int64  `json:"fuel"`
	InUse        int    `json:"instances_in_use"`
	Idle         int    `json:"instances_idle"`
	Waiting      int    `json:"waiting"`
	Memory       int64  `json:"memory_bytes"`
	CircuitState string `json:"circuit"`
}

// pluginsDoc is a list of plugins.
type pluginsDoc struct {
	Generation int64       `json:"generation"`
	LoadMS     float64     `json:"load_ms"`
	Plugins    []pluginDoc `json:"plugins"`
}

func (c *call) plugins() (any, error) {
	list, took := c.s.app.Plugins()
	out := pluginsDoc{c.s.app.Status().Number, float64(took.Microseconds()) / 1000, []pluginDoc{}}
	for i := range list {
		out.Plugins = append(out.Plugins, describe(&list[i]))
	}
	return out, nil
}

// failures lists the failures of a plugin, or of all, that the key may see.
func (c *call) failures() (any, error) {
	p := c.info.Principal
	return c.s.o.Failures.Of(c.ctx, failures.Viewer{Tenant: c.s.tenant(p), All: p.Has(ScopeAdmin), Content: p.Has(ScopeContent)}, c.r.PathValue("name")), nil
}

// describe describes a plugin.
func describe(p *anchor.Plugin) pluginDoc {
	doc := pluginDoc{Name: p.Name, Ready: p.Err == nil, LoadMS: float64(p.LoadTime.Microseconds()) / 1000}
	if p.Err != nil {
		doc.Error = failure.Of(p.Err).Error.Message
	}
	if p.Kept != nil {
		doc.Kept = failure.Of(p.Kept).Error.Message
	}
	if p.Spec != nil {
		doc.Module, doc.Digest = p.Spec.Name, p.Spec.Digest
		if p.Spec.Manifest != nil {
			doc.Version = p.Spec.Manifest.Version
		}
	}
	st := &p.Stats
	for _, n := range st.Failed {
		doc.Failed += n
	}
	doc.Calls, doc.Fuel, doc.Memory = st.OK+doc.Failed, st.Fuel, st.Memory
	doc.InUse, doc.Idle, doc.Waiting, doc.CircuitState = st.InUse, st.Idle, st.Waiting, string(st.Circuit)
	return doc
}

// troubled lists the plugins that cannot be called, and those that are as they were before.
func (s *Server) troubled() (notReady, kept []pluginDoc) {
	notReady, kept = []pluginDoc{}, []pluginDoc{}
	list, _ := s.app.Plugins()
	for i := range list {
		switch p := &list[i]; {
		case p.Err != nil:
			notReady = append(notReady, describe(p))
		case p.Kept != nil:
			kept = append(kept, describe(p))
		}
	}
	return notReady, kept
}

// shadowsDoc are the second versions of steps.
type shadowsDoc struct {
	Shadows []shadows.Comparison `json:"shadows"`
}

func (c *call) shadows() (any, error) {
	return shadowsDoc{append([]shadows.Comparison{}, c.s.app.Shadows()...)}, nil
}

// rollout says what the hosts follow.
func (c *call) rollout() (any, error) {
	if c.s.o.Rollout == nil {
		return nil, &Refusal{Status: http.StatusNotFound, Reason: "no_rollout", Message: "this host follows no rollout", Remedy: "set server.follow in anchor.yaml"}
	}
	return c.s.o.Rollout(c.ctx)
}

// reloaded is the answer of a reload.
type reloaded struct {
	Generation int64       `json:"generation"`
	NotReady   []pluginDoc `json:"plugins_not_ready"`
	Kept       []pluginDoc `json:"plugins_kept"`
	Warnings   []string    `json:"warnings"`
}

// reload loads the configuration again. An error says why everything is as before.
func (c *call) reload() (any, error) {
	if err := c.s.Reload(c.ctx, "request "+c.info.ID); err != nil {
		status, doc := c.failure(err)
		if status == http.StatusInternalServerError && !errors.Is(err, errPanic) {
			status = http.StatusUnprocessableEntity // the configuration or its plugins are at fault
		}
		doc.Error.Remedy = fmt.Sprintf("generation %d serves on: fix the configuration and reload again", c.s.app.Status().Number)
		return &reply{status, doc}, nil
	}
	notReady, kept := c.s.troubled()
	return reloaded{c.s.app.Status().Number, notReady, kept, c.s.warnings.get()}, nil
}

// serverSettings are the settings that only a restart changes, as lines.
func (s *Server) serverSettings() map[string]string {
	out := map[string]string{}
	for _, set := range s.app.Settings() {
		if strings.HasPrefix(set.Path, "server.") {
			out[set.Path] = set.Text
		}
	}
	return out
}
