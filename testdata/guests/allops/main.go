// Command allops is a guest that implements every operation of the contract, in each lane
// that the operation has. Each has an effect that a test can see. On request it also
// misbehaves, as a Go guest may: see the settings of process.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/compact"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/counttokens"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/distill"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/enrich"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/extract"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/format"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/memory"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/observe"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/provide"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/transform"
)

// initSettings are the settings of init.
type initSettings struct {
	Greeting string `json:"greeting"`
	Fail     string `json:"fail"`
}

// stepSettings are the settings of every step.
type stepSettings struct {
	Min  float64 `json:"min"`
	Mode string  `json:"mode"`
	Path string  `json:"path"`
	URL  string  `json:"url"`
	Word string  `json:"word"`
}

var (
	greeting string
	events   int
	hoard    [][]byte
	rows     []uint32
)

func init() {
	setup.Handle(func(s *initSettings) error {
		greeting = s.Greeting
		switch s.Fail {
		case "error":
			return pdk.Errorf("no index at %s", "/docs")
		case "panic":
			panic("init went wrong")
		}
		return nil
	})
	retrieve.Handle(find)
	process.Handle(change)
	filter.Handle(func(r *pdk.Request, s *stepSettings) ([]uint32, error) {
		if s.Mode == "tell" {
			return nil, tell(r.Query())
		}
		if s.Mode == "vectors" {
			told := ""
			for i := range r.Items.Len() {
				told += fmt.Sprint(r.Items.Embedding(i))
			}
			return nil, pdk.Errorf("%d %s %v", r.Items.Dimension(), told, r.Query().Embedding)
		}
		rows = rows[:0]
		for i, score := range r.Items.Scores() {
			if score >= s.Min {
				rows = append(rows, uint32(i))
			}
		}
		return rows, nil
	})
	rerank.Scores(func(r *pdk.Request, s *stepSettings, scores []float64) error {
		for i := range scores {
			scores[i] = min(1, float64(strings.Count(r.Items.At(i).Text(), s.Word))/10)
		}
		return nil
	})
	transform.Handle(func(q *pdk.Query, s *stepSettings) ([]pdk.Query, error) {
		if s.Mode == "tell" {
			return nil, tell(q)
		}
		return []pdk.Query{*q, {Text: q.Text + " " + s.Word}}, nil
	})
	classify.Handle(func(q *pdk.Query, s *stepSettings) (string, error) {
		s.trap()
		if s.Mode == "tell" {
			return "", tell(q)
		}
		if strings.Contains(q.Text, "func") {
			return "code", nil
		}
		return "prose", nil
	})
	enrich.Handle(func(r *pdk.Request, s *stepSettings) (string, error) {
		s.trap()
		if s.Mode == "tell" {
			return "", tell(r.Query())
		}
		return fmt.Sprintf("%s (%d memories)", r.Query().Text, r.Items.Len()), nil
	})
	memory.Handle(func(r *pdk.Request, s *stepSettings) ([]pdk.NewItem, error) {
		s.trap()
		if s.Mode == "tell" {
			return nil, tell(r.Query())
		}
		return []pdk.NewItem{
			{Key: "fact", Content: greeting + " " + r.Query().Text, Score: 1},
			{Key: "turn", Content: "earlier turn", Source: "conversation", Score: 0.5},
		}, nil
	})
	compact.Handle(func(turns []pdk.Turn, previous string, s *stepSettings) (string, error) {
		if s.Mode == "tell" {
			return "", tell([]any{turns, previous})
		}
		return fmt.Sprintf("%s+%d turns", previous, len(turns)), nil
	})
	distill.Handle(func(r *distill.Request, s *stepSettings) (distill.Reply, error) {
		switch {
		case s.Mode == "none":
			return distill.Reply{}, nil
		case s.Mode == "tell":
			return distill.Reply{}, tell(r)
		case s.Mode == "wrong": // whatever is asked for
			return distill.Reflection("wrong"), nil
		case s.Mode == "blank":
			return distill.Reply{Replace: []string{"a", " \n"}}, nil
		case s.Mode == "both":
			text := "b"
			return distill.Reply{Add: []string{"a"}, Reflection: &text}, nil
		case s.Mode == "many":
			return distill.Reply{Add: make([]string, 257)}, nil
		case r.Mode == distill.Reflect:
			return distill.Reflection(fmt.Sprintf("%s+%d observations", r.Reflection, len(r.Observations))), nil
		}
		return distill.Add(fmt.Sprintf("%d messages after %d observations", len(r.Messages), len(r.Observations))), nil
	})
	extract.Handle(func(r *extract.Request, s *stepSettings) (extract.Reply, error) {
		switch {
		case s.Mode == "tell":
			return extract.Reply{}, tell(r)
		case s.Mode == "none":
			return extract.Reply{}, nil
		case s.Mode == "unknown":
			return extract.Reply{Remove: []string{"unknown"}}, nil
		case s.Mode == "spin":
			for { // a call that never ends by itself
				s.Min++
			}
		case len(r.Turns) == 0:
			return tidy(r.Facts), nil
		}
		return learn(r), nil
	})
	provide.Handle(func(r *provide.Request, s *stepSettings) (provide.Reply, error) {
		switch s.Mode {
		case "none":
			return provide.Reply{}, nil
		case "tell":
			return provide.Reply{}, tell(r)
		case "forget":
			return provide.Reply{State: &pdk.StateChange{Observations: []string{}, Reflection: new(string), Data: pdk.Metadata{}}}, nil
		case "trim":
			return provide.Reply{Messages: trim(r.Messages)}, nil
		case "parts":
			return provide.Reply{Messages: []pdk.Message{{Role: "user", Parts: []pdk.MessagePart{{Type: "text", Text: "new"}}}}}, nil
		}
		note := pdk.Message{Role: "system", Content: greeting + " " + r.Budget.Phase}
		return provide.Reply{Messages: append([]pdk.Message{note}, r.Messages...),
			State: &pdk.StateChange{Observations: append(r.State.Observations, "seen")}}, nil
	})
	provide.Estimate(func(r *provide.Request, _ *stepSettings) (int, error) { return len(r.Messages) + 1, nil })
	format.Handle("lines", func(w *format.Window, s *stepSettings) (any, error) {
		s.trap()
		if s.Mode == "tell" {
			return nil, tell(w)
		}
		var b strings.Builder
		for _, it := range w.Items {
			fmt.Fprintf(&b, "- %s\n", it.Content)
		}
		if w.Query != "" {
			fmt.Fprintf(&b, "? %s\n", w.Query)
		}
		return b.String(), nil
	})
	counttokens.Each(func(text string, s *stepSettings) int {
		s.trapAt(text)
		return (len(text) + 3) / 4
	})
	observe.Handle(func(e *pdk.Event, s *stepSettings) error {
		if s.Mode == "tell" {
			return tell(e)
		}
		events++
		pdk.Logf(pdk.LevelInfo, "event %d: %s %s %d", events, e.Type, e.Step, e.Items)
		return nil
	})
}

