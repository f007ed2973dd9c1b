package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
	"github.com/anchor-host/anchor-host/store"
)

// BuildOptions override the configuration for one build. A field with its zero value overrides
// nothing. Values have the same form and meaning as in anchor.yaml.
type BuildOptions struct {
	// Pipeline is the name of a pipeline of the configuration. Empty: the pipeline at the top
	// level of the file.
	Pipeline string
	// Tenant owns the conversation, the facts, and the values that plugins store.
	Tenant string
	// User is the user that the build is for. It sees the facts of this user only. Empty: those of nobody.
	// Its conversation and its run belong to the user from then on, and so do facts that are
	// extracted from the conversation. What belongs to another user is refused.
	User string
	// Session narrows the facts to those of a session. It needs facts in the configuration.
	Session string
	// Timeout bounds the duration of the build.
	Timeout time.Duration
	// MaxTokens is the size of the window in tokens.
	MaxTokens int
	// Tokenizer is a built-in tokenizer, such as "cl100k_base", or "file:" and the path of a
	// tokenizer.json in the format of Hugging Face. The path is relative to the current folder.
	Tokenizer string
	// Model is the target model, such as "gpt-4o". It selects how tokens are counted, so
	// Tokenizer must be empty or a file.
	Model string
	// Fit, Fill, Truncate and Order are words such as "exact", "knapsack", "sentence" and
	// "lost_in_the_middle".
	Fit, Fill, Truncate, Order string
	// CutMinTokens is the minimum number of tokens that a cut text keeps. It needs Truncate. 0: that of the
	// configuration.
	CutMinTokens int
	// Tools is a JSON list of the tools that the model may call, in the form of an API. Those in
	// another form than that of the format are converted if they lose nothing; else Diagnostics
	// has a warning. nil: those of the configuration.
	Tools json.RawMessage
	// IncludeQuery says whether the output ends with the query, as the message of the user. nil:
	// as the configuration says, which is true if it says nothing.
	IncludeQuery *bool
	// Format is the name of a built-in format, such as "anthropic" (see [format.Names]).
	Format string
	// FormatOptions replace all format_options. nil: those of the configuration.
	FormatOptions *FormatOptions
	// Formatter replaces the format. It may be nil.
	Formatter pipeline.Formatter
	// Preset is the name of a budget: "chat", "rag" or "agent". It replaces the budget of the
	// configuration.
	Preset string
	// Budget replaces the budget of the configuration. If its TotalTokens is 0, the size of the
	// window is used. It may be nil.
	Budget *fill.Budget
	// SystemPrompts replace those of the configuration. An empty list removes them all. nil:
	// those of the configuration.
	SystemPrompts []pipeline.SystemPrompt
	// Conversation names a conversation of the store. Its newest turns are added to the window.
	Conversation string
	// Turns are the turns of a conversation that is not in the store, oldest first. nil: there is
	// none.
	Turns []pipeline.Turn
	// Remember adds the query to the stored conversation as a user turn after the window is
	// built. An empty query is refused.
	Remember bool
	// Items are appended to the list by a first step with the name "items". Without an ID, a source or a
	// priority they have those of found items. nil: there is no such step.
	Items []pipeline.Item
	// Only names the steps that run. The step of Items always runs. nil: all steps run.
	Only []string
	// Skip names steps that do not run. nil: no step is skipped.
	Skip []string
	// AllowPartial leaves out optional steps, those with must: false, rather than missing the
	// deadline of ctx or of the configuration. [pipeline.Result.Partial] says that some were, and
	// Diagnostics.StepFailures which. The build predicts this from earlier durations.
	AllowPartial bool
	// Explain records what happened to each item, in Diagnostics.Items.
	Explain bool
	// Previous is the previous prompt. Diagnostics.Cache then says how much of it a prompt cache
	// can reuse. nil: nothing is compared.
	Previous *promptcache.Snapshot
	// Callbacks observe the build, after those of the configuration.
	Callbacks []pipeline.Callback `json:"-"`
	// ID names the record of the build, if records are kept: 1 to 64 letters, digits, "-", "_" and
	// ".". A record with the same ID is replaced. Empty: a new one, whose parts rise with time.
	ID string
	// Key and RequestID say who asked for the build, for its record. With a RequestID, what the promotion of facts
	// after the build asks of models is noted for Key, as by [App.Spend]. They change nothing else.
	Key, RequestID string `json:"-"`
}

