package hf

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// Tokenizer counts as a file says. It is immutable and safe for concurrent use.
type Tokenizer struct {
	raw, normal *addedTokens // found before and after the text is normalized
	normalizing normalizing
	splitting   splitting
	model       model
	lister      lister // of the model; nil for Unigram
	lines       lineRule
	maxID       uint32    // of the model
	longest     int       // bytes of the longest token, for Truncate
	pool        sync.Pool // of *run
}

// Read reads a file. The error names the member that is wrong or not supported.
func Read(data []byte) (*Tokenizer, error) { return read(data, false) }

func read(data []byte, listing bool) (*Tokenizer, error) {
	d, err := readDocument(data)
	if err != nil {
		return nil, err
	}
	if d.model.listing = listing; listing {
		if err := d.model.checkNumbers(); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
	}
	t := new(Tokenizer)
	var parts reader
	t.normalizing.linewise = true
	if err := parts.readNormalizer(d.normalizer, 0, &t.normalizing); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if err := parts.readSplit(d.preTokenizer, 0, &t.splitting); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if err := t.setAdded(d.added); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	t.setLines(d.model, d.added)
	if t.model, err = d.model.build(t.splitting.bytes); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	t.lister, _ = t.model.(lister)
	for _, n := range d.model.numbers {
		t.maxID = max(t.maxID, uint32(n))
	}
	if m, ok := t.model.(*merging); ok {
		t.cutWords(m, d.model)
	}
	t.pool.New = func() any {
		if m, ok := t.model.(*merging); ok {
			return &run{Run: bpe.NewRun(m.merges)}
		}
		return &run{Run: bpe.NewRun(nil)}
	}
	return t, nil
}

// setAdded prepares the search for added tokens.
func (t *Tokenizer) setAdded(added []addedToken) error {
	r := &run{Run: bpe.NewRun(nil)}
	var tokens [2][]addedToken
	var texts [2][]string
	for _, a := range added {
		i, text := 0, a.Content
		if a.Normalized {
			r.room = maxAddedLen
			i, text = 1, t.normalizing.apply(r, text)
			if r.err != nil {
				return fmt.Errorf("%.40q: %w", a.Content, r.err)
			}
		}
		tokens[i], texts[i] = append(tokens[i], a), append(texts[i], text)
	}
	t.raw, t.normal = newAddedTokens(tokens[0], texts[0]), newAddedTokens(tokens[1], texts[1])
	return nil
}

// setLines finds out where texts can be divided, and the length of the longest token.
func (t *Tokenizer) setLines(v *vocabulary, added []addedToken) {
	t.lines = t.splitting.lines
	across := false // a token has something after a line feed
	for token := range v.ids {
		t.longest = max(t.longest, len(token))
		across = across || crossesLine(token)
	}
	_, feed := v.ids["\n"]
	if t.lines == afterLine && (across || t.splitting.bytes || !feed && !v.byteFallback) {
		t.lines = noLine
	}
	for _, a := range added {
		if a.LStrip && !a.Special || crossesLine(a.Content) || t.lines == beforeLine && strings.Contains(a.Content, "\n") {
			t.lines = noLine
		}
	}
	if !t.normalizing.linewise {
		t.lines = noLine
	}
}

// crossesLine reports whether a text has something other than line feeds after a line feed.
func crossesLine(text string) bool {
	_, after, ok := strings.Cut(text, "\n")
	return ok && strings.Trim(after, "\n") != ""
}

// Count returns the number of tokens of a text. The error is that of ctx, or says that the
// normalizers of the file add too much to the text.
func (t *Tokenizer) Count(ctx context.Context, text string) (int, error) {
	r := t.pool.Get().(*run)
	defer t.pool.Put(r)
	r.tokens = 0
	if err := t.run(ctx, r, text); err != nil {
		return 0, err
	}
	return r.tokens, nil
}

// run counts or lists the tokens of a text in r.
func (t *Tokenizer) run(ctx context.Context, r *run, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Begin(ctx.Done())
	defer r.End()
	if !utf8.ValidString(text) {
		text = repair(text)
	}
	r.err, r.room = nil, maxGrowth*len(text)+spareGrowth
	t.raw.each(r, text, func(part string, at int) {
		t.normal.each(r, t.normalizing.apply(r, part), func(piece string, from int) {
			t.stage(r, 0, piece, at == 0 && from == 0)
		})
	})
	if r.err != nil {
		return fmt.Errorf("count tokens: %w", r.err)
	}
	if r.Poll() {
		return fmt.Errorf("count tokens: %w", ctx.Err())
	}
	return nil
}

// stage runs the stages from number k on, and counts the pieces after the last one.
func (t *Tokenizer) stage(r *run, k int, text string, first bool) {
	switch {
	case text == "" || r.Stopped():
	case k < len(t.splitting.stages):
		t.splitting.stages[k](r, text, first, func(piece string, first bool) { t.stage(r, k+1, piece, first) })
	case r.listing:
		t.lister.list(r, text)
	default:
		r.tokens += t.model.count(r, text)
	}
}

// repair replaces each byte outside of valid UTF-8 by U+FFFD.
func repair(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}
