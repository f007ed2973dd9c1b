// Package msgtest makes up request bodies for the APIs of models: histories with every kind of
// message and part, written in every way that JSON allows. The same options make the same bytes.
// It is for tests and measurements.
package msgtest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// The forms of request bodies.
const (
	Anthropic = "anthropic"        // Messages
	Chat      = "openai"           // Chat Completions
	Responses = "openai-responses" // Responses
	Gemini    = "gemini"           // generateContent
)

// Forms are all forms.
var Forms = []string{Anthropic, Chat, Responses, Gemini}

// Options say what a body holds.
type Options struct {
	// Form is one of Forms. Body panics on any other.
	Form string
	// Seed chooses among the bodies with the same other options.
	Seed uint64
	// Messages is the number of messages, or of items for Responses. At least 2.
	Messages int
	// Simple leaves out all but text, images, calls and their results, and writes plain JSON:
	// what any library can read.
	Simple bool
	// Loop is the run of an agent: one message of the user, and calls until the end. Without it the
	// user speaks again every few messages.
	Loop bool
}

// Body returns a request body that the API accepts. Names that begin with "x_" stand for
// members and types that the API has and no library knows yet.
func Body(o Options) []byte {
	g := &generator{Options: o, r: rand.New(rand.NewPCG(o.Seed, uint64(len(o.Form))))}
	var body obj
	switch o.Form {
	case Anthropic:
		body = g.anthropic()
	case Chat:
		body = g.chat()
	case Responses:
		body = g.responses()
	case Gemini:
		body = g.gemini()
	default:
		panic("msgtest: unknown form " + o.Form)
	}
	w := &writer{r: g.r, odd: !o.Simple}
	w.value(body)
	return []byte(w.b.String())
}

// generator makes up the parts that all forms share.
type generator struct {
	Options
	r   *rand.Rand
	ids int
}

// odd is true once in n times, never in simple bodies.
func (g *generator) odd(n int) bool { return !g.Simple && g.r.IntN(n) == 0 }

func (g *generator) one(n int) bool { return g.r.IntN(n) == 0 }

// id returns an id that no other part of the body has.
func (g *generator) id(prefix string) string {
	g.ids++
	return fmt.Sprintf("%s%04d%08x", prefix, g.ids, g.r.Uint32())
}

var words = strings.Fields(`the a of to in and read file test error line build parse open close value key list map
	server request answer token window budget plugin step retry timeout branch commit merge path folder byte count
	change check return result why where when first last next old new small large slow fast`)

var oddWords = []string{
	"naïve", "日本語", "👩‍👩‍👧", "\"quoted\"", `back\slash`, "tab\there", "line\nbreak", "e\u0301", "\u2028", "<b>&amp;</b>",
	"\u0007", "نص", "#1e2", "{\"role\":\"user\"}", "\U0001F9EA", "--- ", "\ufeff", "a/b",
}

// text returns n words or a few more. It neither begins nor ends with white space.
func (g *generator) text(n int) string {
	var b strings.Builder
	for i := range n + g.r.IntN(n+1) {
		if i > 0 {
			b.WriteByte(' ')
		}
		if g.odd(12) {
			b.WriteString(oddWords[g.r.IntN(len(oddWords))])
		} else {
			b.WriteString(words[g.r.IntN(len(words))])
		}
	}
	return "So " + b.String() + "."
}

// output is what a tool returns: mostly short, sometimes a whole file.
func (g *generator) output() string {
	if g.one(5) {
		return g.text(300)
	}
	return g.text(20)
}

// opaque is data of the provider that nobody may read or change.
func (g *generator) opaque(n int) string {
	b := make([]byte, n+g.r.IntN(n))
	for i := range b {
		b[i] = byte(g.r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

var tools = []string{"read_file", "run_command", "search", "edit_file"}

func (g *generator) tool() string { return tools[g.r.IntN(len(tools))] }

// input returns the arguments of a call, with numbers in every way to write them.
func (g *generator) input() obj {
	o := obj{{"path", "src/" + words[g.r.IntN(len(words))] + ".go"}}
	if g.odd(2) {
		numbers := []raw{"1e2", "1.0", "-0", "0.1", "9007199254740993", "1E-7", "100"}
		o = append(o, member{"limit", numbers[g.r.IntN(len(numbers))]},
			member{"nested", obj{{"list", arr{true, nil, "", obj{}, arr{}}}, {"text", g.text(3)}}})
	} else if g.one(2) {
		o = append(o, member{"limit", g.r.IntN(1000)})
	}
	return o
}

// act is true if the assistant calls tools now, rather than answers.
func (g *generator) act() bool { return g.Loop || g.r.IntN(3) > 0 }

// calls is how many calls an assistant makes at once.
func (g *generator) calls() int {
	if g.one(3) {
		return 2 + g.r.IntN(3)
	}
	return 1
}

// schema describes the arguments of every tool.
func (g *generator) schema() obj {
	return obj{{"type", "object"}, {"properties", obj{
		{"path", obj{{"type", "string"}}}, {"limit", obj{{"type", "number"}}},
	}}}
}

// extra adds a member that no library knows, now and then.
func (g *generator) extra(o obj) obj {
	if g.odd(10) {
		return append(o, member{"x_meta", obj{{"x_at", raw("1.50")}, {"x_tags", arr{g.text(1), nil}}}})
	}
	return o
}

// A picture of one pixel, and other small files.
const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pdf = "JVBERi0xLjQKJSVFT0YK"
	wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
)
