package providers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// defaults is the chain of assemble, with real tokens.
func defaults(t *testing.T) (*agent.Chain, *agent.Counter) {
	t.Helper()
	counter, err := agent.NewCounter(agent.CounterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return chain(t, Config{Counter: counter, Enforce: true, Logger: quiet()}), counter
}

func prepared(t *testing.T, c *agent.Chain, list []pipeline.Message, budget int) *agent.Assembly {
	t.Helper()
	a, err := c.Assemble(t.Context(), &agent.State{Messages: list}, list, agent.Budget{MaxTokens: budget})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Diagnostics.Providers {
		if p.Outcome == agent.ProviderFailed {
			t.Fatal(p.Name, p.Message)
		}
	}
	return a
}

// A list that fits is not changed, however full the budget is.
func TestNothingThatFitsIsCompacted(t *testing.T) {
	c, counter := defaults(t)
	var list []pipeline.Message
	for i := range 41 {
		role := pipeline.RoleUser
		if i%2 == 1 {
			role = pipeline.RoleAssistant
		}
		list = append(list, message.New(role, fmt.Sprintf("turn %d %s", i, strings.Repeat("word ", 100))))
	}
	n, err := counter.Total(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int{n, n * 5 / 4} {
		if a := prepared(t, c, list, budget); !equalLists(a.Messages, list) {
			t.Errorf("%d tokens in %d: %d messages", n, budget, len(a.Messages))
		}
	}
	if a := prepared(t, c, list, n-1); equalLists(a.Messages, list) || *a.Diagnostics.After.Tokens < (n-1)*95/100 {
		t.Errorf("%d tokens in %d: %d", n, n-1, *a.Diagnostics.After.Tokens)
	}
}

func equalLists(a, b []pipeline.Message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(&b[i]) {
			return false
		}
	}
	return true
}

// One exchange with a log that is many times the budget keeps the question, the call, and the
// beginning and the end of the log.
func TestALargeResultIsCutBeforeASummaryIsMade(t *testing.T) {
	var log strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&log, "2026-01-01 12:00:%02d worker %d: request %d took %d ms\n", i%60, i%7, i, i*7%900)
	}
	list := script("u:Why did the build fail?", "c1:", "r1:"+log.String()+"FATAL: disk full")
	for _, more := range [][]string{nil, {"a:The disk is full.", "u:Which worker was it?"}} {
		list := append(list[:3:3], script(more...)...)
		c, _ := defaults(t) // which knows nothing of the other list
		a := prepared(t, c, list, 2000)
		last := a.Messages[2].Text()
		if len(a.Messages) != len(list) || a.Messages[0].Text() != list[0].Text() ||
			!strings.HasPrefix(last, "2026-01-01 12:00:00 worker 0") || !strings.HasSuffix(last, "FATAL: disk full") || !strings.Contains(last, " tokens left out") {
			t.Errorf("%d more: %q", len(more), show(a.Messages))
		}
		if n := *a.Diagnostics.After.Tokens; n > 2000 || n < 1900 {
			t.Errorf("%d more: %d tokens of 2000", len(more), n)
		}
	}
}

// A state that has a summary goes on growing: it keeps its beginning for many turns.
func TestAStateKeepsItsBeginning(t *testing.T) {
	c, _ := defaults(t)
	state := agent.State{RunID: "r"}
	changes, before := 0, ""
	for i := range 200 {
		state.Messages = append(state.Messages, script(fmt.Sprintf("u:question %d %s", i, strings.Repeat("word ", 40)), "a:"+strings.Repeat("so ", 40))...)
		a, err := c.Assemble(t.Context(), &state, state.Messages, agent.Budget{MaxTokens: 2000})
		if err != nil || a.Diagnostics.TokensOver > 0 {
			t.Fatal(err, a.Diagnostics.TokensOver)
		}
		text := strings.Join(show(a.Messages), "\n")
		if !strings.HasPrefix(text, before) {
			changes++
		}
		before = text
	}
	if grown := 200 * 88; changes == 0 || changes > grown/(2000*3/8)+2 {
		t.Errorf("the beginning changed %d times", changes)
	}
}