// FormatOptions are the format_options of anchor.yaml. All but Cite, MaxOutput and
// ContextTokens are for "anthropic".
type FormatOptions struct {
	// Caching marks the stable parts for prompt caching.
	Caching bool
	// Breakpoints is "auto" to place up to four marks where they pay, or "fixed" to mark the
	// system prompt and the context. It needs Caching. Empty: "auto".
	Breakpoints string
	// Model selects the minimum length of a cacheable prefix for "auto". Empty: the model of the
	// window.
	Model string
	// Cite is "text" or "native" to say for each found item where it is from, see format_options.cite
	// of anchor.yaml. Empty: "none".
	Cite string
	// MaxOutput is the largest number of tokens of the answer. 0: 4096 with "anthropic" if the
	// model is known; otherwise the body states none.
	MaxOutput int
	// ContextTokens is the size of the model's context, for input and answer together. The
	// answer then has at most what the window leaves of it. 0: unknown.
	ContextTokens int
}

// Build builds one context window. If the build fails, the error is a [*pipeline.BuildError].
// Errors wrap [ErrInvalid] if the options are at fault.
// If the window is built and the query cannot be remembered, or the build cannot be noted with
// the run, Build returns both the result and the error.
func (a *App) Build(ctx context.Context, q pipeline.Query, o BuildOptions) (*pipeline.Result, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return a.buildWith(ctx, g, q, o)
}

// buildWith is [App.Build] with a generation, which the caller holds.
func (a *App) buildWith(ctx context.Context, g *assemble.Generation, q pipeline.Query, o BuildOptions) (*pipeline.Result, error) {
	c, err := g.Config(o.Pipeline)
	if err != nil {
		return nil, err
	}
	return a.build(ctx, &build{generation: g, options: &o, config: *c, query: q})
}

// BuildRequest builds one context window from a JSON document, the input of "anchor-host build
// --request". A document that names a pipeline of the configuration starts from the settings of that
// pipeline, including its conversation and facts in the store. One that names none starts from the
// top level of the file. name identifies the document in errors.
// Options that a document can state are refused. A Conversation of the store excludes turns in the
// document. The bytes of a [bytes.Buffer] are not copied, and must not change.
func (a *App) BuildRequest(ctx context.Context, name string, document io.Reader, o BuildOptions) (*pipeline.Result, error) {
	if err := refuse(&o); err != nil {
		return nil, err
	}
	// The document is read before the timeout starts, because its reader may take any time.
	var data []byte
	if b, ok := document.(*bytes.Buffer); ok {
		data = b.Bytes()
	} else {
		var err error
		if data, err = io.ReadAll(io.LimitReader(document, request.MaxBytes+1)); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return a.buildDocument(ctx, name, data, o, false)
}

// buildDocument is [App.BuildRequest] of a document that was read. repeats is set if it repeats a
// recorded build, which explains the build also if the document does not ask for it.
func (a *App) buildDocument(ctx context.Context, name string, data []byte, o BuildOptions, repeats bool) (*pipeline.Result, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	req, c, err := request.Read(ctx, name, data, g.Loaded)
	if err != nil {
		return nil, wrong(err)
	}
	if o.Conversation != "" && req.Conversation != nil {
		return nil, excluded("a conversation of the store", "the conversation of the request")
	}
	o.Pipeline, o.Items, o.Explain, o.AllowPartial = req.Pipeline, request.Convert(req.Items), req.Explain || repeats, req.AllowPartial
	b := &build{generation: g, options: &o, config: *c, query: req.Query.Query, document: data, repeats: repeats, reshaped: true, own: !req.SharesPlugins()}
	if req.Steps != nil {
		if b.replaced, err = g.Pipeline(ctx, o.Pipeline); err != nil {
			return nil, err
		}
		if c, err = b.replaced.Keep(c); err != nil {
			return nil, err
		}
		b.config = *c
	}
	return a.build(ctx, b)
}

// refuse returns an error for options that a request states itself.
func refuse(o *BuildOptions) error {
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if why := request.Refused(name, request.BesideFields); why != "" && !v.Field(i).IsZero() {
			return fmt.Errorf("%w: option %s and a request exclude each other (%s)", ErrInvalid, name, why)
		}
	}
	return nil
}

