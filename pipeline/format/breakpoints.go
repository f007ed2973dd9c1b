package format

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// BreakpointsAuto lets [Anthropic] choose the places of cache marks.
const BreakpointsAuto = "auto"

// The documented numbers of the API's prompt caching.
const (
	// MaxCacheBreakpoints is the largest number of marks in a request.
	MaxCacheBreakpoints = 4
	// CacheLookBack is how many blocks before a mark, with its own block, the API searches
	// for a prefix that is in the cache.
	CacheLookBack = 20
	// LargestCacheMinimum is the largest [CacheMinimum] of all known models.
	LargestCacheMinimum = 4096
)

// cacheMinimums are the least tokens of a cached prefix, by the beginning of the model's
// name. The longest beginning that matches decides.
var cacheMinimums = []struct {
	family string
	tokens int
}{
	{"claude-opus-5", 512}, {"claude-fable-5", 512}, {"claude-mythos-5", 512},
	{"claude-opus-4-5", 4096}, {"claude-opus-4-6", 4096}, {"claude-opus-4-7", 4096}, {"claude-haiku-4-5", 4096}, {"claude-mythos-preview", 4096},
	{"claude-3-5-haiku", 2048}, {"claude-haiku-3-5", 2048}, {"claude-3-haiku", 2048}, {"claude-haiku-3", 2048},
	{"claude-opus-4-8", 1024}, {"claude-opus-4", 1024}, {"claude-sonnet-", 1024},
	{"claude-3-opus", 1024}, {"claude-3-5-sonnet", 1024}, {"claude-3-7-sonnet", 1024},
}

// CacheMinimum returns the least number of tokens of a prefix that a model caches. The API
// ignores marks on shorter prefixes without an error. For unknown models it returns
// [LargestCacheMinimum].
func CacheMinimum(model string) int {
	name := strings.ReplaceAll(strings.ToLower(model), ".", "-")
	if at := strings.Index(name, "claude-"); at >= 0 {
		name = name[at:] // drop the name of a provider
	}
	longest, tokens := 0, LargestCacheMinimum
	for _, m := range cacheMinimums {
		rest, ok := strings.CutPrefix(name, m.family)
		if strings.HasSuffix(m.family, "-") {
			rest = ""
		}
		if ok && len(m.family) > longest && (rest == "" || rest[0] < '0' || rest[0] > '9') {
			longest, tokens = len(m.family), m.tokens
		}
	}
	return tokens
}

// Validate checks Breakpoints and the settings of it.
func (f Anthropic) Validate() error {
	switch {
	case f.Breakpoints != "" && f.Breakpoints != BreakpointsAuto:
		return fmt.Errorf("anthropic: breakpoints %q: %w (want %s)", f.Breakpoints, core.ErrInvalid, BreakpointsAuto)
	case f.PrefixTokens < 0:
		return fmt.Errorf("anthropic: prefix_tokens %d: %w (want 0 or more)", f.PrefixTokens, core.ErrInvalid)
	case f.MaxBreakpoints < 0 || f.MaxBreakpoints > MaxCacheBreakpoints:
		return fmt.Errorf("anthropic: max_breakpoints %d: %w (want 0 to %d)", f.MaxBreakpoints, core.ErrInvalid, MaxCacheBreakpoints)
	}
	return nil
}

// placeBreakpoints removes all marks and sets those that the API will honour.
func (f Anthropic) placeBreakpoints(out *AnthropicOutput, s *sections) {
	if !f.Caching || f.Breakpoints != BreakpointsAuto {
		return
	}
	blocks := cacheBlocks(out)
	countBlocks(blocks, s)
	limit := cmp.Or(f.MaxBreakpoints, MaxCacheBreakpoints)
	for _, i := range breakpoints(blocks, len(out.System), f.contextBlocks(s), CacheMinimum(cmp.Or(f.Model, f.Params.Model))-f.PrefixTokens, limit) {
		blocks[i].mark()
	}
}

// contextBlocks returns how many blocks the context is.
func (f Anthropic) contextBlocks(s *sections) int {
	if f.Cite {
		return len(s.context.citedBlocks(false))
	}
	return min(s.context.n, 1)
}

// cacheBlock is a content block of an output.
type cacheBlock struct {
	text     string
	tokens   int  // of all blocks up to and with this one
	markable bool // the API refuses marks on blank text
	mark     func()
}

