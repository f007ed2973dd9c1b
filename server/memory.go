package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// Bounds of what one request lists or adds.
const (
	defaultPage, maxPage = 1000, 10_000
	maxAddedTurns        = 1000
)

var filterParams = []string{"user", "session", "type", "tag", "expired"}

func memoryEndpoints() []endpoint {
	return []endpoint{
		{Route: Route{Method: "GET", Path: "/v1/memory/facts", Action: "listFacts", Scope: ScopeMemoryRead}, params: append([]string{"limit", "after"}, filterParams...), serve: (*call).listFacts},
		{Route: Route{Method: "POST", Path: "/v1/memory/facts", Action: "addFact", Scope: ScopeMemoryWrite}, body: jsonBody, serve: (*call).addFact},
		{Route: Route{Method: "DELETE", Path: "/v1/memory/facts", Action: "forgetFacts", Scope: ScopeMemoryWrite}, params: append([]string{"all"}, filterParams...), serve: (*call).forgetFacts},
		{Route: Route{Method: "GET", Path: "/v1/memory/facts/{id}", Action: "getFact", Scope: ScopeMemoryRead}, serve: (*call).getFact},
		{Route: Route{Method: "DELETE", Path: "/v1/memory/facts/{id}", Action: "deleteFact", Scope: ScopeMemoryWrite}, serve: (*call).deleteFact},
		{Route: Route{Method: "POST", Path: "/v1/memory/search", Action: "searchFacts", Scope: ScopeMemoryRead}, body: jsonBody, serve: (*call).searchFacts},
		{Route: Route{Method: "GET", Path: "/v1/conversations", Action: "listConversations", Scope: ScopeMemoryRead}, serve: (*call).listConversations},
		{Route: Route{Method: "DELETE", Path: "/v1/conversations/{id}", Action: "forgetConversation", Scope: ScopeMemoryWrite}, serve: (*call).forgetConversation},
		{Route: Route{Method: "GET", Path: "/v1/conversations/{id}/turns", Action: "listTurns", Scope: ScopeMemoryRead}, params: []string{"limit", "after", "contains"}, serve: (*call).listTurns},
		{Route: Route{Method: "POST", Path: "/v1/conversations/{id}/turns", Action: "addTurns", Scope: ScopeMemoryWrite}, body: jsonBody, serve: (*call).addTurns},
		{Route: Route{Method: "DELETE", Path: "/v1/users/{id}", Action: "forgetUser", Scope: ScopeMemoryWrite}, serve: (*call).forgetUser},
		{Route: Route{Method: "DELETE", Path: "/v1/conversations/{id}/turns/{turn}", Action: "deleteTurn", Scope: ScopeMemoryWrite}, serve: (*call).deleteTurn},
	}
}

// decode reads the document of a request strictly.
func (c *call) decode(into any) error {
	n, err := c.parse("request", c.body)
	if err != nil {
		return err
	}
	return strict.DecodeContext(c.ctx, "request", n, into)
}

// parse reads a document of the request. name appears in errors.
func (c *call) parse(name string, data []byte) (*strict.Node, error) {
	return strict.ParseJSONContext(c.ctx, name, data, strict.Limits{Values: c.s.o.MaxValues, Remedy: request.TooMany})
}

// deletedDoc says how many things were deleted.
type deletedDoc struct {
	Deleted int `json:"deleted"`
}

// factInput is a new fact. Its members are those of a fact.
type factInput struct {
	ID        string         `key:"id"`
	Content   string         `key:"content,required"`
	Relevance *float64       `key:"relevance_score" min:"0" max:"1"`
	Type      string         `key:"memory_type" enum:"semantic,episodic,procedural,conversation"`
	Tags      []string       `key:"tags" max:"1000"`
	Metadata  map[string]any `key:"metadata"`
	User      string         `key:"user_id"`
	Session   string         `key:"session_id"`
	Expires   time.Time      `key:"expires_at"`
}

// factDoc is a fact that was added, or was there.
type factDoc struct {
	Fact  memory.Entry `json:"fact"`
	Added bool         `json:"added"`
}

func (c *call) facts() (*memory.Manager, error) {
	return c.s.app.Facts(c.ctx, c.info.Principal.Tenant)
}

func (c *call) addFact() (any, error) {
	var in factInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Content == "" {
		return nil, strict.Problems{{File: "request", Path: "content", Message: "the text is empty"}}
	}
	e := memory.Entry{
		ID: in.ID, Content: in.Content, Relevance: memory.DefaultRelevance, Type: memory.Type(in.Type), Tags: in.Tags,
		Metadata: in.Metadata, UserID: in.User, SessionID: in.Session, ExpiresAt: in.Expires,
	}
	if in.Relevance != nil {
		e.Relevance = *in.Relevance
	}
	m, err := c.facts()
	if err != nil {
		return nil, err
	}
	e, added, err := m.Add(c.ctx, e)
	if err != nil {
		return nil, err
	}
	if added {
		return &reply{http.StatusCreated, factDoc{e, true}}, nil
	}
	return factDoc{e, false}, nil
}

