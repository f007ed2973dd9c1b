package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agents/repo"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/tokens"
)

//go:embed questions.jsonl
var questions []byte

// question is one about a repository, with the file and the lines that answer it.
type question struct {
	Repo     string `json:"repo"`
	Question string `json:"question"`
	File     string `json:"file"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	// Last keeps the question for the last run: nothing is tuned by it.
	Last bool `json:"last"`
}

// budget is what the context of a prompt has, in tokens of o200k_base.
const budget = 2500

// filesTarget is the share of questions whose file must be in the context.
const filesTarget = 0.6

// scores counts hits.
type scores struct {
	Questions int     `json:"questions"`
	File      float64 `json:"file"`
	Lines     float64 `json:"lines"`
	RgFile    float64 `json:"rg_file"`
	RgNaive   float64 `json:"rg_naive"`
	MaxTokens int     `json:"max_tokens"`
}

func files(ctx context.Context, repos, part string, verbose bool) error {
	list, err := load(part)
	if err != nil {
		return err
	}
	enc, err := tokens.Get("o200k_base")
	if err != nil {
		return err
	}
	sources, closing, err := openAll(ctx, repos)
	if err != nil {
		return err
	}
	defer closing()
	var all scores
	byRepo := map[string]*scores{}
	for _, q := range list {
		if byRepo[q.Repo] == nil {
			byRepo[q.Repo] = &scores{}
		}
		chunks, err := sources[q.Repo].Search(ctx, q.Question, budget)
		if err != nil {
			return err
		}
		counts, err := enc.Count(ctx, textOf(chunks))
		if err != nil {
			return err
		}
		file := slices.ContainsFunc(chunks, func(c repo.Chunk) bool { return c.Path == q.File })
		lines := slices.ContainsFunc(chunks, func(c repo.Chunk) bool { return c.Path == q.File && c.From <= q.To && c.To >= q.From })
		ranked, naive, err := grep(ctx, enc, filepath.Join(repos, q.Repo), q)
		if err != nil {
			return err
		}
		for _, s := range []*scores{&all, byRepo[q.Repo]} {
			s.Questions++
			s.File += one(file)
			s.Lines += one(lines)
			s.RgFile += one(ranked)
			s.RgNaive += one(naive)
			s.MaxTokens = max(s.MaxTokens, counts[0])
		}
		if verbose && !file {
			var got []string
			for _, c := range chunks {
				got = append(got, fmt.Sprintf("%s:%d %.2f", c.Path, c.From, c.Score))
			}
			fmt.Printf("miss %s: %s\n  want %s:%d, got %s\n", q.Repo, q.Question, q.File, q.From, strings.Join(got, ", "))
		}
	}
	for name, s := range byRepo {
		say(map[string]any{"repo": name, "scores": s.share()})
	}
	say(map[string]any{"part": part, "scores": all.share()})
	switch {
	case all.File < filesTarget:
		return fmt.Errorf("the file is in the context for %.2f of the questions (want %.2f)", all.File, filesTarget)
	case all.File < all.RgFile:
		return fmt.Errorf("ripgrep finds more files: %.2f against %.2f", all.RgFile, all.File)
	case all.MaxTokens > budget:
		return fmt.Errorf("a context has %d tokens (want at most %d)", all.MaxTokens, budget)
	}
	return nil
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s *scores) share() *scores {
	n := float64(max(s.Questions, 1))
	s.File, s.Lines, s.RgFile, s.RgNaive = s.File/n, s.Lines/n, s.RgFile/n, s.RgNaive/n
	return s
}

func load(part string) (list []question, err error) {
	for line := range bytes.Lines(questions) {
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, err
		}
		if part == "all" || q.Last == (part == "last") {
			list = append(list, q)
		}
	}
	return list, nil
}

// openAll ingests the repositories into one store, and measures how long an unchanged one takes.
func openAll(ctx context.Context, repos string) (map[string]*repo.Source, func(), error) {
	dir, err := os.MkdirTemp("", "agents-")
	if err != nil {
		return nil, nil, err
	}
	s, err := sqlite.Open(ctx, filepath.Join(dir, "s.db"), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	closing := func() { _ = s.Close(); _ = os.RemoveAll(dir) }
	out := map[string]*repo.Source{}
	for _, name := range []string{"cobra", "flask", "fastify"} {
		p := project.Project{ID: "p-" + name, Name: name, Root: filepath.Join(repos, name)}
		source, err := repo.Open(s, p, repo.Options{})
		if err != nil {
			return nil, closing, err
		}
		first, err := source.Refresh(ctx, repo.Bounds{})
		if err != nil {
			return nil, closing, err
		}
		again, err := source.Refresh(ctx, repo.Bounds{})
		if err != nil {
			return nil, closing, err
		}
		say(map[string]any{"repo": name, "first": first, "unchanged": again})
		if !first.Done || first.Added == 0 || again.Unchanged != again.Files {
			return nil, closing, fmt.Errorf("%s was not read whole, or again (is it in %s?)", name, repos)
		}
		out[name] = source
	}
	return out, closing, nil
}

// grep reports whether ripgrep with the words of the question shows the file within the budget: with the files ordered
// by how many of the words they have, and in the order of rg.
func grep(ctx context.Context, enc *tokens.Encoding, root string, q question) (ranked, naive bool, err error) {
	var words []string
	for _, w := range regexp.MustCompile(`[A-Za-z0-9_]+`).FindAllString(strings.ToLower(q.Question), -1) {
		if !analysis.EnglishStopWord(w) && len(w) > 2 && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	cmd := exec.CommandContext(ctx, "rg", "-n", "-i", "--no-heading", "--sort", "path", "-M", "200", "-e", strings.Join(words, "|"), ".")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return false, false, fmt.Errorf("rg: %w", err)
	}
	naive, err = shows(ctx, enc, strings.Split(string(out), "\n"), q.File)
	if err != nil {
		return false, false, err
	}
	lines := map[string][]string{}
	has := map[string]map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, ":")
		if lines[name] = append(lines[name], strings.TrimSuffix(line, "\n")); has[name] == nil {
			has[name] = map[string]bool{}
		}
		for _, w := range words {
			if strings.Contains(strings.ToLower(line), w) {
				has[name][w] = true
			}
		}
	}
	var names []string
	for name := range lines {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(has[b]), len(has[a])), cmp.Compare(len(lines[b]), len(lines[a])), strings.Compare(a, b))
	})
	var ordered []string
	for _, name := range names {
		ordered = append(ordered, lines[name][:min(len(lines[name]), 20)]...) // as an agent pipes it into head
	}
	ranked, err = shows(ctx, enc, ordered, q.File)
	return ranked, naive, err
}

// shows reports whether the first lines within the budget have one of a file.
func shows(ctx context.Context, enc *tokens.Encoding, lines []string, file string) (bool, error) {
	counts, err := enc.Count(ctx, lines...)
	if err != nil {
		return false, err
	}
	used := 0
	for i, line := range lines {
		if used += counts[i] + 1; used > budget {
			return false, nil
		}
		if strings.HasPrefix(strings.TrimPrefix(line, "./"), file+":") {
			return true, nil
		}
	}
	return false, nil
}

// textOf writes chunks for a model: for each its path with lines, and its text. It is empty without chunks.
func textOf(chunks []repo.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "%s:%d-%d\n%s\n\n", c.Path, c.From, c.To, strings.TrimRight(c.Text, "\n"))
	}
	return b.String()
}
