package learned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// IDs of the documents of a collection begin with what they are of.
const (
	noteDocs = "n/"
	turnDocs = "t/"
)

// DefaultLimit is how many notes a search returns if it states no number.
const DefaultLimit = 5

// touchAfter is how old the last use of a note must be for a search to note another one.
const touchAfter = 24 * time.Hour

// Search returns what of a project matters to a question: facts, frames and turns, those of all projects of the user
// included, the best first. It returns at most limit notes, 0 means DefaultLimit, that have at most so many tokens
// together, 0 means any number; a turn that is too long is cut. Notes that are held are left out.
func (m *Memory) Search(ctx context.Context, p project.Project, question string, limit, tokens int) ([]Note, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	question = cut(strings.ToValidUTF8(question, " "), maxQuestion)
	if strings.TrimSpace(question) == "" {
		return nil, nil
	}
	found, err := m.found(ctx, p, question, limit)
	if err != nil {
		return nil, err
	}
	general, err := m.found(ctx, everywhere, question, limit)
	if err != nil {
		return nil, err
	}
	found = append(found, general...)
	slices.SortStableFunc(found, func(a, b Note) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
	})
	found = once(found)
	found = trim(found[:min(len(found), limit)], tokens)
	m.touch(ctx, p, found)
	return found, nil
}

// once leaves out turns that say what a better note says, such as the fact that was taken from them, and the other way
// round.
func once(found []Note) (out []Note) {
	for _, n := range found {
		same := func(o Note) bool {
			return strings.Contains(o.Text, strings.TrimRight(n.Text, ".")) || n.Kind == Turn && strings.Contains(n.Text, strings.TrimRight(o.Text, "."))
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, n)
		}
	}
	return out
}

// maxQuestion is how many bytes of a question are searched.
const maxQuestion = 16 << 10

// trim keeps the notes that fit.
func trim(found []Note, tokens int) []Note {
	if tokens <= 0 {
		return found
	}
	var out []Note
	for _, n := range found {
		cost := Tokens(n.Text) + noteTokens
		if cost > tokens && n.Kind != Fact && tokens > 4*noteTokens {
			n.Text = cut(n.Text, 3*(tokens-noteTokens-1)) + "…"
			cost = Tokens(n.Text) + noteTokens
		}
		if cost <= tokens {
			tokens -= cost
			out = append(out, n)
		}
	}
	return out
}

// found searches the collection of a project.
func (m *Memory) found(ctx context.Context, of project.Project, question string, limit int) ([]Note, error) {
	if m.index == nil {
		return m.foundAmongNewest(ctx, of, question)
	}
	c := m.collection(of)
	hits, err := m.hits(ctx, c, question, 3*limit)
	if errors.Is(err, retrieve.ErrNotFound) || errors.Is(err, retrieve.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("agent memory: search %s: %w", of.ID, err)
	}
	var out []Note
	seen := make(map[string]bool)
	for i := range hits {
		h := &hits[i]
		if seen[h.Document] || len(out) >= limit || h.Words == 0 && h.Cosine < near && h.Cosine != 0 {
			continue
		}
		seen[h.Document] = true
		n, ok, err := m.noteOf(ctx, of, h)
		if err != nil {
			return nil, err
		}
		if ok && (of.ID != note.Everywhere || h.Words > 0) {
			out = once(append(out, n)) // each note is read from the store, so no more than are needed
		}
	}
	return out, nil
}

// The settings of searches, the best for conversations: notes are short, and their length says nothing.
var (
	vectorWeight = 0.3
	neighbours   = 0.0
	lengths      = 0.0
)

// near is the cosine from which a note that has no word of the question may answer it.
const near = 0.35

// common is the share of the best score by words below which a word alone says nothing: the name of the project or of
// a person is in nearly all notes, and would decide which vectors are near.
const common = 0.25

// hits searches a collection by words and by vectors. The vector of the question is made of the words that tell notes
// apart.
func (m *Memory) hits(ctx context.Context, c retrieve.Collection, question string, k int) ([]retrieve.Hit, error) {
	q := retrieve.Query{Text: question, K: max(tellingHits, k), VectorWeight: &vectorWeight, Neighbours: &neighbours, B: &lengths}
	q, err := retrieve.Prepare(ctx, m.index, c, m.o.Embedder, q)
	if err != nil {
		return nil, err
	}
	hits, err := m.index.Search(ctx, c, q)
	if err != nil {
		return nil, err
	}
	q.K = k
	if rest := telling(question, hits); rest != question && q.Vector != nil {
		vectors, err := retrieve.Embed(ctx, m.o.Embedder, retrieve.SideQuery, []string{rest})
		if err != nil {
			return nil, err
		}
		q.Vector = vectors[0]
		return m.index.Search(ctx, c, q)
	}
	return hits[:min(len(hits), k)], nil
}

// tellingHits is how many hits tell common words. The text of each is read from the store.
const tellingHits = 32

