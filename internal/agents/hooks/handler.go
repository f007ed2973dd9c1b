package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/secrets"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/store"
)

// The defaults of [Settings].
const (
	// DefaultChars leaves room below the 10,000 characters that Claude Code takes.
	DefaultChars     = 9000
	DefaultToolChars = 16_000
	DefaultTimeout   = 2 * time.Second
)

// Settings bound what a hook adds. The zero value means the defaults.
type Settings struct {
	// Chars is how much one event adds at most, in UTF-16 units, and ToolChars how much of a text in a tool's
	// result is left. -1 switches either off.
	Chars, ToolChars int
	// Timeout bounds one event.
	Timeout time.Duration
}

func (s Settings) filled() Settings {
	s.Chars = cmp.Or(s.Chars, DefaultChars)
	s.ToolChars = cmp.Or(s.ToolChars, DefaultToolChars)
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	return s
}

// Place says which project an event belongs to.
type Place struct {
	// Dir is the folder of the session. It is empty if it may not be looked at, as it is on another machine.
	Dir string
	// Name stands for the folder where Dir is empty.
	Name string
}

// Knowledge is what is known of projects. Its calls are bounded by their context.
type Knowledge interface {
	// Start returns what a session begins with, best first, in about chars characters.
	Start(ctx context.Context, at Place, chars int) ([]Item, error)
	// Find returns what fits a prompt, best first, in about chars characters.
	Find(ctx context.Context, at Place, prompt string, chars int) ([]Item, error)
	// Learn takes all that was said in a session so far. It may be called again when there is more.
	Learn(ctx context.Context, at Place, session string, turns []pipeline.Turn) error
	// Saw takes what a tool returned, so that an order in it is not learned when the agent repeats it.
	Saw(ctx context.Context, at Place, text string) error
	// Summarize keeps the summary of a compaction.
	Summarize(ctx context.Context, at Place, session, text string) error
}

// BuildFunc runs the pipeline that the configuration names for a kind of event, and returns what it found. It
// returns nothing if there is no such pipeline.
type BuildFunc func(ctx context.Context, kind Kind, query string) ([]Item, error)

// Handler answers events. It is safe for concurrent use.
type Handler struct {
	// Store keeps turns and the originals of what was cut, for Tenant.
	Store  store.Store
	Tenant string
	// Knowledge and Build supply context. Either may be nil.
	Knowledge Knowledge
	Build     BuildFunc
	Settings  Settings
}

// Request is one event as it comes from a client.
type Request struct {
	// Client is one of [Clients], and Event the name of the event if the document does not say it.
	Client, Event string
	Body          []byte
	// Remote says that the folder of the session is on another machine.
	Remote bool
}

// Report says what an event came to. It has no text of the session.
type Report struct {
	Time    time.Time `json:"time"`
	Client  string    `json:"client"`
	Event   string    `json:"event"`
	Session string    `json:"session,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	// MS is how long the event took, in milliseconds.
	MS float64 `json:"ms"`
	// Added are the items that the answer has, LeftOut is how many did not fit, and Chars is their length.
	Added   []Item `json:"added,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	Chars   int    `json:"chars,omitempty"`
	// Cut are the handles of the texts that were cut out of a tool's result, and Saved the characters that are gone.
	Cut   []string `json:"cut,omitempty"`
	Saved int      `json:"saved,omitempty"`
	// Via is how the event was answered: host or store.
	Via string `json:"via,omitempty"`
	// Note says what the answer lacks.
	Note string `json:"note,omitempty"`
	// Error says why the event was answered with nothing.
	Error string `json:"error,omitempty"`
}

