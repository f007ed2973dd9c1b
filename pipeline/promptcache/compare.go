// Package promptcache compares the prompts of two builds. It says how much of the previous
// prompt a model's prompt cache can reuse, and which item and which stage of the build ended
// the common beginning.
package promptcache

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// Report says how much of the previous prompt a prompt cache can reuse. Token counts are
// sums over blocks: the tokens that an API puts between blocks are not counted.
type Report struct {
	// CommonTokens is the length of the longest common beginning of both prompts.
	// CommonBlocks is the number of blocks that are wholly in it: caches keep whole blocks.
	CommonTokens int `json:"common_prefix_tokens"`
	CommonBlocks int `json:"common_prefix_blocks"`
	// PreviousTokens and Tokens are the lengths of the two prompts.
	PreviousTokens int `json:"previous_tokens"`
	Tokens         int `json:"tokens"`
	// BrokenBy says what ended the common beginning. It is nil when one prompt begins
	// with all blocks of the other.
	BrokenBy *Break `json:"broken_by,omitempty"`
}

// Break is the first difference of two prompts.
type Break struct {
	// Block is the number, counted from 1, of the block that contains the difference. Role
	// is the role of that block, empty for a plain text.
	Block int       `json:"block"`
	Role  core.Role `json:"role,omitempty"`
	// How is "added", "removed", "moved" or "rewritten" for an item, and "format" when
	// the difference is not within an item.
	How    string      `json:"how"`
	Item   string      `json:"item,omitempty"`
	Source core.Source `json:"source,omitempty"`
	// Origin is the last stage that made the change, according to the trace.
	*explain.Origin
	// Text is the block from the first difference on, at most [explain.ExcerptLength] characters.
	Text explain.Change[string] `json:"text"`
}

// Snapshot is a prompt with the items in it. It is immutable.
type Snapshot struct {
	blocks []Block
	items  []promptItem
	counts []int // tokens of blocks, nil until counted
}

// NewSnapshot reads the output of a formatter, or a document of the same shape. items are
// those of the window. Without them a report cannot name items.
func NewSnapshot(output any, items []core.Item) (*Snapshot, error) {
	blocks, err := Blocks(output)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{blocks: blocks, items: make([]promptItem, len(items))}
	for i := range items {
		s.items[i] = promptItem{items[i].ID, items[i].Content, items[i].Source}
	}
	return s, nil
}

// counted returns a snapshot with the token counts of its blocks.
func (s *Snapshot) counted(ctx context.Context, t core.Tokenizer) (*Snapshot, error) {
	if s.counts != nil {
		return s, nil
	}
	texts := make([]string, len(s.blocks))
	for i := range s.blocks {
		texts[i] = s.blocks[i].Text
	}
	counts, err := core.CountTexts(ctx, t, texts)
	if err != nil {
		return nil, err
	}
	out := *s
	out.counts = append([]int{}, counts...)
	return &out, nil
}

// bytes returns the approximate size of a snapshot in memory.
func (s *Snapshot) bytes() int64 {
	const each = 64
	n := int64(each * (len(s.blocks) + len(s.items)))
	for i := range s.blocks {
		n += int64(len(s.blocks[i].Text))
	}
	for i := range s.items {
		n += int64(len(s.items[i].text) + len(s.items[i].id))
	}
	return n
}

// Compare compares the prompts of two builds. trace is that of the current build, or nil.
// Without it the report does not name the stage that ended the common beginning.
//
// Where the common beginning ends inside a block, Compare counts tokens up to the last white
// space in it, because the text after that may have other tokens in each of the prompts.
func Compare(ctx context.Context, t core.Tokenizer, previous, current *Snapshot, trace *explain.Trace) (*Report, error) {
	report, _, err := compare(ctx, t, previous, current, trace)
	return report, err
}

func compare(ctx context.Context, t core.Tokenizer, previous, current *Snapshot, trace *explain.Trace) (r *Report, b *Snapshot, err error) {
	a, err := previous.counted(ctx, t)
	if err == nil {
		b, err = current.counted(ctx, t)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("compare prompts: %w", err)
	}
	r = &Report{PreviousTokens: sum(a.counts), Tokens: sum(b.counts)}
	n := 0
	for n < len(a.blocks) && n < len(b.blocks) && a.blocks[n] == b.blocks[n] {
		r.CommonTokens = values.Add(r.CommonTokens, a.counts[n])
		n++
	}
	r.CommonBlocks = n
	if n == len(a.blocks) || n == len(b.blocks) {
		return r, b, nil
	}
	old, now, at := &a.blocks[n], &b.blocks[n], 0
	if old.Role == now.Role && old.Begins == now.Begins {
		at = commonPrefix(old.Text, now.Text)
		counts, err := core.CountTexts(ctx, t, []string{old.Text[:wholeWords(old.Text, now.Text, at)]})
		if err != nil {
			return nil, nil, fmt.Errorf("compare prompts: %w", err)
		}
		// The beginning of a text may have more tokens on its own than the whole text.
		r.CommonTokens = values.Add(r.CommonTokens, min(counts[0], a.counts[n], b.counts[n]))
	}
	r.BrokenBy = &Break{
		Block: n + 1, Role: now.Role, How: "format",
		Text: explain.Change[string]{From: explain.Excerpt(old.Text[at:]), To: explain.Excerpt(now.Text[at:])},
	}
	r.BrokenBy.blame(a.items, b.items, itemAt(a.items, old.Text, at), itemAt(b.items, now.Text, at), trace)
	return r, b, nil
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total = values.Add(total, n)
	}
	return total
}

// blame names the item at the first difference. old is the item in the previous prompt, now
// the item in the current one.
func (p *Break) blame(before, after []promptItem, old, now *promptItem, trace *explain.Trace) {
	culprit := now
	switch {
	case old == nil && now == nil:
		return
	case now != nil && find(before, now) == nil:
		p.How = "added"
	case old != nil && find(after, old) == nil:
		p.How, culprit = "removed", old
	case now != nil && find(before, now).text != now.text:
		p.How = "rewritten"
	case now != nil:
		p.How = "moved"
	default:
		p.How, culprit = "moved", old
	}
	p.Item, p.Source = culprit.id, culprit.source
	p.Origin = blamed(p.How, culprit, trace)
}

// find returns the item with the same id and source. Among several it prefers one with the
// same text.
func find(items []promptItem, it *promptItem) *promptItem {
	var found *promptItem
	for i := range items {
		if items[i].id != it.id || items[i].source != it.source {
			continue
		}
		if found == nil || items[i].text == it.text {
			found = &items[i]
		}
	}
	return found
}

// blamed returns the last stage that made the given change to an item.
func blamed(how string, it *promptItem, trace *explain.Trace) *explain.Origin {
	var found *explain.ItemTrace
	all := trace.All()
	for i := range all {
		if all[i].ID == it.id && (found == nil || all[i].Source == it.source) {
			found = &all[i]
		}
	}
	if found == nil {
		return nil
	}
	cause := map[string]explain.Actions{
		"moved": explain.Moved | explain.Rescored | explain.Prioritised | explain.Recounted | explain.Redated, "rewritten": explain.Rewritten | explain.Cut,
		"removed": explain.Dropped | explain.LeftOut | explain.Resourced,
	}[how]
	for i := len(found.Events) - 1; i >= 0; i-- {
		if found.Events[i].Actions&cause != 0 {
			return &found.Events[i].Origin
		}
	}
	return &found.Events[0].Origin
}
