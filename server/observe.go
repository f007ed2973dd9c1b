package server

import (
	"context"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
)

// RequestInfo describes a request.
type RequestInfo struct {
	// ID identifies the request in the log. The client gets it as x-request-id.
	ID string
	// Method is the HTTP method, Route the pattern of the path, and Action the name of the route.
	// Route and Action are empty if there is no such route.
	Method, Route, Action string
	// Path is the path of the URL. It can name facts, conversations and users: log a digest of it.
	Path string
	// Admin says that the request came to the admin listener.
	Admin bool
	// Remote is the address of the client.
	Remote string
	// Traceparent is the trace context of W3C that the client has sent. It may be empty.
	Traceparent string
	// Principal is who sent the request. It is empty until the request is authenticated.
	Principal Principal
	// Generation is the number of the version of the configuration that the request uses, and 0 as
	// long as it uses none. Candidate says that this version was a candidate.
	Generation int64
	Candidate  bool
}

// BuildInfo describes a build.
type BuildInfo struct {
	// Request is the request that asks for the build.
	Request *RequestInfo
	// ID names the record of the build. It is empty if none is kept.
	ID string
	// Document is the request document. It must not be changed, or kept after the build.
	Document []byte
}

// Observer hears of requests and builds, as metrics, traces and records need it. A function that is
// nil is not called. Functions are called by many goroutines at the same time, and must return soon.
type Observer struct {
	// OnRequest is called when a request comes. The request runs with the returned context. end, if
	// it is not nil, is called when it is answered, with what is known of it by then. err is nil if
	// it succeeded.
	OnRequest func(ctx context.Context, r *RequestInfo) (_ context.Context, end func(r *RequestInfo, u Usage, err error))
	// OnBuild is called before a build. The build runs with the returned context, and its events go
	// to the callbacks. end, if it is not nil, is called after the build with its result or its
	// error.
	OnBuild func(ctx context.Context, b *BuildInfo) (_ context.Context, callbacks []pipeline.Callback, end func(*pipeline.Result, error))
}

// claims are what a request has claimed for its user.
type claims struct {
	mu   sync.Mutex
	list []Claim
}

func (c *claims) add(what agentstore.Ownable, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, Claim{string(what), id})
}

func (c *claims) all() []Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// observe tells the observers of the request.
func (c *call) observe() (end func(*RequestInfo, Usage, error)) {
	var ends []func(*RequestInfo, Usage, error)
	for _, o := range c.s.o.Observers {
		if o.OnRequest == nil {
			continue
		}
		var end func(*RequestInfo, Usage, error)
		if c.ctx, end = o.OnRequest(c.ctx, &c.info); end != nil {
			ends = append(ends, end)
		}
	}
	return func(r *RequestInfo, u Usage, err error) {
		for _, end := range ends {
			end(r, u, err)
		}
	}
}

// observeBuild tells the observers of a build.
func (c *call) observeBuild(ctx context.Context, id string, document []byte) (_ context.Context, callbacks []pipeline.Callback, end func(*pipeline.Result, error)) {
	var ends []func(*pipeline.Result, error)
	for _, o := range c.s.o.Observers {
		if o.OnBuild == nil {
			continue
		}
		next, more, end := o.OnBuild(ctx, &BuildInfo{Request: &c.info, ID: id, Document: document})
		ctx, callbacks = next, append(callbacks, more...)
		if end != nil {
			ends = append(ends, end)
		}
	}
	return ctx, callbacks, func(r *pipeline.Result, err error) {
		for _, end := range ends {
			end(r, err)
		}
	}
}
