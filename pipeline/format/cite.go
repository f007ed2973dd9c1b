package format

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// SearchResultBlock is a content block of type "search_result", which a model of Anthropic cites.
type SearchResultBlock struct {
	Type string `json:"type"`
	// Source is where the text is from, such as a path or an address. Title says where in it.
	Source       string        `json:"source"`
	Title        string        `json:"title"`
	Content      []TextBlock   `json:"content"`
	Citations    Citations     `json:"citations"`
	CacheControl *CacheControl `json:"cache_control,omitempty"`
}

// Citations switches citations on. An API wants them on for all blocks of a request, or for none.
type Citations struct {
	Enabled bool `json:"enabled"`
}

// maxSource bounds the name of a source, in characters. It comes from documents of others.
const maxSource = 300

// SourceOf returns where the text of an item is from: the path, the address or the id of its
// document, and the place in it, such as "Limits > Memory, page 3". Both are one line. They are
// empty if the metadata of the item does not say it, or if the item is no part of the context.
func SourceOf(it *core.Item) (source, place string) {
	if !it.Source.IsContext() {
		return "", ""
	}
	for _, key := range []string{"path", "url", "doc_id"} {
		if source = oneLine(it.Metadata[key]); source != "" {
			break
		}
	}
	if source == "" {
		return "", ""
	}
	var places []string
	title, heading := oneLine(it.Metadata["title"]), oneLine(it.Metadata["heading"])
	heading = cmp.Or(heading, title)
	if heading != "" {
		places = append(places, heading)
	}
	if page := pages(it); page != "" {
		places = append(places, page)
	}
	return source, strings.Join(places, ", ")
}

// pages names the pages of an item, such as "page 3" or "pages 3-4", "" for none.
func pages(it *core.Item) string {
	page, end := oneLine(it.Metadata["page"]), oneLine(it.Metadata["page_end"])
	switch {
	case page == "":
		return ""
	case end == "" || end == page:
		return "page " + page
	}
	return "pages " + page + "-" + end
}

// oneLine returns a value of the metadata as one line of bounded length.
func oneLine(v any) string {
	if v == nil {
		return ""
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(fmt.Sprint(v), "")), " ")
	if utf8.RuneCountInString(text) > maxSource {
		text = string([]rune(text)[:maxSource-1]) + "…"
	}
	return text
}

// Cite returns the text of an item with a line before it that says where it is from: file, page
// and heading, unless the text begins with that. It returns the text as it is if it is not known.
func Cite(it *core.Item) string {
	source, place := SourceOf(it)
	if source == "" {
		return it.Content
	}
	page := pages(it)
	if heading := strings.TrimSuffix(strings.TrimSuffix(place, page), ", "); heading != "" && strings.HasPrefix(it.Content, heading+"\n") {
		place = page
	}
	if place != "" {
		source += ", " + place
	}
	return "Source: " + source + "\n" + it.Content
}

// Beside returns what the formatter writes of an item besides its text: source and title of a search
// result. A pipeline counts it with the text. It is empty for most items.
func (f Anthropic) Beside(it *core.Item) string {
	if !f.Cite { // asked of every item
		return ""
	}
	source, title := SourceOf(it)
	if source == "" {
		return ""
	}
	return source + "\n" + cmp.Or(title, source)
}

// citedBlocks returns the items of the context as blocks: those whose source is known as search
// results, the others as texts. It returns nil if all are blank. cached marks the last one.
func (c *contextItems) citedBlocks(cached bool) (blocks []any) {
	for _, it := range c.list() {
		if strings.TrimSpace(it.Content) == "" {
			continue // the API refuses blank texts
		}
		text := TextBlock{Type: "text", Text: it.Content}
		if source, place := SourceOf(it); source != "" {
			blocks = append(blocks, SearchResultBlock{Type: "search_result", Source: source, Title: cmp.Or(place, source), Content: []TextBlock{text}, Citations: Citations{true}})
			continue
		}
		blocks = append(blocks, text)
	}
	if last := len(blocks) - 1; last >= 0 && cached {
		switch b := blocks[last].(type) {
		case SearchResultBlock:
			b.CacheControl = ephemeral()
			blocks[last] = b
		case TextBlock:
			b.CacheControl = ephemeral()
			blocks[last] = b
		}
	}
	return blocks
}
