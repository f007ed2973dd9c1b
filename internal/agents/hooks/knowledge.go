package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agents/repo"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// known is what agents have learned, and the files of projects.
type known struct {
	store  store.Store
	tenant string
	memory *learned.Memory
	alone  bool

	mu    sync.Mutex
	sizes map[retrieve.Collection]sized
}

// sized is how many chunks a collection had at a time.
type sized struct {
	chunks int
	at     time.Time
}

// sizeAge is how old a number of chunks may be, and maxSizes bounds how many are remembered.
const (
	sizeAge  = 10 * time.Second
	maxSizes = 1000
)

// chunks returns about how many chunks a collection has. The error is retrieve.ErrNotFound if there is none.
func (k *known) chunks(ctx context.Context, index retrieve.Index, c retrieve.Collection) (int, error) {
	k.mu.Lock()
	s, ok := k.sizes[c]
	k.mu.Unlock()
	if ok && time.Since(s.at) < sizeAge {
		return s.chunks, nil
	}
	info, err := index.Collection(ctx, c)
	if err != nil {
		return 0, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.sizes) >= maxSizes {
		clear(k.sizes)
	}
	k.sizes[c] = sized{info.Chunks, time.Now()}
	return info.Chunks, nil
}

// A process of its own reads all of an index for one search, and a service only what changed since the last one. So
// files of more than aloneChunks chunks are left to a service, which searches more than vectorChunks by words alone.
const (
	aloneChunks  = 8_000
	vectorChunks = 30_000
)

// Known returns the knowledge that a store has of the projects of a user of a tenant; user is empty on the user's own
// machine. alone says that it is for a few events only, as in a process that ends.
func Known(s store.Store, tenant, user string, alone bool) (Knowledge, error) {
	m, err := learned.Open(s, learned.Options{Tenant: tenant, User: user})
	if err != nil {
		return nil, err
	}
	return &known{store: s, tenant: tenant, memory: m, alone: alone, sizes: map[retrieve.Collection]sized{}}, nil
}

// charsPerToken converts the budget of a client, in characters, into the tokens of package learned.
const charsPerToken = 3

// factShare is the part of a prompt's budget that facts and frames may take, in percent. The rest is for files.
const factShare = 40

// refreshTime bounds how long a session waits for the files of its project, and refreshMost how long if what is known
// of them takes that time already, as for 50,000 files on a busy machine. The notes of the session do not wait longer.
const refreshTime = 300 * time.Millisecond

var refreshMost = time.Second

// project returns the project of a place. A folder of another machine is known by its name alone.
func (k *known) project(ctx context.Context, at Place) (project.Project, error) {
	if at.Dir != "" {
		return project.Identify(ctx, at.Dir)
	}
	sum := sha256.Sum256([]byte("remote\x00" + at.Name))
	return project.Project{ID: "p-" + hex.EncodeToString(sum[:12]), Name: truncate(clean(path.Base("/"+at.Name)), 100), By: project.ByPath}, nil
}

