package providers

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
)

// The defaults of a Digest, in characters.
const (
	// DefaultDigestLine is long enough to show the topic of a message.
	DefaultDigestLine = 160
	// DefaultDigestText is about a thousand tokens of English.
	DefaultDigestText = 4000
)

// Digest is a [pipeline.Compactor] without a model: one line per turn with its role and the
// beginning of its text. The same turns always give the same text. When the text grows too
// long, the oldest lines are dropped, and a line gives their number. The zero value works.
type Digest struct {
	// MaxLine bounds a line and MaxText the whole text, in characters. At least one line
	// stays. 0 means DefaultDigestLine and DefaultDigestText.
	MaxLine int
	MaxText int
}

// Compact returns the previous digest, followed by the lines of the turns. The error is
// that of ctx.
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

// summaryShare is the part of a budget that a digest may take. It is enough to name the
// topics, and leaves most of the room for whole messages.
const summaryShare = 4

// summaryRoom returns the largest number of tokens of a digest message, given the messages
// that are kept. 0 means no bound. If the kept messages leave no room, the share of the
// budget is the bound.
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

// joinDigest returns the text of a digest. It is the inverse of splitDigest.
func joinDigest(lines []string, gone int) string {
	if gone > 0 {
		lines = append([]string{fmt.Sprintf(goneFormat, gone)}, lines...)
	}
	return strings.Join(lines, "\n")
}

// splitDigest returns the lines of a digest, and how many lines were dropped.
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

// goneFormat is the line that gives the number of dropped lines.
const goneFormat = "(%d earlier lines left out)"

// shorten makes a text one line of at most limit characters.
func shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// asTurn makes a turn from a message. Its tool calls become text.
func asTurn(m *pipeline.Message, tokens int) pipeline.Turn {
	t := pipeline.Turn{Role: m.Role, Content: m.Text(), TokenCount: tokens}
	name, id := m.Name, ""
	if results := m.Results(); m.Role == pipeline.RoleTool && len(results) > 0 {
		name, id = results[0].Name, results[0].ID
	}
	if name != "" || id != "" {
		t.Metadata = map[string]any{}
	}
	if name != "" {
		t.Metadata["name"] = name
	}
	if id != "" {
		t.Metadata["tool_call_id"] = id
	}
	for _, call := range m.Calls() {
		t.Content = strings.TrimLeft(fmt.Sprintf("%s\ncalls %s(%s)", t.Content, call.Name, call.Arguments), "\n")
	}
	return t
}

// withoutHeader returns the compactor's part of a summary message.
func withoutHeader(content string) string {
	return strings.TrimPrefix(content, SummaryHeader+"\n")
}
