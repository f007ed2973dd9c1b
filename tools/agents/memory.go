package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "embed"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// recallTarget is the share of the answering turns that must be among the first five notes.
const recallTarget = 0.65

// finder returns the turns of a talk that a system finds for a question, the best first, as texts.
type finder func(question string) ([]string, error)

// conversations asks our memory, a plain word search and Mem0 the same questions.
func conversations(ctx context.Context, part, mem0 string, verbose bool) error {
	talks := map[string][]int{"tune": {0, 1, 2}, "last": {3, 4, 5}, "all": {0, 1, 2, 3, 4, 5}}[part]
	recall := map[string]float64{}
	kinds := map[string]float64{}
	n, perKind := 0, map[string]int{}
	for _, number := range talks {
		t := newTalk(number)
		systems, closing, err := systemsOf(ctx, t, number, mem0)
		if err != nil {
			return err
		}
		texts := map[int]string{}
		for _, s := range t.Sessions {
			for _, one := range s {
				texts[one.ID] = one.Text
			}
		}
		for _, q := range t.Asked {
			n++
			perKind[q.Kind]++
			for name, find := range systems {
				got, err := find(q.Question)
				if err != nil {
					closing()
					return fmt.Errorf("%s: %w", name, err)
				}
				r := found(got, q.Evidence, texts)
				recall[name] += r
				if name == "anchor-host" {
					kinds[q.Kind] += r
					if verbose && r < 1 {
						fmt.Printf("miss %s\n  want %s\n  got %s\n", q.Question, texts[q.Evidence[0]], strings.Join(got, "\n      "))
					}
				}
			}
		}
		closing()
	}
	for name := range recall {
		recall[name] /= float64(n)
	}
	for kind := range kinds {
		kinds[kind] /= float64(perKind[kind])
	}
	say(map[string]any{"part": part, "questions": n, "recall_at_5": recall, "anchor_host_by_kind": kinds})
	ours := recall["anchor-host"]
	for name, r := range recall {
		if name != "anchor-host" && r >= ours {
			return fmt.Errorf("%s has a recall of %.3f, anchor-host %.3f", name, r, ours)
		}
	}
	if ours < recallTarget {
		return fmt.Errorf("recall@5 is %.3f (want %.2f)", ours, recallTarget)
	}
	return nil
}

// found returns the share of the evidence that is among the first five.
func found(got []string, evidence []int, texts map[int]string) float64 {
	hits := 0
	for _, id := range evidence {
		if slices.ContainsFunc(got[:min(5, len(got))], func(s string) bool { return strings.Contains(texts[id], s) }) {
			hits++
		}
	}
	return float64(hits) / float64(len(evidence))
}

// systemsOf gives a talk to each system.
func systemsOf(ctx context.Context, t talk, number int, mem0 string) (map[string]finder, func(), error) {
	dir, err := os.MkdirTemp("", "agents-")
	if err != nil {
		return nil, nil, err
	}
	s, err := sqlite.Open(ctx, filepath.Join(dir, "s.db"), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	closing := func() { _ = s.Close(); _ = os.RemoveAll(dir) }
	m, err := learned.Open(s, learned.Options{})
	if err != nil {
		return nil, closing, err
	}
	p := project.Project{ID: fmt.Sprintf("p-%d", number), Name: "talk"}
	plain := retrieve.Collection{Tenant: "default", Name: "plain"}
	if err := s.Index().Create(ctx, plain, retrieve.Settings{}); err != nil {
		return nil, closing, err
	}
	for i, session := range t.Sessions {
		var said []learned.Said
		var docs []retrieve.Document
		for _, one := range session {
			source := learned.User
			if one.Speaker == people[number%len(people)][1] {
				source = learned.Assistant
			}
			said = append(said, learned.Said{Source: source, Text: one.Text, At: one.At})
			docs = append(docs, retrieve.Document{ID: fmt.Sprint(one.ID), Chunks: []retrieve.Chunk{{Text: one.Text}}})
		}
		if _, err := m.Turns(ctx, p, fmt.Sprintf("session-%d", i), said); err != nil {
			return nil, closing, err
		}
		if err := s.Index().Upsert(ctx, plain, docs...); err != nil {
			return nil, closing, err
		}
	}
	systems := map[string]finder{
		"anchor-host": func(q string) (out []string, err error) {
			notes, err := m.Search(ctx, p, q, 5, 0)
			for _, n := range notes {
				out = append(out, n.Text)
			}
			return out, err
		},
		"words": func(q string) (out []string, err error) {
			hits, err := s.Index().Search(ctx, plain, retrieve.Query{By: retrieve.ByWords, Text: q, K: 5})
			for _, h := range hits {
				out = append(out, h.Text)
			}
			return out, err
		},
	}
	if mem0 != "" {
		find, end, err := startMem0(ctx, mem0, dir, t)
		if err != nil {
			return nil, closing, err
		}
		systems["mem0"] = find
		closing = func() { end(); _ = s.Close(); _ = os.RemoveAll(dir) }
	}
	return systems, closing, nil
}

//go:embed peer.py
var mem0Script string

// startMem0 runs Mem0 in a process of its own, with our table behind the API of OpenAI's embeddings as its embedder,
// and gives it the talk as it is, without a model that would rewrite it.
func startMem0(ctx context.Context, python, dir string, t talk) (finder, func(), error) {
	address, stop, err := serveEmbedder(ctx)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", mem0Script, address, filepath.Join(dir, "mem0"))
	cmd.Env = []string{"HOME=" + dir, "MEM0_DIR=" + filepath.Join(dir, "mem0"), "MEM0_TELEMETRY=False", "OPENAI_API_KEY=made-up", "PATH=" + os.Getenv("PATH")}
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, stop, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, stop, err
	}
	lines := json.NewDecoder(out)
	to := json.NewEncoder(in)
	end := func() { _ = in.Close(); _ = cmd.Wait(); stop() }
	ask := func(v any) (got []string, err error) {
		if err = to.Encode(v); err == nil {
			err = lines.Decode(&got)
		}
		return got, err
	}
	for _, session := range t.Sessions {
		for _, one := range session {
			if _, err := ask(map[string]string{"add": one.Text}); err != nil {
				end()
				return nil, nil, err
			}
		}
	}
	return func(q string) ([]string, error) { return ask(map[string]string{"search": q}) }, end, nil
}

// serveEmbedder answers the API of OpenAI's embeddings with the table of the program.
func serveEmbedder(ctx context.Context) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input any `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var texts []string
		switch input := body.Input.(type) {
		case string:
			texts = []string{input}
		case []any:
			for _, one := range input {
				texts = append(texts, fmt.Sprint(one))
			}
		}
		vectors, err := builtin.Embedder().Embed(ctx, retrieve.SideDocument, texts)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var data []any
		for i, v := range vectors {
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "table", "data": data, "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
	})}
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}