// trap ends the call in a trap if the settings say so.
func (s *stepSettings) trap() {
	if s.Mode == "trap" { // a panic would be an answer
		events += int(*(*byte)(unsafe.Add(unsafe.Pointer(s), 1<<30)))
	}
}

// trapAt is trap for one text: that which has the word of the settings.
func (s *stepSettings) trapAt(text string) {
	if strings.Contains(text, s.Word) {
		s.trap()
	}
}

// learn makes a fact of what each user says with "I". A fact that begins with the same two
// words gets the new text.
func learn(r *extract.Request) (reply extract.Reply) {
	edited := map[string]bool{}
	for _, t := range r.Turns {
		words := strings.Fields(t.Content)
		if t.Role != "user" || len(words) < 3 || words[0] != "I" {
			continue
		}
		i := slices.IndexFunc(r.Facts, func(f extract.Known) bool { return strings.HasPrefix(f.Content, words[0]+" "+words[1]+" ") })
		switch {
		case i < 0:
			reply.Add = append(reply.Add, extract.Fact{Content: t.Content, Tags: []string{words[1]}})
		case !edited[r.Facts[i].ID]:
			edited[r.Facts[i].ID] = true
			reply.Update = append(reply.Update, extract.Edit{ID: r.Facts[i].ID, Content: t.Content})
		}
	}
	return reply
}

// tidy removes each fact that a later one contains.
func tidy(facts []extract.Known) (reply extract.Reply) {
	for i := range facts {
		if slices.ContainsFunc(facts[i+1:], func(f extract.Known) bool { return strings.Contains(f.Content, facts[i].Content) }) {
			reply.Remove = append(reply.Remove, facts[i].ID)
		}
	}
	return reply
}

// tell returns an error whose text is the JSON of what the guest received.
func tell(received any) error {
	doc, err := json.Marshal(received)
	if err != nil {
		return err
	}
	return pdk.Errorf("%s", doc)
}

// find returns the items that the mode asks for.
func find(r *pdk.Request, s *stepSettings) ([]pdk.NewItem, error) {
	switch s.Mode {
	case "tell":
		return nil, tell(r.Query())
	case "file":
		text, err := os.ReadFile(s.Path)
		if err != nil {
			return nil, pdk.Errorf("read: %w", err)
		}
		return []pdk.NewItem{{Key: s.Path, Content: string(text), Score: 1}}, nil
	case "list":
		entries, err := os.ReadDir(s.Path)
		if err != nil {
			return nil, pdk.Errorf("list: %w", err)
		}
		var items []pdk.NewItem
		for _, e := range entries {
			items = append(items, pdk.NewItem{Key: e.Name(), Content: e.Name(), Score: 1})
		}
		return items, nil
	case "write":
		if err := os.WriteFile(s.Path, []byte(r.Query().Text), 0o600); err != nil {
			return nil, pdk.Errorf("write: %w", err)
		}
		return nil, nil
	case "hoard":
		return nil, openAll(s.Path, s.Word)
	case "http":
		header := map[string]string{}
		if s.Path != "" {
			header[s.Path] = s.Word
		}
		resp, err := pdk.HTTP(pdk.HTTPRequest{URL: s.URL, Header: header})
		if err != nil {
			return nil, err
		}
		return []pdk.NewItem{{Key: "http", Content: fmt.Sprintf("%d %s %s", resp.Status, resp.Header["x-test"], resp.Body), Score: 1}}, nil
	case "leak":
		key, _ := pdk.Config(s.Word)
		pdk.Log(pdk.LevelError, "the key is "+key)
		fmt.Fprintln(os.Stderr, "key", key)
		return nil, pdk.Errorf("not authorized with %s", key)
	case "batch":
		return fetchAll(s.URL, s.Word)
	case "kv":
		return remember(r)
	}
	items := make([]pdk.NewItem, 0, r.TopK)
	for i := range r.TopK {
		items = append(items, pdk.NewItem{Key: fmt.Sprint(i), Content: fmt.Sprintf("%s %s %d", greeting, r.Query().Text, i),
			Score: max(0, 1-float64(i)/100), Metadata: pdk.Metadata{"n": int64(i), "left": int64(r.TokensLeft)}})
	}
	return items, nil
}

