package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomCase is one command line with its files.
type randomCase struct {
	number uint64
	kind   string
	args   []string
	files  []file
}

type file struct{ name, text string }

// object is a JSON object.
type object = map[string]any

// maker makes the random parts of a case.
type maker struct {
	*rand.Rand
	plugins bool
}

// makeCase makes the case with the number n.
func makeCase(n uint64, plugins bool) *randomCase {
	m := &maker{Rand: rand.New(rand.NewPCG(n, 0x616e63686f72)), plugins: plugins}
	c := &randomCase{number: n}
	switch {
	case m.chance(55):
		c.kind = "requests"
		c.add("request.json", m.request())
		c.args = []string{"build", "--request", "request.json"}
	case m.chance(55):
		c.kind = "configurations"
		config := m.config()
		c.add("anchor.yaml", config)
		c.args = []string{"build", "-o", pick(m, "json", "text")}
		if m.chance(70) {
			c.add("items.json", m.items())
			c.args = append(c.args, "--items", "items.json")
		}
		if _, stated := config["window"].(object)["answer"]; m.chance(30) && !stated { // a preset once replaced it
			c.args = append(c.args, "--set", "window.budget.preset="+pick(m, "chat", "rag", "agent"))
		}
		c.args = append(c.args, m.text(12))
	default:
		c.kind = "agent calls"
		c.add("anchor.yaml", m.agent())
		c.add("messages.json", m.messages())
		c.args = []string{"assemble", "-o", pick(m, "json", "messages"), "messages.json"}
	}
	return c
}

func (c *randomCase) add(name string, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // the documents are made of plain values
	}
	c.files = append(c.files, file{name, string(text)})
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// maybe sets a member in the given percentage of cases.
func (m *maker) maybe(percent int, o object, name string, value func() any) {
	if m.chance(percent) {
		o[name] = value()
	}
}

var vocabulary = strings.Fields(`cancel a request by its context and the timeout of every call is over
when memory grows beyond what was granted the plugin ends with one line and nothing else changes. A token is
about four letters; an accent (é), a sign (€), a smile 👩‍👩‍👧 and 漢字 are counted too. func main() { return } {"json": [1, 2]}
alice@example.com +49 170 1234567 2026-11-23 anchor window budget item score priority`)

// text returns at most that many words, in sentences and paragraphs.
func (m *maker) text(most int) string {
	var b strings.Builder
	for i := range 1 + m.IntN(most) {
		if i > 0 {
			b.WriteString(pick(m, " ", " ", " ", " ", " ", ". ", "\n", "\n\n"))
		}
		b.WriteString(vocabulary[m.IntN(len(vocabulary))])
	}
	return b.String()
}

func (m *maker) time() string {
	return fmt.Sprintf("2026-%02d-%02dT%02d:00:00Z", 1+m.IntN(12), 1+m.IntN(28), m.IntN(24))
}

func (m *maker) items() []object {
	list := make([]object, m.IntN(30))
	for i := range list {
		o := object{"content": m.text(80), "source": pick(m, "retrieval", "memory", "user", "tool", "conversation")}
		m.maybe(40, o, "id", func() any { return fmt.Sprint("id-", m.IntN(20)) })
		m.maybe(80, o, "score", func() any { return float64(m.IntN(101)) / 100 })
		m.maybe(50, o, "priority", func() any { return 1 + m.IntN(10) })
		m.maybe(10, o, "token_count", func() any { return m.IntN(60) })
		m.maybe(30, o, "metadata", func() any { return m.metadata() })
		o["created_at"] = m.time()
		list[i] = o
	}
	return list
}

func (m *maker) metadata() object {
	return object{"role": pick(m, "user", "assistant", "tool"), "n": m.IntN(9), "nested": object{"a": []int{1, 2}}, "title": m.text(3)}
}

// window sets the members that both kinds of builds have.
func (m *maker) window(o object) {
	total := 1 + m.IntN(pick(m, 60, 400, 4000))
	w, counting := object{"max_tokens": total}, object{}
	o["window"], o["counting"] = w, counting
	m.maybe(40, counting, "tokenizer", func() any { return pick(m, "words", "cl100k_base", "o200k_base") })
	if _, set := counting["tokenizer"]; !set {
		m.maybe(30, counting, "model", func() any { return pick(m, "gpt-4o", "gpt-4", "claude-sonnet-4-5") })
	}
	m.maybe(50, w, "fit", func() any { return pick(m, "items", "exact") })
	m.maybe(50, w, "fill", func() any { return pick(m, "first_fit", "value_per_token", "knapsack") })
	m.maybe(50, w, "truncate", func() any { return pick(m, "none", "sentence", "character") })
	m.maybe(50, w, "order", func() any { return pick(m, "priority", "lost_in_the_middle", "chronological", "cache_stable") })
	m.maybe(60, o, "format", func() any { return pick(m, "anthropic", "openai", "generic") })
	m.maybe(20, o, "format_options", func() any { return object{"caching": m.chance(50)} })
	m.maybe(40, w, "system_prompts", func() any {
		return []object{{"content": m.text(30)}, {"content": m.text(10), "priority": 1 + m.IntN(10)}}
	})
	if m.chance(30) {
		left := 0
		w["budget"], left = m.budget(total)
		m.maybe(30, w, "answer", func() any { return m.IntN(1 + left) })
	}
	m.maybe(70, o, "steps", func() any { return m.steps() })
}