// telling is a question without its common words, unless it has no others. A word is common if a note that has no
// other word of the question scores little by it, or if most hits are such notes.
func telling(question string, hits []retrieve.Hit) string {
	asked := termSet(question)
	best, alone, times := 0.0, make(map[string]float64), make(map[string]int)
	for i := range hits {
		best = max(best, hits[i].Words)
		only, n := "", 0
		for s := analyzer.Scanner(hits[i].Text); n < 2 && s.Next(); {
			if t := analyzer.Term(string(s.Word())); asked[t] && t != only {
				only, n = t, n+1
			}
		}
		if n == 1 {
			alone[only] = max(alone[only], hits[i].Words)
			times[only]++
		}
	}
	var kept []string
	for _, word := range strings.Fields(question) {
		drop := false
		for t := range termSet(word) {
			score, ok := alone[t]
			drop = drop || ok && (score < common*best || 2*times[t] > len(hits))
		}
		if !drop {
			kept = append(kept, word)
		}
	}
	if rest := strings.Join(kept, " "); len(kept) < len(strings.Fields(question)) && len(termSet(rest)) > 0 {
		return rest
	}
	return question
}

// noteOf returns the note of a hit. A note that was deleted or is held is none.
func (m *Memory) noteOf(ctx context.Context, of project.Project, h *retrieve.Hit) (n Note, ok bool, err error) {
	if id, isNote := strings.CutPrefix(h.Document, noteDocs); isNote {
		rec, err := m.store.Get(ctx, m.key(of), id)
		if errors.Is(err, store.ErrNotFound) {
			return n, false, nil
		}
		if err == nil {
			n, err = note.Decode(&rec)
		}
		n.Score = h.Score
		return n, err == nil && n.Held == "", err
	}
	return Note{ID: h.Document, Kind: Turn, Text: h.Text, Status: Accepted, Source: note.Source(h.Meta["role"]), Project: of.ID, ProjectName: of.Name, Session: h.Meta["session"], At: h.Time, Score: h.Score}, true, nil
}

// foundAmongNewest searches the newest notes by the share of the question's words that they have.
func (m *Memory) foundAmongNewest(ctx context.Context, of project.Project, question string) ([]Note, error) {
	list, err := m.newest(ctx, of, startNotes)
	words := termSet(question)
	var out []Note
	for _, n := range list {
		if n.Score = share(words, termSet(n.Text)); n.Score > 0 && n.Held == "" {
			out = append(out, n)
		}
	}
	return out, err
}

// touch notes that notes were used. It is left out if it fails: an answer does not depend on it.
func (m *Memory) touch(ctx context.Context, p project.Project, found []Note) {
	now := m.o.Now().UTC().Truncate(time.Second)
	for _, n := range found {
		if n.Kind == Turn || now.Sub(n.Used) < touchAfter || now.Sub(n.At) < touchAfter {
			continue
		}
		of := p
		if n.Project == note.Everywhere {
			of = everywhere
		}
		_ = m.change(ctx, of, n.ID, func(n *Note) { n.Used, n.Uses = now, n.Uses+1 })
	}
}

// enter makes notes searchable.
func (m *Memory) enter(ctx context.Context, of project.Project, notes []Note) error {
	if m.index == nil {
		return nil
	}
	docs := make([]retrieve.Document, len(notes))
	for i := range notes {
		docs[i] = retrieve.Document{ID: noteDocs + notes[i].ID, Time: notes[i].At, Chunks: []retrieve.Chunk{{Text: notes[i].Text}}}
	}
	return m.upsert(ctx, of, docs)
}

// upsert writes documents with their vectors, and makes the collection first if there is none.
func (m *Memory) upsert(ctx context.Context, of project.Project, docs []retrieve.Document) error {
	c := m.collection(of)
	wrap := func(err error) error {
		if err != nil {
			return fmt.Errorf("agent memory: index of %s: %w", of.ID, err)
		}
		return nil
	}
	model, err := m.o.Embedder.Model(ctx)
	if err != nil {
		return wrap(err)
	}
	has, err := m.index.Settings(ctx, c)
	if errors.Is(err, retrieve.ErrNotFound) {
		has.Model = model
		err = m.index.Create(ctx, c, retrieve.Settings{Model: model, Vectors: retrieve.VectorsInt8})
	}
	if err == nil && has.Model == model {
		err = m.embed(ctx, docs)
	}
	if err == nil {
		err = m.index.Upsert(ctx, c, docs...)
	}
	return wrap(err)
}

// embed gives the chunks of documents vectors.
func (m *Memory) embed(ctx context.Context, docs []retrieve.Document) error {
	var texts []string
	for i := range docs {
		for j := range docs[i].Chunks {
			texts = append(texts, docs[i].Searched(j))
		}
	}
	vectors, err := retrieve.Embed(ctx, m.o.Embedder, retrieve.SideDocument, texts)
	if err != nil {
		return err
	}
	for i := range docs {
		for j := range docs[i].Chunks {
			docs[i].Chunks[j].Vector, vectors = vectors[0], vectors[1:]
		}
	}
	return nil
}
