package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// The defaults of [TemplateEnricher].
const (
	DefaultEnrichItems    = 5
	DefaultEnrichTemplate = "{query}\n\nConversation context: {context}"
)

// TemplateEnricher is a [QueryEnricher] that joins the query and the newest memories by a
// template. The zero value uses the defaults. It is safe for concurrent use.
type TemplateEnricher struct {
	// MaxItems is the number of newest items to use. 0 means DefaultEnrichItems; a
	// negative number is an error.
	MaxItems int
	// Template contains {query} and {context}; {{ and }} stand for braces. Empty means
	// DefaultEnrichTemplate.
	Template string
}

// Validate checks MaxItems and Template.
func (e TemplateEnricher) Validate() error {
	if e.MaxItems < 0 {
		return fmt.Errorf("enricher: max_items %d: %w (want 1 or more)", e.MaxItems, ErrInvalid)
	}
	_, err := expand(e.Template, "", "")
	return err
}

// Enrich joins the contents of the newest items with "; ", the oldest of them first, and
// fills in the template. When the joined text is blank, it returns the query unchanged.
func (e TemplateEnricher) Enrich(_ context.Context, query string, items []Item) (string, error) {
	if err := e.Validate(); err != nil {
		return "", err
	}
	limit, template := e.MaxItems, e.Template
	if limit == 0 {
		limit = DefaultEnrichItems
	}
	if template == "" {
		template = DefaultEnrichTemplate
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Item) int { return core.CompareAge(&a, &b) })
	items = items[max(0, len(items)-limit):]
	contents := make([]string, len(items))
	for i := range items {
		contents[i] = items[i].Content
	}
	memories := strings.Join(contents, "; ")
	if strings.TrimSpace(memories) == "" {
		return query, nil
	}
	return expand(template, query, memories)
}

// expand fills in a template in one pass, so that braces within the texts have no effect.
func expand(template, query, memories string) (string, error) {
	var out strings.Builder
	for rest := template; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:at])
		rest = rest[at:]
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			out.WriteByte(rest[0])
			rest = rest[2:]
		case strings.HasPrefix(rest, "{query}"):
			out.WriteString(query)
			rest = rest[len("{query}"):]
		case strings.HasPrefix(rest, "{context}"):
			out.WriteString(memories)
			rest = rest[len("{context}"):]
		default:
			return "", fmt.Errorf("enricher: template at %.20q: %w (want {query}, {context}, {{ or }})", rest, ErrInvalid)
		}
	}
	return out.String(), nil
}
