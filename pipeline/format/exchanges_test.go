package format

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func call(id int) message.Part {
	return message.Part{Kind: message.ToolCall, ID: fmt.Sprint("c", id), Name: "f", Arguments: "{}"}
}

func result(id int) message.Part {
	return message.Part{Kind: message.ToolResult, ID: fmt.Sprint("c", id), Parts: []message.Part{{Kind: message.Text, Text: "r"}}}
}

func picture() message.Part {
	return message.Part{Kind: message.Image, Media: &message.Media{Type: "image/png", URL: "https://a.test/i.png"}}
}

// conversation returns messages as items of a window.
func conversation(messages ...core.Message) []core.Item {
	items := make([]core.Item, len(messages))
	for i, m := range messages {
		turn := core.TurnOf(m)
		items[i] = core.Item{ID: fmt.Sprint(i), Content: turn.Content, Source: core.SourceConversation, Priority: 7,
			Sequence: int64(i + 1), Metadata: map[string]any{"role": string(m.Role)}}
		items[i].SetTurn(&turn)
	}
	return items
}

// longTalks are conversations of n calls whose results are missing, or come late.
func longTalks(n int) map[string][]core.Item {
	said := func(parts ...message.Part) core.Message {
		return core.Message{Role: core.RoleAssistant, Parts: parts}
	}
	answer := func(id int) core.Message {
		return core.Message{Role: core.RoleTool, Parts: []message.Part{result(id)}}
	}
	one := []core.Message{said()}
	talks := map[string][]core.Message{}
	for i := range n {
		one[0].Parts = append(one[0].Parts, call(i))
		for name, m := range map[string]core.Message{"unanswered": said(call(i)), "nested": said(call(i)),
			"nested with images": said(picture(), call(i)), "wrong results": said(call(i)), "images": said(picture())} {
			talks[name] = append(talks[name], m)
		}
	}
	for i := range n {
		one = append(one, answer(n-1-i))
		talks["nested"] = append(talks["nested"], answer(n-1-i))
		talks["nested with images"] = append(talks["nested with images"], answer(n-1-i))
		talks["wrong results"] = append(talks["wrong results"], answer((2*n-2-i)%n))
	}
	talks["one turn"] = one
	items := make(map[string][]core.Item)
	for name, messages := range talks {
		items[name] = conversation(messages...)
	}
	parts := make([]message.Part, n) // some forms have no place for sounds
	for i := range parts {
		parts[i] = message.Part{Kind: message.Audio, Media: &message.Media{Type: "audio/mp3", URL: "https://a.test/i.mp3"}}
	}
	it := core.Item{ID: "p", Content: "x", Source: core.SourceRetrieval, Priority: 7}
	if err := it.SetParts(parts); err != nil {
		panic(err)
	}
	items["images"] = append(items["images"], it)
	return items
}

// The work for a conversation grows with its length, not with its square.
func TestLongTalksAreCheap(t *testing.T) {
	const n = 500
	small, large := longTalks(n), longTalks(4*n)
	for name := range small {
		for _, f := range []formatter{OpenAI{}, Anthropic{}, Responses{}, Gemini{}} {
			a, b := allocated(func() { formatted(t, f, small[name]...) }), allocated(func() { formatted(t, f, large[name]...) })
			if b > 8*a {
				t.Errorf("%s, %s: four times the turns take %d bytes, not %d", name, f.FormatType(), b, a)
			}
		}
	}
}

// A turn with many calls is compared with its results in one go: four times as many calls take about four times as
// long, and not sixteen times.
func TestManyCallsOfOneTurn(t *testing.T) {
	const n = 2_000
	manyCalls := func(n int) []*core.Item {
		messages := []core.Message{{Role: core.RoleAssistant}}
		for i := range n {
			messages[0].Parts = append(messages[0].Parts, call(i))
			messages = append(messages, core.Message{Role: core.RoleTool, Parts: []message.Part{result(n - 1 - i)}})
		}
		items := conversation(messages...)
		turns := make([]*core.Item, len(items))
		for i := range items {
			turns[i] = &items[i]
		}
		return turns
	}
	few, many := manyCalls(n), manyCalls(4*n)
	take := func(turns []*core.Item) time.Duration {
		began := time.Now()
		if calls := answered(turns); len(calls) != len(turns)-1 {
			t.Errorf("%d calls, want %d", len(calls), len(turns)-1)
		}
		return time.Since(began)
	}
	short, long := take(few), take(many)
	for try := 0; try < 5 || long > 9*short && try < 20; try++ { // what else the machine does may hit one of them alone
		short, long = min(short, take(few)), min(long, take(many))
	}
	if long > 9*short {
		t.Errorf("%d calls take %v, four times as many %v", n, short, long)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// exchange finds out for one turn what exchanges finds out for all.
func exchange(turns []*core.Item) int {
	open := make(map[string]int)
	waiting := 0
	for n, it := range turns {
		m := it.Turn()
		answers := m != nil && len(m.Results()) > 0
		if n > 0 && speaker(it, m) != core.RoleAssistant && !answers || n == 0 && (m == nil || answers) {
			return 0
		}
		if m == nil {
			continue
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case message.ToolCall:
				open[callKey(p)]++
				waiting++
			case message.ToolResult:
				if open[callKey(p)]--; open[callKey(p)] < 0 {
					return 0
				}
				waiting--
			}
		}
		if waiting == 0 && (n > 0 || !onlyThinking(m)) {
			return n + 1
		}
	}
	return 0
}

func TestExchanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20_000 {
		messages := make([]core.Message, 1+r.IntN(9))
		for i := range messages {
			m := &messages[i]
			m.Role = []core.Role{core.RoleAssistant, core.RoleAssistant, core.RoleTool, core.RoleTool, core.RoleUser}[r.IntN(5)]
			for range 1 + r.IntN(2) {
				switch {
				case m.Role == core.RoleTool || r.IntN(9) == 0:
					m.Parts = append(m.Parts, result(r.IntN(3)))
				case m.Role == core.RoleAssistant && r.IntN(4) > 0:
					m.Parts = append(m.Parts, call(r.IntN(3)))
				default:
					m.Parts = append(m.Parts, message.Part{Kind: []message.Kind{message.Text, message.Thinking}[r.IntN(2)], Text: "t"})
				}
			}
		}
		items := conversation(messages...)
		turns := make([]*core.Item, len(items))
		for i := range items {
			if turns[i] = &items[i]; r.IntN(8) == 0 {
				items[i].Content = "a step has changed it"
			}
		}
		for i, got := range exchanges(turns) {
			want := exchange(turns[i:])
			if got != want {
				t.Fatalf("%+v: %d turns from turn %d on belong together, want %d", messages, got, i, want)
			}
			if want > 2 {
				found++
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d long exchanges", found)
	}
}
