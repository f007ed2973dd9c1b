package message

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// each history calls f with the documents of generated histories in all forms.
func eachHistory(t *testing.T, f func(t *testing.T, r *rand.Rand, list []Message, form Form, doc []byte)) {
	runs := uint64(60)
	if testing.Short() {
		runs = 15
	}
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 1))
		list := history(r, 1+r.IntN(6))
		for _, form := range Forms {
			doc, err := document(r, list, form)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, form, err)
			}
			f(t, r, list, form, doc)
			if t.Failed() {
				t.Fatalf("seed %d, form %s", seed, form)
			}
		}
	}
}

func decoded(t *testing.T, doc []byte, form Form) *Body {
	t.Helper()
	b, err := DecodeBody(doc, form)
	if err != nil {
		t.Fatalf("%s\n%v", doc, err)
	}
	return b
}

func TestGeneratedBodiesAreWrittenAsTheyCame(t *testing.T) {
	eachHistory(t, func(t *testing.T, _ *rand.Rand, list []Message, form Form, doc []byte) {
		b := decoded(t, doc, form)
		out, err := b.Append(nil, CloneList(b.Messages))
		if err != nil || sha256.Sum256(out) != sha256.Sum256(doc) {
			t.Errorf("%s\nbecame %s, %v", doc, out, err)
		}
		if err := Check(b.Messages, form); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
		if said(b.Messages) != said(list) {
			t.Errorf("%s\nsays %s%s", doc, diff(said(b.Messages), said(list)), "")
		}
	})
}