// cacheBlocks lists the blocks in the order of the prefix, without their marks.
func cacheBlocks(out *AnthropicOutput) []cacheBlock {
	blocks := make([]cacheBlock, 0, len(out.System)+len(out.Messages)+1)
	text := func(b *TextBlock) {
		b.CacheControl = nil
		blocks = append(blocks, cacheBlock{text: b.Text, markable: strings.TrimSpace(b.Text) != "", mark: func() { b.CacheControl = ephemeral() }})
	}
	for i := range out.System {
		text(&out.System[i])
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		switch content := m.Content.(type) {
		case string:
			blocks = append(blocks, cacheBlock{text: content, markable: strings.TrimSpace(content) != "", mark: func() {
				m.Content = []TextBlock{{Type: "text", Text: content, CacheControl: ephemeral()}}
			}})
		case []TextBlock:
			for j := range content {
				text(&content[j])
			}
		case []any:
			for j := range content {
				blocks = append(blocks, anyBlock(content, j))
			}
		}
	}
	return blocks
}

// anyBlock describes block j of a message that uses tools.
func anyBlock(content []any, j int) cacheBlock {
	switch b := content[j].(type) {
	case TextBlock:
		b.CacheControl = nil
		content[j] = b
		return cacheBlock{text: b.Text, markable: strings.TrimSpace(b.Text) != "", mark: func() {
			b.CacheControl = ephemeral()
			content[j] = b
		}}
	case SearchResultBlock:
		b.CacheControl = nil
		content[j] = b
		return cacheBlock{text: b.Content[0].Text, markable: true, mark: func() {
			b.CacheControl = ephemeral()
			content[j] = b
		}}
	case ToolUseBlock:
		return cacheBlock{markable: true, mark: func() { content[j] = MarkedToolUse{b, ephemeral()} }}
	case ToolResultBlock:
		return cacheBlock{text: b.Content, markable: true, mark: func() { content[j] = MarkedToolResult{b, ephemeral()} }}
	}
	return cacheBlock{}
}

// MarkedToolUse is a [ToolUseBlock] with a cache mark.
type MarkedToolUse struct {
	ToolUseBlock
	CacheControl *CacheControl `json:"cache_control"`
}

// MarkedToolResult is a [ToolResultBlock] with a cache mark.
type MarkedToolResult struct {
	ToolResultBlock
	CacheControl *CacheControl `json:"cache_control"`
}

// betweenItems is the largest number of bytes between two items: separators, headings, prefixes.
const betweenItems = 64

// countBlocks adds up the tokens of the items in the blocks, which come in the same order.
// It does not count the text between items, so a prefix has at least as many tokens.
func countBlocks(blocks []cacheBlock, s *sections) {
	items := slices.Concat(s.system, s.context.list(), s.turns)
	sum := 0
	for i := range blocks {
		for rest := blocks[i].text; len(items) > 0; items = items[1:] {
			at := strings.Index(rest[:min(len(rest), len(items[0].Content)+betweenItems)], items[0].Content)
			if at < 0 {
				break
			}
			rest = rest[at+len(items[0].Content):]
			sum = values.Add(sum, items[0].TokenCount)
		}
		blocks[i].tokens = sum
	}
}

// breakpoints returns the blocks to mark, in ascending order. The ends of the system prompt
// and of the context are marked because they seldom change, and the last block because the
// next turn follows it. Further marks go backwards from the last block, one for each
// CacheLookBack blocks, so that the API also finds the marks of an earlier and much shorter
// request.
func breakpoints(blocks []cacheBlock, system, context, minimum, limit int) []int {
	var chosen []int
	mark := func(first, last int) {
		for i := last; i >= first && len(chosen) < limit; i-- {
			if b := &blocks[i]; b.markable && b.tokens >= minimum {
				if !slices.Contains(chosen, i) {
					chosen = append(chosen, i)
				}
				return
			}
		}
	}
	mark(0, system-1)
	fixed := system
	if context > 0 {
		mark(system, system+context-1)
		fixed += context
	}
	last := len(blocks) - 1
	mark(fixed, last)
	for at := last - CacheLookBack; at >= fixed; at -= CacheLookBack {
		mark(max(fixed, at-CacheLookBack+1), at)
	}
	slices.Sort(chosen)
	return chosen
}