func (c *call) getFact() (any, error) {
	m, err := c.facts()
	if err != nil {
		return nil, err
	}
	return m.Get(c.ctx, c.r.PathValue("id"))
}

func (c *call) deleteFact() (any, error) {
	m, err := c.facts()
	if err != nil {
		return nil, err
	}
	n, err := m.Delete(c.ctx, c.r.PathValue("id"))
	if err == nil && n == 0 {
		err = memory.ErrNotFound
	}
	return deletedDoc{n}, err
}

// filter reads the parameters that select facts.
func (c *call) filter() (f memory.Filter, err error) {
	f = memory.Filter{UserID: c.query.Get("user"), SessionID: c.query.Get("session"), Type: memory.Type(c.query.Get("type")), Tags: list(c.query["tag"])}
	if c.query.Has("type") && !f.Type.Valid() {
		return f, badParam("type", "want semantic, episodic, procedural or conversation, got "+strconv.Quote(shorten(string(f.Type))))
	}
	f.Expired, err = c.flag("expired")
	return f, err
}

// factsDoc is a list of facts. Next is the id after which further facts come.
type factsDoc struct {
	Facts []memory.Entry `json:"facts"`
	Next  string         `json:"next,omitempty"`
}

func (c *call) listFacts() (any, error) {
	f, err := c.filter()
	if err != nil {
		return nil, err
	}
	limit, err := c.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return nil, err
	}
	m, err := c.facts()
	if err != nil {
		return nil, err
	}
	facts, err := m.List(c.ctx, f)
	if err != nil {
		return nil, err
	}
	if after := c.query.Get("after"); after != "" {
		at := 0
		for at < len(facts) && facts[at].ID != after {
			at++
		}
		if at == len(facts) {
			return nil, &Refusal{Status: http.StatusNotFound, Reason: "not_found", Message: "parameter after: there is no such fact (any more)", Remedy: "begin again without it"}
		}
		facts = facts[at+1:]
	}
	out := factsDoc{Facts: []memory.Entry{}}
	if out.Facts = append(out.Facts, facts[:min(limit, len(facts))]...); len(facts) > limit {
		out.Next = facts[limit-1].ID
	}
	return out, nil
}

func (c *call) forgetFacts() (any, error) {
	f, err := c.filter()
	if err != nil {
		return nil, err
	}
	all, err := c.flag("all")
	if err != nil {
		return nil, err
	}
	if some := f.UserID != "" || f.SessionID != "" || f.Type != "" || len(f.Tags) > 0; some == all {
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Reason: "invalid_request", Message: "which facts to delete is not clear", Remedy: "select facts with user, session, type or tag, or all of them with all=true, not both"}
	}
	n, err := c.s.app.ForgetFacts(c.ctx, c.info.Principal.Tenant, f)
	if err != nil {
		return nil, err
	}
	return deletedDoc{n}, nil
}

// forgetUser deletes what the store has of a user. Jobs are those of a key, and stay for as long as others.
func (c *call) forgetUser() (any, error) {
	done, err := c.s.app.ForgetUser(c.ctx, c.info.Principal.Tenant, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if err := c.s.app.Checkpoint(c.ctx); err != nil {
		c.s.log.Warn("what was deleted of a user is in the log of the store until the next checkpoint", "request", c.info.ID, "error", err)
	}
	return done, nil
}

// factQuery is a search for facts.
type factQuery struct {
	Query    string   `key:"query,required"`
	TopK     int      `key:"top_k" min:"1" max:"1000"`
	Contains bool     `key:"contains" doc:"Only facts that contain the text of query."`
	Semantic bool     `key:"semantic" doc:"Compare meanings too; needs facts.embedder."`
	Touch    bool     `key:"touch" doc:"Record a use of the facts, so that they decay more slowly. Needs the scope memory:write."`
	Type     string   `key:"memory_type" enum:"semantic,episodic,procedural,conversation"`
	Tags     []string `key:"tags" max:"1000"`
	User     string   `key:"user_id"`
	Session  string   `key:"session_id"`
}

// foundFact is a fact with its score. A fact that was found by a text that it contains has none.
type foundFact struct {
	Score *float64     `json:"score,omitempty"`
	Fact  memory.Entry `json:"fact"`
}

// foundDoc is the result of a search.
type foundDoc struct {
	Facts []foundFact `json:"facts"`
}

func (c *call) searchFacts() (any, error) {
	var in factQuery
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Touch && !c.info.Principal.Has(ScopeMemoryWrite) {
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: "touch changes facts, and the key has not the scope " + ScopeMemoryWrite, Remedy: "leave touch out, or use a key that has it"}
	}
	open := c.s.app.Facts
	if in.Semantic {
		open = c.s.app.SemanticFacts
	}
	m, err := open(c.ctx, c.info.Principal.Tenant)
	if err != nil {
		return nil, err
	}
	found, err := c.findFacts(m, &in)
	if err != nil {
		return nil, err
	}
	if in.Touch {
		ids := make([]string, len(found))
		for i := range found {
			ids[i] = found[i].Fact.ID
		}
		if err := m.Touch(c.ctx, ids...); err != nil {
			return nil, err
		}
	}
	return foundDoc{found}, nil
}

