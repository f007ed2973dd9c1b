// Package learned keeps what agents learn in one session for the next: facts, frames and what was said, by project and
// user, inside of a tenant.
//
//	m, err := learned.Open(s, learned.Options{Tenant: store.DefaultTenant, User: "ann"})
//	…
//	notes, err := m.Start(ctx, p, 1000)                      // a session begins
//	notes, err = m.Search(ctx, p, "how do tests run?", 5, 800) // a prompt was submitted
//	_, err = m.Learn(ctx, p, learned.Candidate{Text: "Tests run with make test.", Source: learned.Assistant})
//	_, err = m.Turns(ctx, p, session, turns)                  // a session ends
//
// Notes are records of their own and not facts of package memory: builds for a user offer all facts of that user, and
// a note must never get into another project. Each project of each user has its own stream of records and its own
// collection, so that no filter stands between two projects.
package learned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/store"
)

// Note is one thing that agents remember. See package note.
type Note = note.Note

// Source says who stated a note.
type Source = note.Source

// What notes are, who stated them, and whether a person has agreed.
const (
	Fact  = note.Fact
	Frame = note.Frame
	Turn  = note.Turn

	Accepted = note.Accepted
	Pending  = note.Pending

	User      = note.User
	Assistant = note.Assistant
	Tool      = note.Tool
)

// ErrNotFound means that there is no such note.
var ErrNotFound = errors.New("no such note")

// MaxNotes is how many notes a project of a user has. Those that were forgotten most go first.
const MaxNotes = 5000

// Options are those of Open.
type Options struct {
	// Tenant is the owner. Empty means store.DefaultTenant.
	Tenant string
	// User is the user in the tenant, empty for a store of one user.
	User string
	// Embedder makes the vectors. nil means the table in the program. Vectors of another model are not used: then
	// notes are found by words.
	Embedder retrieve.Embedder
	// Extractor takes facts from turns, for example by asking a model. nil means only the rules of this package.
	Extractor memory.Extractor
	// Now is time.Now when nil.
	Now func() time.Time
}

// Memory is what agents of one user have learned. It is safe for concurrent use, also by several processes.
type Memory struct {
	o     Options
	store store.Store
	index retrieve.Index // nil if the store has none: then only the newest notes are searched
}

// Open returns the memory of a user in a store. It reads and writes nothing yet.
func Open(s store.Store, o Options) (*Memory, error) {
	if !utf8.ValidString(o.User) || len(o.User) > store.MaxName || strings.ContainsFunc(o.User, func(r rune) bool { return r < ' ' }) {
		return nil, fmt.Errorf("agent memory: user %.100q: %w (want at most 256 bytes of UTF-8 without control characters)", o.User, store.ErrInvalid)
	}
	o.Tenant = cmp.Or(o.Tenant, store.DefaultTenant)
	if o.Embedder == nil {
		o.Embedder = builtin.Embedder()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	index, _ := agentstore.IndexOf(s)
	return &Memory{o: o, store: s, index: index}, nil
}

// everywhere stands for all projects of the user.
var everywhere = project.Project{ID: note.Everywhere}

// key is the key of the notes of a project.
func (m *Memory) key(p project.Project) store.Key {
	return store.Key{Tenant: m.o.Tenant, Kind: note.KindNote, Stream: Stream(p.ID, m.o.User)}
}

// Tokens estimates the tokens of a text from above: 3.5 bytes of ASCII, or 2.5 bytes of other scripts, are one. Code and
// prose have fewer in the encodings of current models.
func Tokens(text string) int {
	other := 0
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			other++
		}
	}
	return (10*(len(text)-other) + 14*other + 34) / 35
}

// A session begins with the best of the newest notes.
const (
	startNotes  = 512
	startFrames = 2
	// faded is the retention below which a session does not begin with a fact. Searches still find it.
	faded = 0.05
)