// said returns all that messages say, whatever the form: each part on a line.
func said(list []Message) string {
	var lines []string
	for i := range list {
		for j := range list[i].Parts {
			p := &list[i].Parts[j]
			role := list[i].Role
			if p.Kind == ToolResult {
				role = RoleTool
			}
			line := fmt.Sprintf("%s %s %s %q", role, p.Kind, p.ID, TextOf(list[i].Parts[j:j+1]))
			if p.Kind == ToolCall {
				var v any
				if json.Unmarshal([]byte(p.Arguments), &v) != nil {
					v = p.Arguments
				}
				line += fmt.Sprint(p.Name, v)
			}
			if p.Media != nil {
				line += fmt.Sprint(*p.Media)
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestAChangedTextChangesOnlyItsBytes replaces one text of each document, and compares the bytes
// before and after it.
func TestAChangedTextChangesOnlyItsBytes(t *testing.T) {
	eachHistory(t, func(t *testing.T, r *rand.Rand, _ []Message, form Form, doc []byte) {
		b := decoded(t, doc, form)
		list := CloneList(b.Messages)
		i := r.IntN(len(list))
		p := firstText(list[i].Parts)
		if p == nil {
			return
		}
		p.Text = "changed \" text"
		out, err := b.Append(nil, list)
		if err != nil {
			t.Fatal(err)
		}
		before, after := common(doc, out)
		if cut := len(doc) - before - after; cut > len(p.raw) {
			t.Errorf("a change of %s in\n%s\nreplaced %d bytes:\n%s", p.raw, doc, cut, out)
		}
		again := decoded(t, out, form)
		if !slices.EqualFunc(again.Messages, list, func(a, b Message) bool { return said([]Message{a}) == said([]Message{b}) }) {
			t.Errorf("%s\nreads as %s\nwant %s", out, said(again.Messages), said(list))
		}
	})
}

// common returns how many bytes two documents have in common at the beginning and at the end.
func common(a, b []byte) (before, after int) {
	for before < min(len(a), len(b)) && a[before] == b[before] {
		before++
	}
	for after < min(len(a), len(b))-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	return before, after
}

// TestWhatStaysStaysByteForByte leaves out messages and parts. Each message that stays is in the
// result with its bytes.
func TestWhatStaysStaysByteForByte(t *testing.T) {
	eachHistory(t, func(t *testing.T, r *rand.Rand, _ []Message, form Form, doc []byte) {
		b := decoded(t, doc, form)
		var list []Message
		for i := range b.Messages {
			if m := b.Messages[i].Clone(); r.IntN(3) > 0 {
				if len(m.Parts) > 1 && r.IntN(2) == 0 {
					at := r.IntN(len(m.Parts))
					m.Parts = slices.Delete(m.Parts, at, at+1)
				}
				list = append(list, m)
			}
		}
		out, err := b.Append(nil, list)
		if err != nil {
			t.Fatal(err)
		}
		rest := string(out)
		for i := range list {
			if list[i].Instructs() {
				continue
			}
			for j := range list[i].Parts {
				_, after, ok := strings.Cut(rest, list[i].Parts[j].Raw())
				if !ok {
					t.Fatalf("%s\nlacks %s of\n%s", out, list[i].Parts[j].Raw(), doc)
				}
				if list[i].Parts[j].place != inMessage && list[i].Parts[j].place != inItem {
					rest = after
				}
			}
		}
		if again := decoded(t, out, form); said(again.Messages) != said(list) {
			t.Errorf("%s\nreads as\n%s\nwant\n%s", out, said(again.Messages), said(list))
		}
	})
}

// TestConversionsLoseNothing converts each document to each form and back.
func TestConversionsLoseNothing(t *testing.T) {
	eachHistory(t, func(t *testing.T, _ *rand.Rand, _ []Message, form Form, doc []byte) {
		b := decoded(t, doc, form)
		for _, to := range Forms {
			there, err := Convert(b.Messages, to)
			if err != nil {
				t.Fatalf("to %s: %v", to, err)
			}
			if said(there) != said(b.Messages) {
				t.Errorf("%s\nto %s says %s\nwant %s", doc, to, said(there), said(b.Messages))
			}
			if err := Check(there, to); err != nil {
				t.Errorf("%s to %s: %v", doc, to, err)
			}
			back, err := Convert(there, form)
			if err != nil {
				t.Fatalf("from %s: %v", to, err)
			}
			if said(back) != said(b.Messages) {
				t.Errorf("%s\nto %s and back says %s\nwant %s", doc, to, said(back), said(b.Messages))
			}
			if _, err := AppendList(nil, b.Messages, to); err != nil {
				t.Errorf("to %s: %v", to, err)
			}
		}
	})
}

// diff returns the first lines in which two texts differ.
func diff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\ninstead of\n" + y[i]
		}
	}
	return fmt.Sprintf("%d lines instead of %d", len(x), len(y))
}

// changes change one field of a part. They return false if the part has no such field.
var changes = []func(p *Part) bool{
	func(p *Part) bool { p.Text = "changed"; return p.Kind == Text || p.Kind == Refusal },
	func(p *Part) bool {
		p.ID = "changed"
		return p.Kind == ToolCall || p.Kind == ToolResult
	},
	func(p *Part) bool { p.Name = "changed"; return p.Kind == ToolCall },
	func(p *Part) bool { p.Arguments = `{"changed":1}`; return p.Kind == ToolCall },
	func(p *Part) bool {
		p.Parts = []Part{{Kind: Text, Text: "changed"}}
		return p.Kind == ToolResult
	},
	func(p *Part) bool {
		p.Parts = append(p.Parts, Part{Kind: Text, Text: "changed"})
		return p.Kind == ToolResult && p.place != inGemini
	},
	func(p *Part) bool {
		p.Failed = !p.Failed
		return p.Kind == ToolResult && (p.place == inAnthropic || p.place == inGemini)
	},
}

// TestEachFieldIsWritten changes each field of each part, and reads the document again.
func TestEachFieldIsWritten(t *testing.T) {
	eachHistory(t, func(t *testing.T, r *rand.Rand, _ []Message, form Form, doc []byte) {
		b := decoded(t, doc, form)
		i := r.IntN(len(b.Messages))
		for j := range b.Messages[i].Parts {
			checkChanges(t, b, i, j)
		}
	})
}

// checkChanges makes each change of one part of a document.
func checkChanges(t *testing.T, b *Body, i, j int) {
	t.Helper()
	for n, change := range changes {
		list := CloneList(b.Messages)
		if !change(&list[i].Parts[j]) {
			continue
		}
		out, err := b.Append(nil, list)
		if err != nil {
			t.Errorf("%s: change %d: %v", list[i].Raw(), n, err)
			continue
		}
		again := decoded(t, out, b.Form)
		if got, want := fields(again.Messages), fields(list); got != want {
			t.Errorf("%s\nafter change %d is %s: %s", list[i].Raw(), n, again.Messages[i].Raw(), diff(got, want))
		}
	}
}

// fields returns all fields of messages as text.
func fields(list []Message) string {
	var lines []string
	for i := range list {
		lines = append(lines, string(list[i].Role)+" "+list[i].Name)
		lines = append(lines, partFields(list[i].Parts)...)
	}
	return strings.Join(lines, "\n")
}

func partFields(parts []Part) (lines []string) {
	for _, p := range parts {
		var media Media
		if p.Media != nil {
			media = *p.Media
		}
		lines = append(lines, fmt.Sprintf("%q", []any{p.Kind, p.Text, p.ID, p.Name, p.Arguments, p.Failed, media}))
		lines = append(lines, partFields(p.Parts)...)
	}
	return lines
}

// TestPartsCanMove shuffles and repeats the parts of each message, and moves the first part of one
// to another of the same role.
func TestPartsCanMove(t *testing.T) {
	eachHistory(t, func(t *testing.T, r *rand.Rand, _ []Message, form Form, doc []byte) {
		if form != FormAnthropic && form != FormGemini {
			return // there a content stands in several members or items
		}
		b := decoded(t, doc, form)
		list := CloneList(b.Messages)
		for i := range list {
			m := &list[i]
			r.Shuffle(len(m.Parts), func(i, j int) { m.Parts[i], m.Parts[j] = m.Parts[j], m.Parts[i] })
			if to := &list[r.IntN(len(list))]; to.Role == m.Role {
				to.Parts = append(to.Parts, m.Parts[0])
			}
		}
		out, err := b.Append(nil, list)
		if err != nil {
			t.Fatal(err)
		}
		if again := decoded(t, out, form); fields(again.Messages) != fields(list) {
			t.Errorf("%s\nreads as %s: %s", doc, out, diff(fields(again.Messages), fields(list)))
		}
	})
}
