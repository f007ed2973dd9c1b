package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
)

// The defaults of a Digest, in characters.
const (
	// DefaultDigestLine shows what a message was about.
	DefaultDigestLine = 160
	// DefaultDigestText is about a thousand tokens of English.
	DefaultDigestText = 4000
)

// Digest is a [pipeline.Compactor] without a model: one line per turn with its role and
// the beginning of its text. The same turns always give the same text. When it grows
// too long the oldest lines leave and their number is noted. The zero value works.
type Digest struct {
	// MaxLine bounds a line and MaxText the whole, in characters, as far as one line
	// fits. 0 means DefaultDigestLine and DefaultDigestText.
	MaxLine int
	MaxText int
}

// Compact returns the previous digest with the turns after it. The error is that of ctx.
func (d Digest) Compact(ctx context.Context, turns []pipeline.Turn, previous string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	maxLine, maxText := d.MaxLine, d.MaxText
	if maxLine <= 0 {
		maxLine = DefaultDigestLine
	}
	if maxText <= 0 {
		maxText = DefaultDigestText
	}
	lines, gone := splitDigest(previous)
	for i := range turns {
		lines = append(lines, shorten(string(turns[i].Role)+": "+turns[i].Content, maxLine))
	}
	first := len(lines)
	for total := 0; first > 0; first-- {
		total += utf8.RuneCountInString(lines[first-1]) + 1
		if total > maxText && first < len(lines) {
			break
		}
	}
	return joinDigest(lines[first:], gone+first), nil
}

// summaryShare is the part of a budget that a digest may take: enough to tell what it was
// about, little enough that most of the room stays for what is quoted.
const summaryShare = 4

// summaryRoom returns the most tokens of a digest message beside what is kept; 0 is no
// bound. When there is nothing left, its share of the budget is what counts.
func summaryRoom(budget, kept int) int {
	if budget == 0 {
		return 0
	}
	share := max(1, budget/summaryShare)
	if left := budget - kept; left > 0 {
		return min(share, left)
	}
	return share
}

// cut lets the oldest lines of a digest leave until its message takes at most room
// tokens, as far as one line fits, and returns what it takes. The text of another
// compactor stays as it is: where it may be cut is not known.
func (c *Compaction) cut(ctx context.Context, summary *pipeline.Message, room int) (int, error) {
	took, err := c.cfg.Counter.Total(ctx, []pipeline.Message{*summary})
	if _, ok := c.cfg.Compactor.(Digest); !ok || err != nil || room == 0 || took <= room {
		return took, err
	}
	lines, gone := splitDigest(withoutHeader(summary.Content))
	cut := *summary
	first := sort.Search(len(lines)-1, func(i int) bool {
		cut.Content = SummaryHeader + "\n" + joinDigest(lines[i+1:], gone+i+1)
		n, failed := c.cfg.Counter.Total(ctx, []pipeline.Message{cut})
		err = errors.Join(err, failed)
		return n <= room
	})
	if err != nil {
		return 0, err
	}
	first = min(first+1, len(lines)-1)
	summary.Content = SummaryHeader + "\n" + joinDigest(lines[first:], gone+first)
	return c.cfg.Counter.Total(ctx, []pipeline.Message{*summary})
}

// joinDigest returns the text of a digest, the opposite of splitDigest.
func joinDigest(lines []string, gone int) string {
	if gone > 0 {
		lines = append([]string{fmt.Sprintf(goneFormat, gone)}, lines...)
	}
	return strings.Join(lines, "\n")
}

// splitDigest returns the lines of a digest, and how many have left it.
func splitDigest(text string) (lines []string, gone int) {
	if text == "" {
		return nil, 0
	}
	lines = strings.Split(text, "\n")
	if _, err := fmt.Sscanf(lines[0], goneFormat, &gone); err != nil || lines[0] != fmt.Sprintf(goneFormat, gone) {
		return lines, 0
	}
	return lines[1:], gone
}

// goneFormat is the line that stands for those that have left.
const goneFormat = "(%d earlier lines left out)"

// shorten makes a text one line of at most limit characters.
func shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// asTurn makes a turn of a message; its tool calls become text.
func asTurn(m *pipeline.Message, tokens int) pipeline.Turn {
	t := pipeline.Turn{Role: m.Role, Content: m.Text(), TokenCount: tokens}
	if m.Name != "" || m.ToolCallID != "" {
		t.Metadata = map[string]any{}
	}
	if m.Name != "" {
		t.Metadata["name"] = m.Name
	}
	if m.ToolCallID != "" {
		t.Metadata["tool_call_id"] = m.ToolCallID
	}
	for _, call := range callTexts(m.Calls()) {
		t.Content = strings.TrimLeft(t.Content+"\n"+call, "\n")
	}
	return t
}

// toolCall is a call as the APIs of OpenAI, or of Anthropic and others, have it.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Function  struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// callTexts returns "calls name(arguments)" for each call; what cannot be read is shown
// as it is.
func callTexts(raw json.RawMessage) (texts []string) {
	var calls []toolCall
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &calls) != nil {
		return []string{"calls " + string(raw)}
	}
	for i := range calls {
		c := &calls[i]
		name, arguments := c.Function.Name, c.Function.Arguments
		if name == "" {
			name, arguments = c.Name, c.Arguments
		}
		if len(arguments) == 0 {
			arguments = c.Input
		}
		var text string
		if json.Unmarshal(arguments, &text) != nil {
			text = string(arguments)
		}
		texts = append(texts, fmt.Sprintf("calls %s(%s)", name, text))
	}
	return texts
}

// withoutHeader returns the compactor's part of a summary message.
func withoutHeader(content string) string {
	return strings.TrimPrefix(content, SummaryHeader+"\n")
}