// fetchAll sends a batch of requests to the addresses, which spaces part, each with a time, and
// shows the answers.
func fetchAll(addresses, timeout string) ([]pdk.NewItem, error) {
	limit, err := time.ParseDuration(cmp.Or(timeout, "0s"))
	if err != nil {
		return nil, err
	}
	var requests []pdk.HTTPRequest
	for i, address := range strings.Fields(addresses) {
		requests = append(requests, pdk.HTTPRequest{URL: address, Timeout: limit, Header: map[string]string{"X-Number": fmt.Sprint(i)}})
	}
	answers, err := pdk.HTTPBatch(requests)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, a := range answers {
		fmt.Fprintf(&text, "%d%s %s %s\n", a.Status, a.Error, a.Header["x-test"], a.Body)
	}
	return []pdk.NewItem{{Key: "batch", Content: cmp.Or(text.String(), "nothing"), Score: 1}}, nil
}

// remember counts its calls in the key-value store, and counts the tokens of its text.
func remember(r *pdk.Request) ([]pdk.NewItem, error) {
	old, err := pdk.KVGet("seen")
	if err != nil {
		old = []byte("nothing")
	}
	if err := pdk.KVSet("seen", []byte(r.Query().Text)); err != nil {
		return nil, err
	}
	text := "before: " + string(old)
	n, err := pdk.CountTokens(text)
	if err != nil {
		return nil, err
	}
	return []pdk.NewItem{{Content: fmt.Sprintf("%s (%d tokens)", text, n), Score: 1}}, nil
}

// change edits, drops, adds and orders, or misbehaves.
func change(r *pdk.Request, s *stepSettings, c *pdk.Changes) error {
	switch s.Mode {
	case "panic":
		panic("process went wrong")
	case "nil":
		var p *int
		*p = 1
	case "exit":
		os.Exit(3)
	case "spin":
		for {
			events++
		}
	case "hog":
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	case "deadlock":
		select {}
	case "error":
		return pdk.Errorf("cannot process %d rows", r.Items.Len())
	case "stderr":
		fmt.Fprintln(os.Stderr, "about to give up")
		panic("gave up")
	case "none":
		return pdk.ErrNoChange
	}
	n := r.Items.Len()
	if n < 2 {
		return pdk.ErrNoChange
	}
	c.Drop(n - 1)
	c.SetText(0, strings.ToUpper(r.Items.At(0).Text()))
	c.SetMetadata(0, pdk.Metadata{"was": r.Items.At(0).Text(), "rows": int64(n)})
	c.SetPriority(0, 4)
	row := c.Add(pdk.NewItem{Key: "note", Content: greeting + " note", Score: 0.25})
	order := []int{row}
	for i := range n - 1 {
		order = append(order, i)
	}
	c.Order(order...)
	return nil
}

func main() {}

// openAll opens a file until it may not open more, and reports how often it could. It keeps
// the files open while a file named until exists.
func openAll(path, until string) error {
	var files []*os.File
	for {
		f, err := os.Open(path)
		if err != nil {
			if until != "" { // says that it has what it gets
				if _, err := os.MkdirTemp(filepath.Dir(until), "held-*"); err != nil {
					return pdk.Errorf("tell: %w", err)
				}
			}
			for until != "" {
				if _, gone := os.Stat(until); gone != nil {
					break
				}
			}
			return pdk.Errorf("after %d files: %w", len(files), err)
		}
		files = append(files, f)
	}
}

// trim leaves out images and shortens results.
func trim(messages []pdk.Message) []pdk.Message {
	for i := range messages {
		parts := slices.DeleteFunc(messages[i].Parts, func(p pdk.MessagePart) bool { return p.Type == "image" })
		for j := range parts {
			if p := &parts[j]; p.Type == "tool_result" {
				p.Parts = slices.DeleteFunc(p.Parts, func(p pdk.MessagePart) bool { return p.Type == "image" })
				for k := range p.Parts {
					p.Parts[k].Text = p.Parts[k].Text[:min(4, len(p.Parts[k].Text))]
				}
			}
		}
		messages[i].Parts = parts
	}
	return messages
}