// findFacts finds facts by a text that they contain, or by what matters to a query.
func (c *call) findFacts(m *memory.Manager, in *factQuery) ([]foundFact, error) {
	filter := memory.Filter{UserID: in.User, SessionID: in.Session, Type: memory.Type(in.Type), Tags: in.Tags}
	found := []foundFact{}
	if in.Contains {
		entries, err := m.Search(c.ctx, in.Query, in.TopK, filter)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			found = append(found, foundFact{Fact: entries[i]})
		}
	} else {
		scored, err := m.Relevant(c.ctx, &pipeline.Query{Text: in.Query}, in.TopK, filter)
		if err != nil {
			return nil, err
		}
		for i := range scored {
			found = append(found, foundFact{&scored[i].Score, scored[i].Entry})
		}
	}
	return found, nil
}

// conversationsDoc is a list of conversations.
type conversationsDoc struct {
	Conversations []anchor.Stream `json:"conversations"`
}

func (c *call) listConversations() (any, error) {
	streams, err := c.s.app.Conversations(c.ctx, c.info.Principal.Tenant)
	if err != nil {
		return nil, err
	}
	return conversationsDoc{streams}, nil
}

func (c *call) conversation() (*anchor.Conversation, error) {
	return c.s.app.Conversation(c.ctx, c.info.Principal.Tenant, c.r.PathValue("id"))
}

func (c *call) forgetConversation() (any, error) {
	talk, err := c.conversation()
	if err != nil {
		return nil, err
	}
	n, err := talk.Forget(c.ctx)
	if err != nil {
		return nil, err
	}
	return deletedDoc{n}, nil
}

// turnsDoc is a list of turns. Next is the number after which further turns come.
type turnsDoc struct {
	Turns []pipeline.Turn `json:"turns"`
	Next  int64           `json:"next,omitempty"`
}

func (c *call) listTurns() (any, error) {
	limit, err := c.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return nil, err
	}
	after, err := c.number("after", 0, 0, 1<<62)
	if err != nil {
		return nil, err
	}
	talk, err := c.conversation()
	if err != nil {
		return nil, err
	}
	out := turnsDoc{Turns: []pipeline.Turn{}}
	if text := c.query.Get("contains"); text != "" {
		found, err := talk.Search(c.ctx, text)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].Sequence > int64(after) && len(out.Turns) < limit {
				out.Turns = append(out.Turns, found[i])
			}
		}
		return out, nil
	}
	turns, err := talk.Turns(c.ctx, int64(after), limit+1)
	if err != nil {
		return nil, err
	}
	if out.Turns = append(out.Turns, turns[:min(limit, len(turns))]...); len(turns) > limit {
		out.Next = turns[limit-1].Sequence
	}
	return out, nil
}

// turnsInput are new turns, in the form of turns in anchor.yaml and in requests.
type turnsInput struct {
	Turns []config.Turn `key:"turns,required" max:"1000"`
}

func (c *call) addTurns() (any, error) {
	var in turnsInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if n := len(in.Turns); n == 0 || n > maxAddedTurns {
		return nil, strict.Problems{{File: "request", Path: "turns", Message: "want 1 to " + strconv.Itoa(maxAddedTurns) + " turns, got " + strconv.Itoa(n)}}
	}
	talk, err := c.conversation()
	if err != nil {
		return nil, err
	}
	turns := make([]pipeline.Turn, len(in.Turns))
	for i, t := range in.Turns {
		turns[i] = core.Turn{Role: core.Role(t.Role), Content: t.Content, CreatedAt: t.CreatedAt, Metadata: t.Metadata, Whole: t.Whole}
	}
	if turns, err = talk.AddAll(c.ctx, turns...); err != nil {
		return nil, err
	}
	return &reply{http.StatusCreated, turnsDoc{Turns: turns}}, nil
}

func (c *call) deleteTurn() (any, error) {
	number, err := strconv.ParseInt(c.r.PathValue("turn"), 10, 64)
	if err != nil || number < 1 {
		return nil, badParam("turn", "want the number of a turn, got "+strconv.Quote(shorten(c.r.PathValue("turn"))))
	}
	talk, err := c.conversation()
	if err != nil {
		return nil, err
	}
	n, err := talk.Delete(c.ctx, number)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &Refusal{Status: http.StatusNotFound, Reason: "not_found", Message: "there is no such turn"}
	}
	return deletedDoc{n}, nil
}