// build is one build: the configuration of a pipeline, and what its caller overrides.
type build struct {
	generation *assemble.Generation
	options    *BuildOptions
	// config is that of the pipeline, or of the request, with the options.
	config config.Config
	query  pipeline.Query
	// document is the request. nil: the build was asked for without one.
	document []byte
	// repeats is set if the build repeats a recorded one, and must leave no trace in the store.
	repeats bool
	// reshaped is set if config is not what the pipeline was compiled from.
	reshaped bool
	// own is set if the request names steps or plugins of its own, so that its pipeline is compiled for
	// this build.
	own bool
	// replaced is the pipeline whose steps those of a request replace, but for the steps that must
	// answer. nil: the request has no steps.
	replaced *assemble.Pipeline
	// user is the user that the build is for, "" for nobody.
	user  string
	store store.Store
}

func (a *App) build(ctx context.Context, b *build) (*pipeline.Result, error) {
	o := b.options
	if err := o.over(&b.config); err != nil {
		return nil, err
	}
	if o.Remember && strings.TrimSpace(b.query.Text) == "" {
		return nil, fmt.Errorf("%w: remember: the query is empty (give it a text, or do not remember it)", ErrInvalid)
	}
	b.reshaped = b.reshaped || o.reshapes()
	if b.user = o.User; b.config.Facts != nil {
		b.user = b.config.Facts.User
	}
	keep, err := a.recording(b)
	if err != nil {
		return nil, err
	}
	work := observe.Work{Kind: observe.Build, Name: o.Pipeline, Text: func() string { return b.query.Text }}
	result, err := observed(observe.WithOwner(ctx, b.owner()), b.generation, &b.config, work, ended, func(ctx context.Context) (*pipeline.Result, error) { return a.carryOut(ctx, b) })
	if keep != nil {
		keep(result, err)
	}
	return result, err
}

// owner is whose texts the build may have.
func (b *build) owner() observe.Owner {
	o := observe.Owner{User: b.user}
	if c := b.config.Conversation; c != nil {
		o.Conversation = c.ID
	}
	if f := b.config.Frames; f != nil {
		o.Run = f.Run
	}
	return o
}

// carryOut runs a build.
func (a *App) carryOut(ctx context.Context, b *build) (*pipeline.Result, error) {
	if assemble.UsesStore(&b.config) {
		var err error
		if b.store, err = a.openStore(ctx, b.generation.Loaded); err != nil {
			return nil, err
		}
		if err = b.claim(ctx); err != nil {
			return nil, err
		}
	}
	p, err := b.compiled(ctx)
	if err != nil {
		return nil, err
	}
	with, err := a.overrides(ctx, b)
	if err != nil {
		return nil, err
	}
	result, err := b.run(ctx, p, with)
	if err == nil && b.options.Remember && a.options.Tape == nil {
		a.promoteLater(ctx, b)
	}
	if err == nil && b.config.Facts != nil && a.options.Tape == nil && !b.repeats {
		a.using.note(b.store, b.config.TenantName(), result.Window.Items, b.options.Items, time.Now())
	}
	return result, err
}

// compiled returns the pipeline of the build, which it shares with other builds unless it has plugins of
// its own.
func (b *build) compiled(ctx context.Context) (*assemble.Pipeline, error) {
	if !b.own {
		return b.generation.Pipeline(ctx, b.options.Pipeline)
	}
	p, err := b.generation.Compile(ctx, &b.config)
	if err == nil && b.replaced != nil {
		err = b.replaced.GoRound(p)
	}
	return p, err
}

