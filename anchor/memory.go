package anchor

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// Facts returns the manager of a tenant's facts, which can add, search and forget them. An empty
// tenant means that of the configuration.
func (a *App) Facts(ctx context.Context, tenant string) (*memory.Manager, error) {
	g, c, s, err := a.held(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	a.using.flush(ctx, s) // so that counts of uses are those of now
	return memory.New(memory.Config{Facts: g.Facts(s, c.TenantName()), Logger: a.options.Logger})
}

// SemanticFacts is like [App.Facts], but facts are found and ranked by their meaning too, with the
// embedder of facts.embedder, whose failure is an error. The error wraps [ErrInvalid] if the
// configuration names none.
func (a *App) SemanticFacts(ctx context.Context, tenant string) (*memory.Manager, error) {
	g, c, s, err := a.held(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	scorer := g.FactScorer(c)
	if scorer == nil {
		return nil, fmt.Errorf("%w: facts.embedder is not set (add facts: {embedder: NAME}, with an entry of embedders)", ErrInvalid)
	}
	scorer.OnError = nil
	return memory.New(memory.Config{Facts: g.Facts(s, c.TenantName()), Scorer: scorer, Logger: a.options.Logger})
}

// EmbedFacts makes the vectors that facts of a tenant lack, if the configuration has an embedder
// for facts, and returns how many it made. Builds do this too, for some facts at a time.
func (a *App) EmbedFacts(ctx context.Context, tenant string) (int, error) {
	g, err := a.use(ctx)
	if err != nil {
		return 0, err
	}
	defer g.Release()
	if f := g.Loaded.Facts; f == nil || f.Embedder == "" {
		return 0, nil
	}
	m, err := a.SemanticFacts(ctx, tenant)
	if err != nil {
		return 0, err
	}
	return m.EmbedFacts(ctx)
}

// ForgetFacts deletes the facts of a tenant that a filter selects, expired ones included, and
// returns how many there were. A filter that selects all deletes damaged ones too. An empty
// tenant means that of the configuration.
func (a *App) ForgetFacts(ctx context.Context, tenant string, filter memory.Filter) (int, error) {
	if len(filter.Tags) == 0 {
		filter.Tags = nil // an empty list asks for none
	}
	if filter.Expired = false; reflect.DeepEqual(filter, memory.Filter{}) {
		c, s, err := a.storeOf(ctx, tenant)
		if err != nil {
			return 0, err
		}
		return memory.NewStoreFacts(s, c.TenantName()).Clear(ctx)
	}
	facts, err := a.Facts(ctx, tenant)
	if err != nil {
		return 0, err
	}
	filter.Expired = true
	return facts.Forget(ctx, filter)
}

// Conversation is a conversation of a tenant in the store. It is safe for concurrent use.
type Conversation struct {
	key       store.Key
	config    *config.Config
	store     store.Store
	log       *conversation.Log
	tokenizer func() (pipeline.Tokenizer, error)
	app       *App
}

// Conversation returns a conversation of a tenant. The first turn creates it in the store. An
// empty tenant means that of the configuration.
func (a *App) Conversation(ctx context.Context, tenant, id string) (*Conversation, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if err := c.SetConversation(id); err != nil {
		return nil, err
	}
	t, err := a.counter(ctx, c)
	if err != nil {
		return nil, err
	}
	key := store.Key{Tenant: c.TenantName(), Kind: conversation.KindTurn, Stream: id}
	return &Conversation{key, c, s, conversation.NewLog(s, key.Tenant, id), t, a}, nil
}

// CutText returns the whole text of a tool's result that an assembly has cut, by the handle that the cut text names.
// An empty run means all runs of the tenant, and an empty tenant that of the configuration. A run keeps 256 texts,
// with 32 MiB in all; older ones are deleted. The error is store.ErrNotFound if there is no such text.
func (a *App) CutText(ctx context.Context, tenant, run, handle string) (string, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return "", err
	}
	return agentstore.CutText(ctx, s, c.TenantName(), run, handle)
}

// storeOf returns the configuration of a tenant, and the store.
func (a *App) storeOf(ctx context.Context, tenant string) (*config.Config, store.Store, error) {
	g, c, s, err := a.held(ctx, tenant)
	if err == nil {
		g.Release()
	}
	return c, s, err
}

// held is storeOf with the generation that has the configuration, which the caller releases.
func (a *App) held(ctx context.Context, tenant string) (*assemble.Generation, *config.Config, store.Store, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	c := g.Loaded.Config
	var s store.Store
	if err = c.Set("tenant", tenant); err == nil {
		s, err = a.openStore(ctx, g.Loaded)
	}
	if err != nil {
		g.Release()
		return nil, nil, nil, err
	}
	return g, &c, s, nil
}

// Add is [Conversation.AddAll] for one turn.
func (c *Conversation) Add(ctx context.Context, t pipeline.Turn) (pipeline.Turn, error) {
	added, err := c.AddAll(ctx, t)
	return append(added, t)[0], err
}

// AddAll adds turns, all or none, at most [store.MaxBatch], and returns them with their numbers. It sets the time of a
// turn without one to the current time, and counts the tokens if TokenCount is 0.
func (c *Conversation) AddAll(ctx context.Context, turns ...pipeline.Turn) (_ []pipeline.Turn, err error) {
	turns = slices.Clone(turns)
	for i := range turns {
		t := &turns[i]
		if !t.ValidRole() {
			return nil, fmt.Errorf("%w: conversation %q: role %q (want user, assistant, system or tool)", ErrInvalid, c.key.Stream, t.Role)
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = time.Now().UTC()
		}
		if t.TokenCount == 0 { // builds use the counts to read only the turns that fit
			if t.TokenCount, err = c.count(ctx, t.Content); err != nil {
				return nil, fmt.Errorf("conversation %q: count tokens: %w", c.key.Stream, err)
			}
		}
	}
	first, err := c.log.AppendTurns(ctx, turns)
	if err != nil {
		return nil, fmt.Errorf("conversation %q: %w", c.key.Stream, err)
	}
	for i := range turns {
		turns[i].Sequence = first + int64(i)
	}
	return turns, nil
}

// count counts a text as builds do.
func (c *Conversation) count(ctx context.Context, text string) (int, error) {
	t, err := c.tokenizer()
	if err != nil {
		return 0, err
	}
	counts, err := t.Count(ctx, text)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// counter returns a function that makes the tokenizer of a configuration for conversations and
// runs. To read a file of a tokenizer takes time, so only a count does it.
func (a *App) counter(ctx context.Context, c *config.Config) (func() (pipeline.Tokenizer, error), error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return func() (pipeline.Tokenizer, error) { return g.Counter(c) }, nil
}

// Turns returns at most limit turns of the conversation whose number is greater than after,
// oldest first. A limit of 0 is no limit.
func (c *Conversation) Turns(ctx context.Context, after int64, limit int) ([]pipeline.Turn, error) {
	turns, err := c.log.Turns(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("conversation %q: %w", c.key.Stream, err)
	}
	return turns, nil
}

// turnPage is the number of turns in one read of the store.
const turnPage = 1000

// Search returns the turns that contain a text, oldest first. Case does not matter.
func (c *Conversation) Search(ctx context.Context, text string) ([]pipeline.Turn, error) {
	found := []pipeline.Turn{}
	text = strings.ToLower(text)
	for after := int64(0); ; {
		turns, err := c.Turns(ctx, after, turnPage)
		if err != nil {
			return nil, err
		}
		for i := range turns {
			if strings.Contains(strings.ToLower(turns[i].Content), text) {
				found = append(found, turns[i])
			}
		}
		if len(turns) < turnPage {
			return found, nil
		}
		after = turns[len(turns)-1].Sequence
	}
}

// Delete deletes turns by their numbers and returns how many there were. A summary of a deleted turn stays as it
// is, as do records of builds and failures of plugins that have its text. A promotion of the conversation by the same App is cancelled first; the next one covers the remaining turns.
func (c *Conversation) Delete(ctx context.Context, turns ...int64) (int, error) {
	ids := make([]string, len(turns))
	for i, n := range turns {
		if n < 1 {
			return 0, fmt.Errorf("%w: conversation %q: want the number of a turn, got %d", ErrInvalid, c.key.Stream, n)
		}
		ids[i] = store.AutoID(n)
	}
	end, err := c.hold(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	n := 0
	if len(turns) > 0 {
		if err = learned.ForgetTurns(ctx, c.store, c.key.Tenant, c.key.Stream, turns...); err == nil {
			n, err = c.store.Delete(ctx, c.key, ids...)
		}
	}
	if err != nil {
		return n, fmt.Errorf("conversation %q: %w", c.key.Stream, err)
	}
	return n, nil
}

// hold cancels the running promotion and the running compaction of the conversation. It prevents
// other promotions until end is called.
func (c *Conversation) hold(ctx context.Context) (end func(), err error) {
	end, err = c.app.promoting.hold(ctx, promotionKey{c.key.Tenant, c.key.Stream})
	if err != nil {
		return nil, fmt.Errorf("conversation %q: wait for its promotion: %w", c.key.Stream, err)
	}
	own := assemble.CompactionName(c.key.Tenant, c.key.Stream)
	c.app.compacting.Cancel(func(name string) bool { return name == own })
	return end, nil
}

// Forget deletes the whole conversation with its summary, the records of its builds that have texts and what plugins failed
// at in it, and returns how many turns it had. A promotion of the conversation by the same App is cancelled first.
func (c *Conversation) Forget(ctx context.Context) (int, error) {
	n, err := c.forget(ctx)
	if err == nil {
		err = store.Partly(true, c.app.forgetTexts(ctx, c.config, c.store, c.key.Stream))
	}
	return n, err
}

// forget is Forget without [App.forgetTexts], which takes many conversations at once.
func (c *Conversation) forget(ctx context.Context) (int, error) {
	end, err := c.hold(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	if err := learned.ForgetTurns(ctx, c.store, c.key.Tenant, c.key.Stream); err != nil {
		return 0, fmt.Errorf("conversation %q: %w", c.key.Stream, err)
	}
	n, err := c.log.Delete(ctx)
	if err == nil {
		err = store.Partly(true, agentstore.Disown(ctx, c.store, c.key.Tenant, agentstore.AConversation, c.key.Stream))
	}
	if err != nil {
		return n, fmt.Errorf("conversation %q: %w", c.key.Stream, err)
	}
	return n, nil
}

// Graph returns the graph of a tenant: relations between entities, and links from entities to
// facts. An empty tenant means that of the configuration.
func (a *App) Graph(ctx context.Context, tenant string) (*memory.StoreGraph, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return memory.NewStoreGraph(s, c.TenantName()), nil
}
