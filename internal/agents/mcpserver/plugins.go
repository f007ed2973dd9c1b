package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxPlugins bounds the tools of plugins: each takes a part of every prompt.
	maxPlugins = 32
	// maxTexts bounds the texts of a call, and maxText one of them, in bytes.
	maxTexts, maxText = 200, 64 << 10
)

// PluginTool is a step that calls a plugin, as a tool. The manifest of the plugin says that it may be one.
type PluginTool struct {
	// Step is the name of the step.
	Step string
	// Description is what the manifest says of it.
	Description string
	// Texts says that the operation works on texts, which the agent gives. Otherwise it finds some.
	Texts bool
}

type foundIn struct {
	Query     string `json:"query" jsonschema:"The question or the task."`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"The size of the answer in tokens."`
}

type textsIn struct {
	foundIn
	Texts []string `json:"texts" jsonschema:"The texts to work on, the most important first."`
}

var unnamed = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf makes the name of a tool from that of a step.
func nameOf(step string) string {
	name, _ := cut(strings.Trim(unnamed.ReplaceAllString(strings.ToLower(step), "_"), "_"), 50)
	return "step_" + cmp.Or(name, "x")
}

// follow gives the server the tools of plugins that the configuration has now, behind those of this package. A
// list with an error changes nothing, and is told once.
func (s *Server) follow() error {
	if s.o.Plugins == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.o.Plugins()
	if slices.Equal(list, s.seen) {
		return nil
	}
	s.seen = list
	if n := len(list); n > maxPlugins {
		return fmt.Errorf("mcp: %d steps are tools (want %d at most; give the others plugins without a tool)", n, maxPlugins)
	}
	names := make(map[string]bool)
	for _, p := range list {
		name := nameOf(p.Step)
		if names[name] {
			return fmt.Errorf("mcp: two steps would be the tool %s (rename the step %q)", name, p.Step)
		}
		names[name] = true
	}
	for _, p := range s.plugins {
		if name := nameOf(p.Step); !names[name] {
			s.mcp.RemoveTools(name)
		}
	}
	for _, p := range list {
		s.addPlugin(p)
	}
	s.plugins = list
	return nil
}

func (s *Server) addPlugin(p PluginTool) {
	t := &mcp.Tool{Name: nameOf(p.Step), Title: "Step " + p.Step, Description: p.Description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}}
	bounds := map[string]bound{"query": {length: maxQuery}, "max_tokens": {100, maxContext, 0, defaultContext}}
	if p.Texts {
		add(s, t, bounds, func(ctx context.Context, who caller, in textsIn) (*buildOut, error) { return s.step(ctx, who, p, in) })
		return
	}
	add(s, t, bounds, func(ctx context.Context, who caller, in foundIn) (*buildOut, error) {
		return s.step(ctx, who, p, textsIn{foundIn: in})
	})
}

// step runs one step of the configuration, as a build that has no other.
func (s *Server) step(ctx context.Context, who caller, p PluginTool, in textsIn) (*buildOut, error) {
	if len(in.Texts) > maxTexts || slices.ContainsFunc(in.Texts, func(text string) bool { return len(text) > maxText }) {
		return nil, fmt.Errorf("step %q: want at most %d texts of %d bytes", p.Step, maxTexts, maxText)
	}
	type given struct {
		Content string  `json:"content"`
		Source  string  `json:"source"`
		Score   float64 `json:"score"`
	}
	items := make([]given, len(in.Texts))
	for i, text := range in.Texts {
		items[i] = given{text, "retrieval", 1 / float64(i+1)}
	}
	request := map[string]any{
		"query": in.Query, "items": items,
		"window": map[string]any{"max_tokens": cmp.Or(in.MaxTokens, defaultContext), "system_prompts": []any{}},
	}
	values := url.Values{"omit": {"formatted_output"}, "only": {p.Step}}
	set(values, "user", s.o.User)
	out, err := s.built(ctx, who, values, request)
	if err == nil && len(out.Items) == 0 && len(out.Lacks) > 0 {
		return nil, errors.New(out.Lacks[0])
	}
	return out, err
}