// budget divides a number of tokens, and returns what is left of it.
func (m *maker) budget(total int) (b object, left int) {
	var shares []object
	left = total
	for _, source := range []string{"retrieval", "memory", "system", "user", "tool", "conversation"} {
		if left > 0 && m.chance(50) {
			most := 1 + m.IntN(left)
			left -= most
			share := object{"source": source, "cap_tokens": most, "overflow_strategy": pick(m, "truncate", "drop")}
			shares = append(shares, share)
		}
	}
	b = object{"allocations": shares}
	m.maybe(30, b, "enforce_shared_pool", func() any { return m.chance(50) })
	return b, left
}

func (m *maker) steps() []object {
	list := make([]object, m.IntN(5))
	for i := range list {
		s := object{"name": fmt.Sprint("step-", i)}
		m.maybe(40, s, "priority", func() any { return 1 + m.IntN(99) })
		m.maybe(20, s, "scope", func() any { return []string{pick(m, "retrieval", "memory", "tool")} })
		if m.plugins && m.chance(50) {
			m.pluginStep(s)
		} else {
			m.builtinStep(s)
		}
		m.maybe(20, s, "must", func() any { return pick(m, true, false) })
		list[i] = s
	}
	return list
}

func (m *maker) builtinStep(s object) {
	switch s["use"] = pick(m, "filter", "min_score", "rerank", "sort", "top_k", "dedupe_ids"); s["use"] {
	case "filter":
		s["settings"] = object{"sources": []string{pick(m, "retrieval", "tool")}}
	case "min_score":
		s["settings"] = object{"min_score": float64(m.IntN(100)) / 100}
	case "sort":
		s["settings"] = object{"by": pick(m, "score", "priority", "created_at")}
	case "rerank", "top_k":
		s["top_k"] = 1 + m.IntN(20)
	}
}

func (m *maker) pluginStep(s object) {
	switch s["use"] = pick(m, "score-filter", "dedupe", "mmr-reranker", "recency-rerank", "pii-redact"); s["use"] {
	case "score-filter":
		s["settings"] = object{"min_score": float64(m.IntN(100)) / 100}
	case "recency-rerank":
		s["settings"] = object{"now": "2026-11-23T00:00:00Z"} // its own clock would differ
	case "mmr-reranker":
		m.maybe(50, s, "top_k", func() any { return 1 + m.IntN(20) })
	}
}

// request makes a whole build in one document.
func (m *maker) request() object {
	o := object{"query": m.text(12)}
	m.window(o)
	m.maybe(90, o, "items", func() any { return m.items() })
	m.maybe(40, o, "explain", func() any { return true })
	m.maybe(30, o, "conversation", func() any { return m.turns() })
	return o
}

func (m *maker) turns() []object {
	list := make([]object, 1+m.IntN(12))
	for i := range list {
		list[i] = object{"role": pick(m, "user", "assistant", "user", "assistant", "system", "tool"), "content": m.text(40), "created_at": fmt.Sprintf("2026-01-01T%02d:00:00Z", i)}
	}
	return list
}

// config makes an anchor.yaml in JSON, which is a subset of YAML.
func (m *maker) config() object {
	o := object{}
	m.window(o)
	m.maybe(40, o, "memory", func() any {
		c := object{"turns": m.turns(), "eviction": pick(m, "fifo", "paired", "exchange")}
		m.maybe(60, c, "tokens", func() any { return 10 + m.IntN(400) })
		return object{"conversation": c}
	})
	m.maybe(20, o, "enricher", func() any { return object{"template": "{query} ({context})", "max_items": 1 + m.IntN(4)} })
	return o
}

// agent makes the configuration of a provider chain.
func (m *maker) agent() object {
	a := object{}
	m.maybe(80, a, "max_tokens", func() any { return 20 + m.IntN(2000) })
	m.maybe(30, a, "max_messages", func() any { return 2 + m.IntN(20) })
	m.maybe(30, a, "observation", func() any { return m.chance(50) })
	m.maybe(30, a, "truncation", func() any { return m.chance(80) })
	m.maybe(40, a, "compaction", func() any {
		c := object{"high_water": 50 + m.IntN(500), "low_water_messages": 2 + m.IntN(8)}
		if m.plugins && m.chance(40) {
			c["compact"] = object{"use": "turn-summary"}
		}
		return c
	})
	o := object{"agent": a}
	m.maybe(60, o, "counting", func() any { return object{"tokenizer": pick(m, "words", "cl100k_base", "o200k_base")} })
	return o
}

// messages makes the history of an agent, with calls of tools.
func (m *maker) messages() any {
	var list []object
	if m.chance(60) {
		list = append(list, object{"role": "system", "content": m.text(40)})
	}
	for range m.IntN(15) {
		list = append(list, object{"role": "user", "content": m.text(40)})
		if m.chance(50) {
			id := fmt.Sprint("call-", len(list))
			call := object{"id": id, "type": "function", "function": object{"name": "find", "arguments": `{"q": "` + vocabulary[m.IntN(6)] + `"}`}}
			list = append(list, object{"role": "assistant", "content": m.text(5), "tool_calls": []object{call}},
				object{"role": "tool", "content": m.text(120), "tool_call_id": id})
		}
		list = append(list, object{"role": "assistant", "content": m.text(60)})
	}
	if m.chance(50) {
		return list
	}
	state := object{"run_id": "r"}
	m.maybe(60, state, "observations", func() any { return []string{m.text(20), m.text(10)} })
	m.maybe(40, state, "reflection", func() any { return m.text(20) })
	return object{"messages": list, "state": state}
}