// Start returns what a session begins with: facts that hold in all projects, those of this one, and the newest frames,
// within a number of tokens. Notes that are held are left out. An older fact that a newer one supersedes stands right
// behind it. The order depends on the notes alone. A project that is not known has none.
func (m *Memory) Start(ctx context.Context, p project.Project, tokens int) ([]Note, error) {
	now := m.o.Now()
	var all []Note
	for _, of := range []project.Project{everywhere, p} {
		list, err := m.newest(ctx, of, startNotes)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	var facts, frames []Note
	for _, n := range all {
		switch {
		case n.Held != "":
		case n.Kind == Frame:
			frames = append(frames, n)
		case retention(&n, now) >= faded:
			facts = append(facts, n)
		}
	}
	slices.SortStableFunc(frames, func(a, b Note) int { return b.At.Compare(a.At) })
	frames = frames[:min(len(frames), startFrames)]
	slices.SortStableFunc(facts, func(a, b Note) int {
		return cmp.Or(cmp.Compare(worth(&b, now), worth(&a, now)), b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
	})
	return fit(withOlder(facts), frames, tokens), nil
}

// retention is how well a fact is remembered, 1 to 0: half after thirty days without use, and later after each use.
func retention(n *Note, now time.Time) float64 {
	last := n.At
	if n.Used.After(last) {
		last = n.Used
	}
	days := max(0, now.Sub(last).Hours()/24)
	return math.Exp2(-days / (30 * (1 + float64(min(n.Uses, 100)))))
}

// worth is by what facts are ordered: rounded, so that the order does not change with every second.
func worth(n *Note, now time.Time) float64 {
	w := retention(n, now)
	if n.Status == Pending {
		w *= 0.7
	}
	return math.Round(w*20) / 20
}

// withOlder puts superseded facts behind those that supersede them.
func withOlder(facts []Note) []Note {
	byID := make(map[string]*Note, len(facts))
	for i := range facts {
		byID[facts[i].ID] = &facts[i]
	}
	var out []Note
	done := make(map[string]bool, len(facts))
	add := func(n *Note) {
		if !done[n.ID] {
			done[n.ID] = true
			out = append(out, *n)
		}
	}
	for i := range facts {
		n := &facts[i]
		if n.SupersededBy != "" && byID[n.SupersededBy] != nil {
			continue // it comes behind the newer one
		}
		add(n)
		for _, id := range n.Supersedes {
			if older := byID[id]; older != nil {
				add(older)
			}
		}
	}
	for i := range facts { // of two that replace each other
		add(&facts[i])
	}
	return out
}

// fit takes facts and frames while there is room. Frames may have a third of it.
func fit(facts, frames []Note, tokens int) []Note {
	var kept, tail []Note
	room := tokens / 3
	for _, n := range frames {
		if cost := Tokens(n.Text) + noteTokens; cost <= room {
			room -= cost
			tokens -= cost
			tail = append(tail, n)
		}
	}
	for _, n := range facts {
		if cost := Tokens(n.Text) + noteTokens; cost <= tokens {
			tokens -= cost
			kept = append(kept, n)
		}
	}
	return append(kept, tail...)
}

// noteTokens is what [Text] writes around a note, in tokens.
const noteTokens = 16

// newest returns the newest notes of a project, oldest first. Damaged ones are left out.
func (m *Memory) newest(ctx context.Context, p project.Project, n int) ([]Note, error) {
	recs, err := m.store.Last(ctx, m.key(p), n)
	var damaged *store.CorruptError
	if err != nil && !errors.As(err, &damaged) {
		return nil, fmt.Errorf("agent memory: read notes of %s: %w", p.ID, err)
	}
	list := make([]Note, 0, len(recs))
	for i := range recs {
		if n, err := note.Decode(&recs[i]); err == nil {
			list = append(list, n)
		}
	}
	return list, nil
}

// Get returns a note of a project, or of all projects, with its whole text. The error wraps ErrNotFound if there is
// none of that ID.
func (m *Memory) Get(ctx context.Context, p project.Project, id string) (Note, error) {
	for _, of := range []project.Project{p, everywhere} {
		rec, err := m.store.Get(ctx, m.key(of), id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return Note{}, fmt.Errorf("note %.100q: %w", id, err)
		}
		return note.Decode(&rec)
	}
	return Note{}, fmt.Errorf("note %.100q: %w", id, ErrNotFound)
}

// Text writes notes as statements for a model, one line or paragraph each, in their order, with what is not certain
// about them. Empty without notes.
func Text(notes []Note) string {
	var b strings.Builder
	for i := range notes {
		n := &notes[i]
		b.WriteString("- ")
		b.WriteString(n.Text)
		switch {
		case n.SupersededBy != "":
			fmt.Fprintf(&b, " (of %s; a newer note replaces it)", n.At.Format(time.DateOnly))
		case n.Status == Pending:
			fmt.Fprintf(&b, " (of %s; not reviewed)", n.At.Format(time.DateOnly))
		default:
			fmt.Fprintf(&b, " (of %s)", n.At.Format(time.DateOnly))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
