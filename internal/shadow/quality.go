package shadow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/sequential"
	"github.com/anchor-host/anchor-host/pipeline"
)

// questionsFile is where "anchor-host eval init" writes questions, beside the configuration.
const questionsFile = "questions.jsonl"

// The bounds of a file of questions: its bytes, and the documents of all questions.
const maxFile, maxJudged = 2 << 20, 20_000

// Judge says how both versions are judged.
type Judge struct {
	// File has the questions. There may be no such file.
	File string
	// Tenant is whose calls are judged. The same id is another document of another tenant.
	Tenant string
	// Tokens is the size of the window, which both versions fill.
	Tokens int
	// Ranker names the documents of items.
	Ranker eval.Ranker
}

// JudgeOf returns how steps of a pipeline with the configuration c are judged.
func JudgeOf(l *config.Loaded, c *config.Config) Judge {
	return Judge{
		File: l.Path(questionsFile), Tenant: l.TenantName(), Tokens: cmp.Or(c.Window.MaxTokens, pipeline.DefaultMaxTokens),
		Ranker: eval.Ranker{Metadata: eval.DefaultIDMetadata, Prefixes: c.PluginNames()},
	}
}

// questions are those of a file, by their texts.
type questions struct {
	list    map[string]*question
	problem string // why the file is not used
}

type question struct {
	number int
	grades eval.Grades
}

// readQuestions reads a file of questions. Those with one text are one question, which all their documents answer. A
// mistake stops no configuration, because a second version changes no build.
func readQuestions(file string) (q questions) {
	list, err := questionsOf(file)
	documents := 0
	for i := range list {
		documents += len(list[i].Documents)
	}
	if documents > maxJudged {
		err = fmt.Errorf("%s: more than %d documents of questions (leave some out)", file, maxJudged)
	}
	if err != nil {
		text := err.Error()
		return questions{problem: text[:min(len(text), maxError)]}
	}
	q.list = make(map[string]*question, len(list))
	for i := range list {
		text := strings.TrimSpace(list[i].Text)
		if q.list[text] == nil {
			q.list[text] = &question{len(q.list), make(eval.Grades, len(list[i].Documents))}
		}
		for _, document := range list[i].Documents {
			q.list[text].grades[document] = 1
		}
	}
	return q
}

func questionsOf(file string) ([]eval.Question, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular(): // a pipe would wait
		err = fmt.Errorf("%s: is no file", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read questions: %w", err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("read questions: %s: larger than %d MiB (leave some out)", file, maxFile>>20)
	}
	return eval.ReadQuestions(file, bytes.NewReader(data))
}

// asks returns the judged question that a call asks, or nil.
func (r *runner) asks(ctx context.Context, q *pipeline.Query) *question {
	if len(r.set.asked.list) == 0 || host.TenantOf(ctx) != r.by.Tenant {
		return nil
	}
	return r.set.asked.list[strings.TrimSpace(q.Text)]
}

// found returns what is judged of items: those that were found, with the names of their documents as ids. They share nothing that
// changes, so that the build goes on.
func (j *Judge) found(items []pipeline.Item) []pipeline.Item {
	list := make([]pipeline.Item, 0, min(len(items), maxItems))
	for i := range items[:min(len(items), maxItems)] {
		if it := &items[i]; it.Source == pipeline.SourceRetrieval {
			list = append(list, pipeline.Item{ID: j.Ranker.Document(it), Content: it.Content, Source: it.Source, Priority: it.Priority, Score: it.Score})
		}
	}
	return list
}

// ndcg returns how good a list of found is for a question: the nDCG of the documents that fit in the window, the best items
// first. Both versions have the same estimate of tokens, whatever they say of their items.
func (j *Judge) ndcg(list []pipeline.Item, q *question) float64 {
	slices.SortStableFunc(list, func(a, b pipeline.Item) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.Score, a.Score))
	})
	left := j.Tokens
	list = slices.DeleteFunc(list, func(it pipeline.Item) bool {
		n := (len(it.Content) + bytesPerToken - 1) / bytesPerToken
		if n <= left {
			left -= n
			return false
		}
		return true
	})
	rank := eval.Ranker{ListOrder: true}
	return eval.Metric{Kind: "ndcg", K: maxItems}.Of(eval.NewScored(rank.Rank(list), q.grades))
}

// qualities compare both versions by judged questions.
type qualities struct {
	done          []bool // by number of the question
	count         int64
	first, second float64
	bets          sequential.Narrow // on differences, from 0 to 1
}

// add counts a question once: who repeats one gives it no more weight, and the values stay independent.
func (s *qualities) add(q *question, first, second float64) {
	for len(s.done) <= q.number {
		s.done = append(s.done, false)
	}
	if s.done[q.number] {
		return
	}
	s.done[q.number] = true
	s.count++
	s.first += first
	s.second += second
	s.bets.Error = reportError / intervals
	s.bets.Add((1 + second - first) / 2)
}

// report returns nil without judged questions.
func (s *qualities) report(of *questions) *shadows.Quality {
	if len(of.list) == 0 && of.problem == "" {
		return nil
	}
	n := float64(max(1, s.count))
	q := &shadows.Quality{Questions: s.count, Judged: int64(len(of.list)), First: s.first / n, Second: s.second / n, Problem: of.problem}
	_, low, high := s.bets.Interval()
	q.Difference = shadows.Mean{Mean: q.Second - q.First, Low: 2*low - 1, High: 2*high - 1}
	return q
}