// What is remembered of a list is not used for another one, for another budget, or where a new
// result belongs to a call that was left out.
func TestMemory(t *testing.T) {
	c, _ := defaults(t)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 40 {
		list := append(script(fmt.Sprintf("s:conversation %d", i)), ramble(60+r.IntN(40))...)
		small, large := 300+r.IntN(200), 900+r.IntN(300)
		a := prepared(t, c, list, small)
		for _, budget := range []int{large, small} {
			if n := *prepared(t, c, list, budget).Diagnostics.After.Tokens; n < budget*95/100 || n > budget {
				t.Fatalf("%d tokens of %d", n, budget)
			}
		}
		more := append(list[:len(list):len(list)], script("u:more")...)
		if b := prepared(t, c, more, small); len(b.Messages) < 2 || b.Messages[len(b.Messages)-1].Text() != "more" {
			t.Fatalf("%q", show(b.Messages))
		}
		if again := prepared(t, c, list, small); !equalLists(again.Messages, a.Messages) {
			t.Fatal("the same list gives another result")
		}
	}
	late := append(script("u:a", "c1,c2:", "r1:x"), ramble(80)[1:]...)
	prepared(t, c, late, 400)
	late = append(late, script("r2:y")...)
	units := agent.Units(prepared(t, c, late, 400).Messages)
	for i, unit := range units {
		if out := prepared(t, c, late, 400).Messages; len(out[i].Results()) > 0 && unit == i {
			t.Errorf("a result without its call: %q", show(out))
		}
	}
}

// A memory is bounded, and each of its entries, too.
func TestMemoryIsBounded(t *testing.T) {
	m := new(Memory)
	for i := range 3 * memoryEntries {
		key := listKey{byte(i), byte(i >> 8)}
		m.add("o", &remembered{key: key, length: 1, pieces: []piece{{at: -1, summary: strings.Repeat("x", 100_000)}}})
		if m.bytes > memoryBytes || m.entries != m.owners["o"].recent.Len() || m.entries > memoryEntries {
			t.Fatalf("%d bytes, %d entries", m.bytes, m.entries)
		}
	}
	held := m.entries
	m.add("o", &remembered{pieces: []piece{{at: -1, summary: strings.Repeat("x", memoryBytes)}}})
	if held == 0 || m.entries != held {
		t.Errorf("%d entries before, %d after one that is too large", held, m.entries)
	}
	newest := 3*memoryEntries - 1
	if m.find("o", []listKey{{0, 0}}) != nil || m.find("o", []listKey{{byte(newest), byte(newest >> 8)}}) == nil {
		t.Error("the least recently used entry goes first")
	}
}

// An owner that floods a memory forgets its own lists, and owners without a list take no room.
func TestOwnersOfAMemoryAreApart(t *testing.T) {
	m, key := new(Memory), listKey{1}
	m.add("small", &remembered{key: key, length: 1})
	for i := range 3 * memoryEntries {
		m.add("large", &remembered{key: listKey{byte(i), byte(i >> 8), 1}, length: 1, pieces: []piece{{at: -1, summary: strings.Repeat("x", i%50_000)}}})
	}
	if m.find("small", []listKey{key}) == nil || m.find("large", []listKey{key}) != nil {
		t.Error("one owner has taken the room of another one, or its list")
	}
	for i := range 3 * memoryEntries {
		m.add(fmt.Sprint(i), &remembered{key: key, length: 1})
	}
	bytes := 0
	for _, o := range m.owners {
		bytes += o.bytes
	}
	if len(m.owners) != memoryEntries || m.entries != memoryEntries || bytes != m.bytes || m.find(fmt.Sprint(3*memoryEntries-1), []listKey{key}) == nil {
		t.Errorf("%d owners, %d entries, %d bytes of %d", len(m.owners), m.entries, bytes, m.bytes)
	}

	counter, err := agent.NewCounter(agent.CounterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Counter: counter, Enforce: true, Logger: quiet(), Memory: new(Memory), Owner: "a"}
	list := append(script("s:x"), ramble(80)...)
	prepared(t, chain(t, cfg), list, 400)
	list = append(list, script("u:more")...)
	fresh := prepared(t, chain(t, Config{Counter: counter, Enforce: true, Logger: quiet()}), list, 400)
	cfg.Owner = "b"
	if got := prepared(t, chain(t, cfg), list, 400); !equalLists(got.Messages, fresh.Messages) {
		t.Errorf("a list of a changes one of b:\n%q\n%q", show(got.Messages), show(fresh.Messages))
	}
}