// files returns the source of a project's files, nil if it was never read or is too large for this process.
func (k *known) files(ctx context.Context, at Place, p project.Project) (*repo.Source, error) {
	index, ok := agentstore.IndexOf(k.store)
	if at.Dir == "" || !ok {
		return nil, nil
	}
	o := repo.Options{Tenant: k.tenant}
	source, err := repo.Open(k.store, p, o)
	if err != nil {
		return nil, err
	}
	chunks, err := k.chunks(ctx, index, source.Collection())
	switch {
	case errors.Is(err, retrieve.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case k.alone && chunks > aloneChunks:
		remark(ctx, fmt.Sprintf("the files of the project are not searched: %d chunks need a running service (start: anchor-host serve)", chunks))
		return nil, nil
	case chunks > vectorChunks:
		o.Words = true
		return repo.Open(k.store, p, o)
	}
	return source, nil
}

// Start implements Knowledge. It also brings the files of the project up to date, if they were read before.
func (k *known) Start(ctx context.Context, at Place, chars int) ([]Item, error) {
	p, err := k.project(ctx, at)
	if err != nil {
		return nil, err
	}
	notes, err := k.memory.Start(ctx, p, chars/charsPerToken)
	if err != nil {
		return nil, err
	}
	items := fromNotes(notes, func(n *learned.Note) string { return "kept for this project" })
	files, err := k.files(ctx, at, p)
	if err != nil || files == nil {
		return items, err
	}
	bounded, cancel := context.WithTimeout(ctx, refreshMost)
	defer cancel()
	if _, err := files.Refresh(bounded, repo.Bounds{Time: refreshTime}); err != nil {
		remark(ctx, "the files of the project are as they were: "+err.Error())
	}
	return items, nil
}

func (k *known) Find(ctx context.Context, at Place, prompt string, chars int) ([]Item, error) {
	p, err := k.project(ctx, at)
	if err != nil {
		return nil, err
	}
	files, err := k.files(ctx, at, p)
	if err != nil {
		return nil, err
	}
	room := chars
	if files != nil {
		room = chars * factShare / 100
	}
	notes, err := k.memory.Search(ctx, p, prompt, maxNotes, room/charsPerToken)
	if err != nil {
		return nil, err
	}
	items := fromNotes(notes, func(n *learned.Note) string { return fmt.Sprintf("fits the prompt, score %.2f", n.Score) })
	if files == nil {
		return items, nil
	}
	used := 0
	for i := range items {
		used += units(items[i].Text)
	}
	chunks, err := files.Search(ctx, prompt, max(0, chars-used)/charsPerToken)
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		where := fmt.Sprintf("%s:%d-%d", c.Path, c.From, c.To)
		items = append(items, Item{Kind: "code", Handle: handle(where, c.Text), Where: where, Why: fmt.Sprintf("fits the prompt, score %.2f", c.Score), Text: c.Text})
	}
	return items, nil
}

// maxNotes is how many notes a prompt gets at most.
const maxNotes = 8

// handle names a passage by its place and its content, so that a changed one counts as new.
func handle(where, text string) string {
	sum := sha256.Sum256([]byte(where + "\x00" + text))
	return "code-" + hex.EncodeToString(sum[:6])
}

func fromNotes(notes []learned.Note, why func(*learned.Note) string) []Item {
	items := make([]Item, 0, len(notes))
	for i := range notes {
		n := &notes[i]
		text := learned.Text(notes[i : i+1])
		items = append(items, Item{Kind: string(n.Kind), Handle: n.ID, Where: n.At.Format(time.DateOnly), Why: why(n), Text: trimDash(text)})
	}
	return items
}

// trimDash takes off the dash with which package learned begins a note.
func trimDash(text string) string {
	if len(text) > 2 && text[:2] == "- " {
		return text[2:]
	}
	return text
}

// Learn implements Knowledge. Each project learns what was said in its folders.
func (k *known) Learn(ctx context.Context, at Place, session string, turns []pipeline.Turn) error {
	projects, said := map[string]project.Project{}, map[project.Project][]learned.Said{}
	for i := range turns {
		place := placeOf(at, &turns[i])
		p, ok := projects[place.Dir+"\x00"+place.Name]
		if !ok {
			var err error
			if p, err = k.project(ctx, place); err != nil {
				p, err = k.project(ctx, Place{Name: place.Dir}) // the folder is gone
			}
			if err != nil {
				return err
			}
			p.Root, p.Git = "", "" // worktrees are one project
			projects[place.Dir+"\x00"+place.Name] = p
		}
		one := learned.Said{Source: learned.User, Text: turns[i].Content, At: turns[i].CreatedAt}
		if turns[i].Role == pipeline.RoleAssistant {
			one.Source = learned.Assistant
		}
		said[p] = append(said[p], one)
	}
	for p, list := range said {
		if _, err := k.memory.Turns(ctx, p, session, list); err != nil {
			return err
		}
	}
	return nil
}

// placeOf is where a turn was said: on the machine of the event, in the folder that the turn names.
func placeOf(at Place, t *pipeline.Turn) Place {
	dir, ok := t.Metadata[dirKey].(string)
	switch {
	case !ok || dir == "":
		return at
	case at.Dir == "":
		return Place{Name: dir}
	}
	return Place{Dir: dir}
}

func (k *known) Saw(ctx context.Context, at Place, text string) error {
	if !learned.HasOrders(text) { // most results: the project is not looked for
		return nil
	}
	p, err := k.project(ctx, at)
	if err != nil {
		return err
	}
	return k.memory.ToolResult(ctx, p, text)
}

func (k *known) Summarize(ctx context.Context, at Place, session, text string) error {
	p, err := k.project(ctx, at)
	if err != nil {
		return err
	}
	_, err = k.memory.Frame(ctx, p, session, "compact", text)
	return err
}
