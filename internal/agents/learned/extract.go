package learned

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// maxExtracted is how many facts one call takes from turns.
const maxExtracted = 20

// The sentences that are facts without a model: what the user wants to be remembered or does as a habit, and what an
// agent found out. Few of them are wrong, because all others are found as turns.
var (
	remember = lazily(`(?i)^(?:please |and |also |btw,? )*(?:remember|note|keep in mind|don't forget|do not forget|for the record|fyi)(?: that|:|,)?\s+`)
	habits   = lazily(`(?i)\b(?:we|i|our team|this project|this repo(?:sitory)?)\s+(?:always|never|usually|only|prefer|don't use|do not use|use|avoid|deploy|require|want|like)\b|\bfrom now on\b|\binstead of\b|^(?:always|never)\s`)
	findings = lazily(`(?i)\b(?:root cause|the cause (?:is|was)|turned out|turns out|the fix (?:is|was)|(?:was|is) (?:fixed|solved|caused) by|we decided|decided to|the reason (?:is|was)|tests? (?:run|are run) with|(?:is|are) (?:stored|located|defined|configured|generated|documented) (?:in|by|with)|lives in|builds? with)\b`)
	empty    = lazily(`(?i)^(?:let me|let's|i'll|i will|i'm going|i am going|can you|could you|would you|should i|shall i|maybe|perhaps|if )`)
)

// lazily compiles an expression at its first use: the start of every command would pay for all of them.
func lazily(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

// extract learns facts from turns: by the rules, and with the extractor if there is one. Its failure does not undo the
// others, and is not that of the store.
func (m *Memory) extract(ctx context.Context, p project.Project, session string, turns []pipeline.Turn, done *Kept) (failed, err error) {
	var list []Candidate
	for _, t := range turns {
		list = append(list, stated(&t)...)
	}
	list = list[:min(len(list), maxExtracted)]
	if m.o.Extractor != nil {
		var more []Candidate
		if more, failed, err = m.extracted(ctx, p, turns); err != nil {
			return nil, err
		}
		list = append(list, more[:min(len(more), maxExtracted)]...)
	}
	for _, c := range list {
		c.Session = session
		r, err := m.Learn(ctx, p, c)
		switch {
		case errors.Is(err, store.ErrInvalid): // what a model says may have no text: it would say so again
			r.Outcome = Refused
		case err != nil:
			return failed, err
		}
		switch r.Outcome {
		case Added:
			done.Added++
		case Known:
			done.Known++
		case Refused:
			done.Refused++
		}
	}
	return failed, m.collect(ctx, p)
}

// extracted asks the extractor. It sees the facts of the project that matter to the turns, and may only add: a model
// does not delete what a person accepted.
func (m *Memory) extracted(ctx context.Context, p project.Project, turns []pipeline.Turn) (out []Candidate, failed, err error) {
	var all strings.Builder
	for _, t := range turns {
		all.WriteString(cut(t.Content, 400))
		all.WriteByte('\n')
	}
	similar, err := m.Search(ctx, p, all.String(), memory.DefaultKnownFacts, 0)
	if err != nil {
		return nil, nil, err
	}
	var known []memory.Entry
	for _, n := range similar {
		if n.Kind == Fact {
			known = append(known, memory.Entry{ID: n.ID, Content: n.Text, CreatedAt: n.At, Relevance: memory.DefaultRelevance, Type: memory.Semantic})
		}
	}
	found, failed := m.o.Extractor.Extract(ctx, turns, known)
	if failed != nil {
		return nil, failed, nil
	}
	for _, e := range found.Add {
		out = append(out, Candidate{Text: cut(e.Content, 2000), Tags: e.Tags, Source: Assistant})
	}
	for _, e := range found.Update {
		out = append(out, Candidate{Text: cut(e.Content, 2000), Tags: e.Tags, Source: Assistant})
	}
	return out, nil, nil
}

// stated returns the facts in a turn. Code and quotations are left out: they are not the speaker's.
func stated(t *pipeline.Turn) (out []Candidate) {
	source, fenced := Source(t.Role), false
	for line := range strings.Lines(t.Content) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "\t") {
			continue
		}
		for _, s := range sentences(line) {
			s = strings.TrimLeft(s, "-*#0123456789.) ")
			if text := statedIn(s, source); text != "" {
				out = append(out, Candidate{Text: text, Source: source})
			}
		}
	}
	return out
}

// statedIn returns the fact of a sentence, "" if it has none.
func statedIn(s string, source Source) string {
	if len(s) < 12 || len(s) > 400 || strings.HasSuffix(s, "?") || empty().MatchString(s) || strings.Contains(s, "[secret removed]") {
		return ""
	}
	if source == Assistant {
		if findings().MatchString(s) {
			return s
		}
		return ""
	}
	if rest := remember().ReplaceAllString(s, ""); rest != s {
		if len(rest) < 8 {
			return ""
		}
		first, size := utf8.DecodeRuneInString(rest)
		return string(unicode.ToUpper(first)) + rest[size:]
	}
	if habits().MatchString(s) {
		return s
	}
	return ""
}