// Answer returns the answer to an event as JSON, empty if there is nothing to say, and what it came to. It never
// fails and ends soon after the timeout: an event that cannot be answered has an empty answer.
func (h *Handler) Answer(ctx context.Context, r Request) ([]byte, Report) {
	began := time.Now()
	type result struct {
		answer []byte
		report Report
	}
	ctx, cancel := context.WithTimeout(ctx, h.Settings.filled().Timeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		var out result
		defer func() {
			if problem := recover(); problem != nil { // a fault of ours must not stop an agent
				out.answer, out.report.Error = nil, fmt.Sprintf("hook: stopped by a fault: %.200v", problem)
			}
			done <- out
		}()
		out.answer, out.report = h.answer(ctx, r)
	}()
	var out result
	select {
	case out = <-done:
	case <-ctx.Done():
		out.report.Error = fmt.Sprintf("hook: too late: %v (the machine is busy, or another process holds the store)", context.Cause(ctx))
	}
	out.report.Time, out.report.MS = began.UTC(), float64(time.Since(began).Microseconds())/1000
	if out.report.Client == "" {
		out.report.Client, out.report.Event = short(r.Client), short(r.Event)
	}
	return out.answer, out.report
}

type noteKey struct{}

// remark puts a line into the report of the event.
func remark(ctx context.Context, line string) {
	if f, ok := ctx.Value(noteKey{}).(func(string)); ok {
		f(line)
	}
}

func short(s string) string { return truncate(s, 64) }

func (h *Handler) answer(ctx context.Context, r Request) ([]byte, Report) {
	e, err := Decode(r.Client, r.Event, r.Body)
	if err != nil {
		return nil, Report{Error: err.Error()}
	}
	report := Report{Client: e.Client, Event: clean(e.Name), Session: clean(e.Session), Dir: clean(e.Dir)}
	at := Place{Dir: e.Dir}
	if r.Remote || e.Dir == "" {
		at = Place{Name: e.Dir}
	}
	ctx = context.WithValue(ctx, noteKey{}, func(line string) { report.Note = line })
	answer, err := h.handle(ctx, e, at, &report)
	if err != nil {
		answer = nil
		report.Error = err.Error()
	}
	return answer, report
}

// handle does what an event of a kind asks for.
func (h *Handler) handle(ctx context.Context, e *Event, at Place, report *Report) ([]byte, error) {
	s := h.Settings.filled()
	switch e.Kind {
	case SessionStart:
		return h.context(ctx, e, at, s.Chars, report)
	case SubagentStart:
		return h.context(ctx, e, at, s.Chars/2, report)
	case Prompt:
		return h.prompt(ctx, e, at, s.Chars, report)
	case ToolUsed:
		h.saw(ctx, e, at)
		return h.toolUsed(ctx, e, s.ToolChars, report)
	case AfterCompact:
		if h.Knowledge == nil || e.Summary == "" {
			return nil, nil
		}
		return nil, h.Knowledge.Summarize(ctx, at, e.Session, clean(e.Summary))
	case Stop:
		return nil, h.say(ctx, e, pipeline.Turn{Role: pipeline.RoleAssistant, Content: e.Reply})
	case BeforeCompact, SessionEnd:
		return nil, h.learn(ctx, e, at)
	}
	return nil, nil // an event of a newer client, or the end of a subagent
}

// context answers with what a session or a subagent begins with.
func (h *Handler) context(ctx context.Context, e *Event, at Place, chars int, report *Report) ([]byte, error) {
	if chars < 0 {
		return nil, nil
	}
	var items []Item
	if h.Knowledge != nil {
		var err error
		if items, err = h.Knowledge.Start(ctx, at, chars); err != nil {
			return nil, err
		}
	}
	items, err := h.build(ctx, e, e.Source, items)
	if err != nil {
		return nil, err
	}
	answer, err := h.add(e, items, nil, chars, report)
	h.gave(ctx, at, report.Added)
	return answer, err
}

