package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lists are the resources that list others, with the requests that they stand for.
var lists = map[string]string{
	"builds": "/v1/builds?limit=50", "collections": "/v1/collections", "facts": "/v1/memory/facts?limit=100", "runs": "/v1/runs",
}

// maxResource bounds a resource, in bytes.
const maxResource = 1 << 20

func (s *Server) addResources() {
	for _, r := range []mcp.Resource{
		{Name: "builds", Title: "Newest builds", Description: "The newest records of builds, if the configuration keeps them."},
		{Name: "collections", Title: "Collections", Description: "The collections of documents."},
		{Name: "facts", Title: "Facts", Description: "The first 100 facts."},
		{Name: "runs", Title: "Agent runs", Description: "The runs that have frames."},
	} {
		r.URI, r.MIMEType = scheme+r.Name, "application/json"
		s.mcp.AddResource(&r, s.readResource)
	}
	for _, t := range []mcp.ResourceTemplate{
		{Name: "build", Title: "A build", URITemplate: scheme + "build/{id}", Description: "The record of a build.", MIMEType: "application/json"},
		{Name: "collection", Title: "A collection", URITemplate: scheme + "collection/{name}", Description: "The settings and the size of a collection.", MIMEType: "application/json"},
		{Name: "fact", Title: "A fact", URITemplate: scheme + "fact/{id}", Description: "The text of a fact.", MIMEType: "text/plain"},
		{Name: "frame", Title: "A frame", URITemplate: scheme + "frame/{run}/{id}", Description: "What an agent did or found.", MIMEType: "application/json"},
	} {
		s.mcp.AddResourceTemplate(&t, s.readResource)
	}
}

func (s *Server) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := r.Params.URI
	found, err := s.read(ctx, callerOf(r.Extra), uri)
	switch {
	case notFound(err), errors.Is(err, errHandle):
		return nil, mcp.ResourceNotFoundError(uri)
	case err != nil:
		return nil, err
	case len(found.text) > maxResource:
		return nil, fmt.Errorf("resource %.100q: it has %d bytes, more than %d (use the tool recall, which gives it in parts)", uri, len(found.text), maxResource)
	}
	kind := cmp.Or(found.kind, "text/plain")
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: kind, Text: found.text}}}, nil
}

func (s *Server) addPrompt() {
	s.mcp.AddPrompt(&mcp.Prompt{
		Name: "resume", Title: "Resume a run", Description: "Go on with an agent run: what it did and found so far.",
		Arguments: []*mcp.PromptArgument{{Name: "run", Description: "The name of the run.", Required: true}},
	}, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		run := r.Params.Arguments["run"]
		if strings.TrimSpace(run) == "" {
			return nil, errors.New("prompt resume: argument run: is empty (name a run; the resource anchor://runs lists them)")
		}
		text, err := s.frames(ctx, callerOf(r.Extra), run)
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{
			Description: "What the run did and found so far",
			Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
		}, nil
	})
}
