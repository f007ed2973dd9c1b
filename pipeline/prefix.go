package pipeline

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// PrefixReport says how much of the prompt before a prompt cache will find again. The
// tokens of blocks are counted one by one and added up, without what an API puts
// between them.
type PrefixReport struct {
	// CommonTokens are those of the longest common beginning of both prompts,
	// CommonBlocks the blocks that are wholly in it: caches keep whole blocks.
	CommonTokens int `json:"common_prefix_tokens"`
	CommonBlocks int `json:"common_prefix_blocks"`
	// PreviousTokens and Tokens are those of the prompts.
	PreviousTokens int `json:"previous_tokens"`
	Tokens         int `json:"tokens"`
	// BrokenBy says what ended the common beginning. It is nil when one prompt begins
	// with all blocks of the other.
	BrokenBy *PrefixBreak `json:"broken_by,omitempty"`
}

// PrefixBreak is the first difference of two prompts.
type PrefixBreak struct {
	// Block is the number of the block, from 1, in which the difference is; Role is its
	// role, empty for a text.
	Block int  `json:"block"`
	Role  Role `json:"role,omitempty"`
	// How is "added", "removed", "moved" or "rewritten" for an item, and "format" when
	// the difference is in no item.
	How    string `json:"how"`
	Item   string `json:"item,omitempty"`
	Source Source `json:"source,omitempty"`
	// StoryStage is the last stage that did it, as far as stories tell.
	*StoryStage
	// Text is where the block begins to differ, at most [ExcerptLength] characters.
	Text Change[string] `json:"text"`
}

// PromptSnapshot is a prompt with the items in it. It cannot be changed.
type PromptSnapshot struct {
	blocks []PromptBlock
	items  []promptItem
	counts []int // tokens of blocks, nil until counted
}

// NewPromptSnapshot reads what a [Formatter] returned, or a document of its shape. items
// are those of the window; without them a report cannot name any.
func NewPromptSnapshot(output any, items []Item) (*PromptSnapshot, error) {
	blocks, err := PromptOf(output)
	if err != nil {
		return nil, err
	}
	s := &PromptSnapshot{blocks: blocks, items: make([]promptItem, len(items))}
	for i := range items {
		s.items[i] = promptItem{items[i].ID, items[i].Content, items[i].Source}
	}
	return s, nil
}

// counted returns a snapshot with counts.
func (s *PromptSnapshot) counted(ctx context.Context, t Tokenizer) (*PromptSnapshot, error) {
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

// bytes is what a snapshot takes, roughly.
func (s *PromptSnapshot) bytes() int64 {
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

// ComparePrefix compares the prompts of two builds. stories are those of the current
// build, or nil; without them the report does not name the stage that broke the prefix.
//
// Where the common beginning ends inside a block, tokens are counted up to the last white
// space in it: what comes behind may be another token in each of the prompts.
func ComparePrefix(ctx context.Context, t Tokenizer, previous, current *PromptSnapshot, stories *Stories) (*PrefixReport, error) {
	report, _, _, err := comparePrefix(ctx, t, previous, current, stories)
	return report, err
}

func comparePrefix(ctx context.Context, t Tokenizer, previous, current *PromptSnapshot, stories *Stories) (r *PrefixReport, a, b *PromptSnapshot, err error) {
	if a, err = previous.counted(ctx, t); err == nil {
		b, err = current.counted(ctx, t)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("compare prompts: %w", err)
	}
	r = &PrefixReport{PreviousTokens: sum(a.counts), Tokens: sum(b.counts)}
	n := 0
	for n < len(a.blocks) && n < len(b.blocks) && a.blocks[n] == b.blocks[n] {
		r.CommonTokens = values.Add(r.CommonTokens, a.counts[n])
		n++
	}
	r.CommonBlocks = n
	if n == len(a.blocks) || n == len(b.blocks) {
		return r, a, b, nil
	}
	old, now, at := &a.blocks[n], &b.blocks[n], 0
	if old.Role == now.Role && old.Begins == now.Begins {
		at = commonPrefix(old.Text, now.Text)
		counts, err := core.CountTexts(ctx, t, []string{old.Text[:wholeWords(old.Text, now.Text, at)]})
		if err != nil {
			return nil, nil, nil, fmt.Errorf("compare prompts: %w", err)
		}
		// The beginning of a text can, on its own, have more tokens than the whole.
		r.CommonTokens = values.Add(r.CommonTokens, min(counts[0], a.counts[n], b.counts[n]))
	}
	r.BrokenBy = &PrefixBreak{
		Block: n + 1, Role: now.Role, How: "format",
		Text: Change[string]{beginning(old.Text[at:], ExcerptLength), beginning(now.Text[at:], ExcerptLength)},
	}
	r.BrokenBy.blame(a.items, b.items, itemAt(a.items, old.Text, at), itemAt(b.items, now.Text, at), stories)
	return r, a, b, nil
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total = values.Add(total, n)
	}
	return total
}

// blame names the item at the first difference: old is what stood there, now what does.
func (p *PrefixBreak) blame(before, after []promptItem, old, now *promptItem, stories *Stories) {
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
	p.StoryStage = blamed(p.How, culprit, stories)
}

// find returns the item of the same id and source: the one of the same text, if there
// is one.
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

// blamed returns the last stage that did to an item what broke the prefix.
func blamed(how string, it *promptItem, stories *Stories) *StoryStage {
	var story *ItemStory
	all := stories.All()
	for i := range all {
		if all[i].ID == it.id && (story == nil || all[i].Source == it.source) {
			story = &all[i]
		}
	}
	if story == nil {
		return nil
	}
	cause := map[string]Did{
		"moved": DidMove | DidRescore | DidPrioritise | DidRecount | DidRedate, "rewritten": DidRewrite | DidCut,
		"removed": DidDrop | DidLeaveOut | DidResource,
	}[how]
	for i := len(story.Events) - 1; i >= 0; i-- {
		if story.Events[i].Did&cause != 0 {
			return &story.Events[i].StoryStage
		}
	}
	return &story.Events[0].StoryStage
}