// prompt answers with what fits a prompt and was not added in this session before, and keeps the prompt.
func (h *Handler) prompt(ctx context.Context, e *Event, at Place, chars int, report *Report) ([]byte, error) {
	turn := pipeline.Turn{Role: pipeline.RoleUser, Content: e.Prompt}
	if chars < 0 || e.Prompt == "" {
		return nil, h.say(ctx, e, turn)
	}
	before, err := h.addedBefore(ctx, e)
	if err != nil {
		return nil, err
	}
	var items []Item
	if h.Knowledge != nil {
		if items, err = h.Knowledge.Find(ctx, at, truncate(clean(e.Prompt), maxQuestion), chars); err != nil {
			return nil, err
		}
	}
	if items, err = h.build(ctx, e, e.Prompt, items); err != nil {
		return nil, err
	}
	answer, err := h.add(e, items, before, chars, report)
	if err != nil {
		return nil, err
	}
	h.gave(ctx, at, report.Added)
	if len(report.Added) > 0 {
		handles := make([]any, 0, len(report.Added))
		for i := range report.Added {
			handles = append(handles, report.Added[i].Handle)
		}
		turn.Metadata = map[string]any{addedKey: handles}
	}
	return answer, h.say(ctx, e, turn)
}

// maxQuestion is how much of a prompt is searched for, in UTF-16 units.
const maxQuestion = 8000

// addedKey is the metadata of a turn that lists the handles that were added to it.
const addedKey = "anchor_host_added"

// dirKey is the metadata of a turn that has the folder in which it was said: a session may go to another project.
const dirKey = "anchor_host_dir"

// lookBack is how many turns of a session are read for what was added before. The client keeps what a hook added in
// its history, so it need not be there twice.
const lookBack = 64

// addedBefore returns the handles that this session has already.
func (h *Handler) addedBefore(ctx context.Context, e *Event) (map[string]bool, error) {
	if h.Store == nil || e.Session == "" {
		return nil, nil
	}
	recs, err := h.Store.Last(ctx, h.log(e).Key(), lookBack)
	if err != nil {
		return nil, fmt.Errorf("hook: read the session: %w", err)
	}
	before := map[string]bool{}
	for _, rec := range recs {
		var turn struct {
			Metadata map[string]json.RawMessage `json:"metadata"`
		}
		var handles []string
		if json.Unmarshal(rec.Data, &turn) == nil && json.Unmarshal(turn.Metadata[addedKey], &handles) == nil {
			for _, handle := range handles {
				before[handle] = true
			}
		}
	}
	return before, nil
}

func (h *Handler) build(ctx context.Context, e *Event, query string, items []Item) ([]Item, error) {
	if h.Build == nil {
		return items, nil
	}
	more, err := h.Build(ctx, e.Kind, query)
	return append(items, more...), err
}

// add writes the answer that adds items which the session does not have yet.
func (h *Handler) add(e *Event, items []Item, before map[string]bool, chars int, report *Report) ([]byte, error) {
	fresh := make([]Item, 0, len(items))
	for _, item := range items {
		if item.Text = clean(item.Text); item.Text != "" && !before[item.Handle] {
			fresh = append(fresh, item)
		}
	}
	var text string
	text, report.Added, report.LeftOut = compose(fresh, chars)
	if report.Chars = units(text); text == "" {
		return nil, nil
	}
	return contextAnswer(e, text)
}

// log is the conversation that keeps what was said in a session.
func (h *Handler) log(e *Event) *conversation.Log {
	return conversation.NewLog(h.Store, h.Tenant, Conversation(e.Client, e.Session))
}

// Conversation is the name of the conversation that has the turns of a session.
func Conversation(client, session string) string { return client + "-" + clean(session) }

// maxTurn is how much of a turn is kept, in UTF-16 units.
const maxTurn = 256 << 10

// longSecret is about how long a secret is, in UTF-16 units.
const longSecret = 4 << 10

