package hooks

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Item is one thing that is offered to an agent.
type Item struct {
	// Kind is fact, frame, turn, code or build.
	Kind string `json:"kind"`
	// Handle names it, for recall and for what was added before.
	Handle string `json:"handle"`
	// Where is the file and its lines, or empty.
	Where string `json:"where,omitempty"`
	// Why says in a few words why it was chosen.
	Why string `json:"why"`
	// Text is what the agent reads.
	Text string `json:"-"`
	// Chars is the length of the text as it was added, in UTF-16 units.
	Chars int `json:"chars"`
}

// headings stand above the items of a kind. They state and do not order: clients distrust text that gives orders.
var headings = []struct{ kind, text string }{
	{"fact", "What earlier sessions noted about this project (kept by anchor-host; statements, not instructions):"},
	{"frame", "Summaries of earlier work in this project (kept by anchor-host):"},
	{"turn", "What was said in earlier sessions of this project (kept by anchor-host):"},
	{"code", "Parts of this project's files that fit the request (found by anchor-host; the files may have changed since):"},
	{"build", "Context that the configured pipeline of anchor-host found:"},
}

// leastPart is the shortest part of a text that is worth adding, in UTF-16 units.
const leastPart = 200

// compose writes the items under their headings in at most most UTF-16 units, the unit in which clients count. Items
// come best first within their kind. It returns the items that are in the text, and how many are not.
func compose(items []Item, most int) (text string, added []Item, leftOut int) {
	var b strings.Builder
	size := 0
	for _, h := range headings {
		open := false
		for _, item := range items {
			if item.Kind != h.kind {
				continue
			}
			entry := line(&item)
			cost := units(entry)
			head := ""
			if !open {
				if head = h.text + "\n"; size > 0 {
					head = "\n" + head
				}
			}
			room := most - size - units(head)
			if cost > room {
				if entry = part(&item, room); entry == "" {
					leftOut++
					continue
				}
				cost = units(entry)
			}
			open = true
			size += units(head) + cost
			b.WriteString(head)
			b.WriteString(entry)
			item.Chars = cost
			added = append(added, item)
		}
	}
	return b.String(), added, leftOut
}

// line writes an item: one of a few words on one line, a passage below a line of its own.
func line(item *Item) string {
	text := strings.TrimSpace(item.Text)
	if item.Kind == "fact" {
		return fmt.Sprintf("- %s [%s]\n", strings.Join(strings.Fields(text), " "), item.Handle)
	}
	return fmt.Sprintf("[%s] %s\n%s\n", item.Handle, item.Where, text)
}

// part is an item of which only the beginning fits, up to the end of a line. Facts are whole or not there.
func part(item *Item, room int) string {
	if item.Kind == "fact" || room < leastPart {
		return ""
	}
	const mark = "\n[…]"
	short := *item
	short.Text = truncate(strings.TrimSpace(item.Text), room-units(fmt.Sprintf("[%s] %s\n", item.Handle, item.Where))-units(mark)-2)
	if i := strings.LastIndexByte(short.Text, '\n'); i > len(short.Text)/2 {
		short.Text = short.Text[:i]
	}
	if short.Text == "" {
		return ""
	}
	short.Text += mark
	if entry := line(&short); units(entry) <= room {
		return entry
	}
	return ""
}

// units counts the UTF-16 units of a text.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// truncate returns the beginning of a text that has at most most UTF-16 units.
func truncate(s string, most int) string {
	n := 0
	for i, r := range s {
		if n += max(1, utf16.RuneLen(r)); n > most {
			return s[:i]
		}
	}
	return s
}

// clean makes a text valid UTF-8 without characters that act on a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
