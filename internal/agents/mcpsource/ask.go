package mcpsource

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline"
)

// ask calls the tool, or reads the resources.
func (s *source) ask(ctx context.Context, p *peer, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	out := &maker{s: s.s, left: s.s.MaxBytes, most: topK}
	if s.s.Tool == "" {
		err := s.readAll(ctx, p, q, out)
		return out.items, err
	}
	arguments := map[string]any{"query": "{query}"}
	if s.s.Arguments != nil {
		arguments = s.s.Arguments
	}
	r, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: s.s.Tool, Arguments: insert(arguments, q.Text, topK)})
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", s.s.Tool, err)
	}
	if r.IsError {
		text, _ := textOf(r.Content)
		return nil, answerError{fmt.Errorf("tool %q: it says: %.300s", s.s.Tool, plain.Line(text))}
	}
	if err := out.result(r); err != nil {
		return nil, answerError{fmt.Errorf("tool %q: %w", s.s.Tool, err)}
	}
	return out.items, nil
}

// readAll reads the resources.
func (s *source) readAll(ctx context.Context, p *peer, q *pipeline.Query, out *maker) error {
	for _, uri := range s.s.Resources {
		uri = strings.ReplaceAll(uri, "{query}", escape(q.Text))
		r, err := p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return fmt.Errorf("resource %.200q: %w", uri, err)
		}
		for _, c := range r.Contents {
			if c != nil && c.Text != "" {
				out.add(uri, c.Text, 0, false)
			}
		}
	}
	return nil
}

// escape writes a text for a URI.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// insert writes the query into arguments. A text that is {top_k} alone becomes a number.
func insert(value any, query string, topK int) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, member := range v {
			out[k] = insert(member, query, topK)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = insert(v[i], query, topK)
		}
		return out
	case string:
		if v == "{top_k}" {
			return topK
		}
		before, after, found := strings.Cut(v, "{query}") // once: the query may have the word, too
		if found {
			return before + query + after
		}
	}
	return value
}

// maker makes items within the bounds.
type maker struct {
	s     *Settings
	left  int
	most  int
	items []pipeline.Item
}

// add adds an item, if there is room for it.
func (m *maker) add(id, text string, score float64, scored bool) {
	if text = strings.ToValidUTF8(text, "\uFFFD"); text == "" || len(m.items) >= m.most || len(text) > m.left {
		return
	}
	m.left -= len(text)
	if !scored || math.IsNaN(score) || math.IsInf(score, 0) {
		score = 1 / float64(1+len(m.items))
	}
	item := pipeline.Item{Content: text, Score: score, Source: pipeline.SourceRetrieval, Metadata: map[string]any{"trust": "external", "server": m.s.Server, "retrieval_method": Name}}
	if m.s.Tool != "" {
		item.Metadata["tool"] = m.s.Tool
	}
	if id != "" && len(id) <= 512 {
		item.ID = m.s.Server + ":" + id
	}
	m.items = append(m.items, item)
}

// result makes items of the result of a tool.
func (m *maker) result(r *mcp.CallToolResult) error {
	if m.s.Items == "" {
		for _, c := range r.Content {
			switch c := c.(type) {
			case *mcp.TextContent:
				m.add("", c.Text, 0, false)
			case *mcp.EmbeddedResource:
				if c.Resource != nil {
					m.add(c.Resource.URI, c.Resource.Text, 0, false)
				}
			}
		}
		return nil
	}
	structured := r.StructuredContent
	if structured == nil { // of a server that writes its result as text
		text, _ := textOf(r.Content)
		if json.Unmarshal([]byte(text), &structured) != nil {
			return fmt.Errorf("its result has no structure, so there is no %s (leave items out)", m.s.Items)
		}
	}
	list, ok := member(structured, m.s.Items).([]any)
	if !ok {
		return fmt.Errorf("its result has no list %s", m.s.Items)
	}
	for _, e := range list {
		if text, ok := e.(string); ok {
			m.add("", text, 0, false)
			continue
		}
		text, _ := member(e, m.s.Text).(string)
		score, scored := member(e, m.s.Score).(float64)
		m.add(name(member(e, m.s.ID)), text, score, scored)
	}
	return nil
}

// name returns the name of an element, which may be a number.
func name(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// member returns a member of a value by a path such as a.b. It is nil if there is none.
func member(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// textOf returns the first text of a result.
func textOf(list []mcp.Content) (string, bool) {
	for _, c := range list {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text, true
		}
	}
	return "", false
}