// overrides are what the build has in the place of the pipeline's own.
func (a *App) overrides(ctx context.Context, b *build) (*assemble.Overrides, error) {
	o := b.options
	with := &assemble.Overrides{
		Config: &b.config, Reshaped: b.reshaped && !b.own, Items: o.Items, Turns: o.Turns, Only: o.Only, Skip: o.Skip, Formatter: o.Formatter,
		Store: b.store, Compactions: &a.compacting, Repeats: b.repeats,
		Overrides: pipeline.Overrides{Partial: o.AllowPartial, Callbacks: o.Callbacks, Explain: o.Explain || b.reads()}, // the comparison and the record use the traces
	}
	if b.repeats { // no compaction begins
		with.Compactions = new(conversation.Compactions)
		if err := with.Compactions.Close(ctx); err != nil {
			return nil, err
		}
	}
	if a.options.Tape != nil { // work in the background would not be on the tape
		with.Compactions, with.Now = nil, a.options.Tape.now
	}
	return with, nil
}

// reads reports whether something beside the caller reads the traces of the items.
func (b *build) reads() bool {
	return b.options.Previous != nil || b.generation.Loaded.Builds.Records != nil
}

// claim lets the user of the build have its stored conversation and its run.
func (b *build) claim(ctx context.Context) error {
	c := &b.config
	if c.Conversation != nil && c.Conversation.ID != "" {
		if err := b.claimOne(ctx, agentstore.AConversation, c.Conversation.ID); err != nil {
			return err
		}
	}
	if f := c.Facts; f != nil && f.User == "" && f.Session != "" { // facts of nobody in the session of a conversation
		if _, err := agentstore.Allow(ctx, b.store, c.TenantName(), agentstore.AConversation, f.Session, ""); err != nil {
			return owned(err)
		}
	}
	if c.Frames == nil {
		return nil
	}
	return b.claimOne(ctx, agentstore.ARun, c.Frames.Run)
}

func (b *build) claimOne(ctx context.Context, what agentstore.Ownable, id string) error {
	if b.repeats {
		_, err := agentstore.Allow(ctx, b.store, b.config.TenantName(), what, id, b.user)
		return owned(err)
	}
	tenant := b.config.TenantName()
	_, err := agentstore.ClaimWith(ctx, b.store, tenant, what, id, b.user, func(owner store.Change) error {
		if what != agentstore.AConversation {
			return b.store.Apply(ctx, owner)
		}
		return takeFacts(ctx, b.generation.Facts(b.store, tenant), b.store, owner, b.user)
	})
	return owned(err)
}

// run builds the window, then compares it with the previous prompt and remembers the query if
// asked to.
func (b *build) run(ctx context.Context, p *assemble.Pipeline, with *assemble.Overrides) (*pipeline.Result, error) {
	built, err := p.Build(ctx, b.query, with)
	if err != nil {
		return nil, err
	}
	result := built.Result
	if b.config.Builds.Strict && len(result.Degraded) > 0 {
		return nil, &pipeline.BuildError{Stage: "degraded", Err: &core.DegradedError{List: result.Degraded}, Diagnostics: result.Diagnostics}
	}
	if b.options.Previous != nil {
		err = b.compare(ctx, built)
	}
	if err == nil && b.options.Remember {
		err = b.claim(ctx) // again: the conversation may have been deleted meanwhile, with its owner
	}
	if err == nil && b.options.Remember {
		err = built.Remember(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: b.query.Text})
	}
	if err == nil && b.config.Frames != nil && !b.repeats {
		run := agentrun.New(b.store, b.config.TenantName(), b.config.Frames.Run, nil, nil)
		// The turn is stored: an error would make the caller build, and remember, again.
		if note := run.Read(ctx, frames.ItemFrames(result.Window.Items)); note != nil {
			result.Diagnostics.Warnings = append(result.Diagnostics.Warnings, agentrun.NotNoted(ctx, note))
		}
	}
	return result, err
}

// compare records in the diagnostics how much of the previous prompt a prompt cache can reuse.
func (b *build) compare(ctx context.Context, built *assemble.Built) error {
	current, err := promptcache.NewSnapshot(built.Output, built.Window.Items)
	if err != nil {
		return fmt.Errorf("compare with the previous prompt: %w", err)
	}
	d := built.Diagnostics
	d.Cache, err = promptcache.Compare(ctx, built.Tokenizer, b.options.Previous, current, d.Items)
	if !b.options.Explain && b.generation.Loaded.Builds.Records == nil {
		d.Items = nil // recorded only for the comparison
	}
	return err
}