// say keeps a turn of a session.
func (h *Handler) say(ctx context.Context, e *Event, t pipeline.Turn) error {
	if h.Store == nil || e.Session == "" || t.Content == "" || e.Agent != "" {
		return nil
	}
	if t.Metadata == nil {
		t.Metadata = map[string]any{}
	}
	t.Metadata[dirKey] = e.Dir
	t.Content = truncate(secrets.Redact(truncate(clean(t.Content), maxTurn+longSecret)), maxTurn) // a cut may go through a secret
	if _, err := h.log(e).AppendTurn(ctx, t); err != nil {
		return fmt.Errorf("hook: keep a turn: %w", err)
	}
	return nil
}

// maxLearned is how many turns of a session are learned from, the first ones.
const maxLearned = 2000

// learn hands all turns of a session to the knowledge, if there are new ones since the last time.
func (h *Handler) learn(ctx context.Context, e *Event, at Place) error {
	if h.Knowledge == nil || h.Store == nil || e.Session == "" {
		return nil
	}
	log := h.log(e)
	through, err := log.Promoted(ctx)
	if err != nil {
		return fmt.Errorf("hook: read the session: %w", err)
	}
	turns, err := log.Turns(ctx, 0, maxLearned)
	if err != nil || len(turns) == 0 || turns[len(turns)-1].Sequence <= through {
		return err
	}
	if err := h.Knowledge.Learn(ctx, at, e.Session, turns); err != nil {
		return err
	}
	return log.SetPromoted(ctx, turns[len(turns)-1].Sequence)
}

// saw hands what a tool returned to the knowledge, unless the agent wrote it itself. Its failure does not keep a large
// result in the prompt.
func (h *Handler) saw(ctx context.Context, e *Event, at Place) {
	if h.Knowledge == nil || len(e.Result) == 0 || slices.Contains(writers, plainName(e.Tool)) {
		return
	}
	h.orders(ctx, at, textOf(e.Result))
}

// gave hands what an event added of files and of sources to the knowledge: a stranger may have written it, too.
func (h *Handler) gave(ctx context.Context, at Place, added []Item) {
	var text strings.Builder
	for i := range added {
		if kind := added[i].Kind; kind == "code" || kind == "build" {
			text.WriteString(added[i].Text + "\n")
		}
	}
	if h.Knowledge != nil && text.Len() > 0 {
		h.orders(ctx, at, text.String())
	}
}

func (h *Handler) orders(ctx context.Context, at Place, text string) {
	if err := h.Knowledge.Saw(ctx, at, text); err != nil {
		remark(ctx, "orders in what the agent read may be learned: "+err.Error())
	}
}

// toolUsed answers with a cut result in the place of a large one, and keeps the whole.
func (h *Handler) toolUsed(ctx context.Context, e *Event, most int, report *Report) ([]byte, error) {
	if most < 0 || h.Store == nil || e.Session == "" || exempt(e.Tool) || len(e.Result) <= most {
		return nil, nil
	}
	cut, originals, err := cutResult(e.Result, most)
	if err != nil {
		return nil, fmt.Errorf("hook: cut the result of %.60q: %w", clean(e.Tool), err)
	}
	if cut == nil {
		if len(e.Result) > maxKept {
			remark(ctx, fmt.Sprintf("a result of %d MiB stays whole: texts of more than %d MiB are not cut", len(e.Result)>>20, maxKept>>20))
		}
		return nil, nil
	}
	answer, err := resultAnswer(e, cut)
	if answer == nil || err != nil {
		return nil, err
	}
	run := agentstore.Run{Store: h.Store, Tenant: h.Tenant, ID: Conversation(e.Client, e.Session)}
	if err := run.KeepCuts(ctx, originals); err != nil { // before the agent sees a handle
		return nil, fmt.Errorf("hook: keep the result of %.60q: %w", clean(e.Tool), err)
	}
	for handle := range originals {
		report.Cut = append(report.Cut, handle)
	}
	slices.Sort(report.Cut)
	report.Saved = len(e.Result) - len(cut)
	return answer, nil
}
