package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
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
	// FitOptions replace those of the window. nil: those of the configuration.
	FitOptions *FitOptions
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
	// Items are appended to the list by a first step with the name "items". nil: there is no such
	// step.
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

// FitOptions are options of the window of anchor.yaml that belong to fit and truncate.
type FitOptions struct {
	// MessageOverhead is the number of tokens that a chat message costs in addition to its role
	// and texts. Priming is the number that a chat document costs in addition to its messages.
	// Both need Fit "exact". nil: 3.
	MessageOverhead, Priming *int
	// Tools are the tool schemas that are sent with the window, as text. Their tokens are
	// counted. Tools needs Fit "exact".
	Tools string
	// MinTokens is the minimum number of tokens that a cut text keeps. It needs Truncate. 0: 32.
	MinTokens int
}

// FormatOptions are the format_options of anchor.yaml. All but MaxOutput and
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
	defer g.users.Done()
	p := &plan{generation: g, config: g.loaded.Config, query: q}
	return a.build(ctx, p, &o)
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
	return a.buildDocument(ctx, name, data, &o, false)
}

// buildDocument is [App.BuildRequest] of a document that was read. repeats is set if it repeats a
// recorded build, which explains the build also if the document does not ask for it.
func (a *App) buildDocument(ctx context.Context, name string, data []byte, o *BuildOptions, repeats bool) (*pipeline.Result, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.users.Done()
	req, c, err := request.Read(ctx, name, data, g.loaded)
	if err != nil {
		return nil, wrong(err)
	}
	if o.Conversation != "" && req.Conversation != nil {
		return nil, excluded("a conversation of the store", "the conversation of the request")
	}
	p := &plan{generation: g, config: *c, query: req.Query.Query, pipeline: req.Pipeline, document: data}
	p.build.Items, p.explain = request.Convert(req.Items), req.Explain || repeats
	p.repeats = repeats
	p.build.Partial = req.AllowPartial
	if !req.SharesPlugins() {
		p.own = c
	}
	if req.Steps != nil {
		if p.replaced, err = g.recipeOf(ctx, p.pipeline); err != nil {
			return nil, err
		}
		if p.own, err = p.replaced.Keep(c); err != nil {
			return nil, err
		}
		p.config = *p.own
	}
	return a.build(ctx, p, o)
}

// refuse returns an error for options that a request states itself.
func refuse(o *BuildOptions) error {
	v := reflect.ValueOf(o).Elem()
	for _, s := range request.Settings {
		if s.Field != "" && s.Beside != "" && !v.FieldByName(s.Field).IsZero() {
			return fmt.Errorf("%w: option %s and a request exclude each other (%s)", ErrInvalid, s.Field, s.Beside)
		}
	}
	return nil
}

// plan describes one build: the configuration with the options applied.
type plan struct {
	generation *generation
	// pipeline is the name of the pipeline whose steps run, unless own has steps.
	pipeline string
	own      *config.Config
	// replaced is the recipe whose steps those of a request replace, but for the steps that must
	// answer. nil: the request has no steps.
	replaced *assemble.Recipe

	query    pipeline.Query
	config   config.Config
	build    assemble.Build
	remember bool
	explain  bool
	previous *promptcache.Snapshot
	// document is the request. nil: the build was asked for without one.
	document []byte
	// id names the record.
	id string
	// key and requestID say who asked for the build.
	key, requestID string
	// user is the user that the build is for, "" for nobody.
	user string
	// repeats is set if the build repeats a recorded one, and must leave no trace in the store.
	repeats bool
}

func (a *App) build(ctx context.Context, p *plan, o *BuildOptions) (*pipeline.Result, error) {
	if err := p.apply(o); err != nil {
		return nil, err
	}
	keep, err := a.recording(p, o)
	if err != nil {
		return nil, err
	}
	result, err := p.observed(ctx, func(ctx context.Context) (*pipeline.Result, error) {
		return within(ctx, &p.config, func(ctx context.Context) (*pipeline.Result, error) { return a.carryOut(ctx, p) })
	})
	if keep != nil {
		keep(result, err)
	}
	return result, err
}

// within runs work for the tenant of a configuration and stops it after the timeout of the
// configuration; 0 is no timeout. The error of a timeout says how to raise it.
func within[T any](ctx context.Context, c *config.Config, work func(context.Context) (T, error)) (T, error) {
	ctx, _ = ledger.Under(host.WithTenant(ctx, c.TenantName())) // of all that the work asks models for
	if c.Timeout <= 0 {
		return work(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(c.Timeout))
	defer cancel()
	done, err := work(bounded)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && bounded.Err() != nil {
		err = fmt.Errorf("%w (all of it may take %v: raise timeout)", err, c.Timeout)
	}
	return done, err
}

// carryOut runs the build of a plan.
func (a *App) carryOut(ctx context.Context, p *plan) (*pipeline.Result, error) {
	if assemble.UsesStore(&p.config) {
		var err error
		if p.build.Store, err = a.openStore(ctx, p.generation.loaded); err != nil {
			return nil, err
		}
		if err = p.claim(ctx); err != nil {
			return nil, err
		}
	}
	recipe, err := p.recipe(ctx)
	if err != nil {
		return nil, err
	}
	p.build.Compactions, p.build.Hold = &a.compacting, p.generation.hold
	if p.repeats { // no compaction begins
		p.build.Repeats, p.build.Compactions = true, new(conversation.Compactions)
		if err := p.build.Compactions.Close(ctx); err != nil {
			return nil, err
		}
	}
	if a.options.Tape != nil { // work in the background would not be on the tape
		p.build.Compactions, p.build.Now = nil, a.options.Tape.now
	}
	assembly, err := recipe.Assembly(ctx, p.build)
	if err != nil {
		return nil, err
	}
	result, err := p.run(ctx, assembly)
	if err == nil && p.remember && a.options.Tape == nil {
		a.promoteLater(ctx, p)
	}
	if err == nil && p.config.Facts != nil && a.options.Tape == nil && !p.repeats {
		a.using.note(p.build.Store, p.config.TenantName(), result.Window.Items, p.build.Items, time.Now())
	}
	return result, err
}

// claim lets the user of the build have its stored conversation and its run.
func (p *plan) claim(ctx context.Context) error {
	c := &p.config
	if c.Conversation != nil && c.Conversation.ID != "" {
		if err := p.claimOne(ctx, agentstore.AConversation, c.Conversation.ID); err != nil {
			return err
		}
	}
	if f := c.Facts; f != nil && f.User == "" && f.Session != "" { // facts of nobody in the session of a conversation
		if _, err := agentstore.Allow(ctx, p.build.Store, c.TenantName(), agentstore.AConversation, f.Session, ""); err != nil {
			return owned(err)
		}
	}
	if c.Frames == nil {
		return nil
	}
	return p.claimOne(ctx, agentstore.ARun, c.Frames.Run)
}

func (p *plan) claimOne(ctx context.Context, what agentstore.Ownable, id string) error {
	if p.repeats {
		_, err := agentstore.Allow(ctx, p.build.Store, p.config.TenantName(), what, id, p.user)
		return owned(err)
	}
	claimed, err := agentstore.Claim(ctx, p.build.Store, p.config.TenantName(), what, id, p.user)
	if err != nil || !claimed || what != agentstore.AConversation {
		return owned(err)
	}
	if err := takeFacts(ctx, p.generation.plugins.Facts(p.build.Store, p.config.TenantName()), p.build.Store, p.config.TenantName(), id, p.user); err != nil {
		disowned := agentstore.Disown(context.WithoutCancel(ctx), p.build.Store, p.config.TenantName(), what, id) // the next build claims it again
		return errors.Join(fmt.Errorf("conversation %q: claim its facts: %w", id, err), disowned)
	}
	return nil
}

// recipe returns the recipe that the build shares with other builds.
func (p *plan) recipe(ctx context.Context) (*assemble.Recipe, error) {
	if p.own == nil {
		return p.generation.recipeOf(ctx, p.pipeline)
	}
	r, err := p.generation.plugins.Recipe(ctx, p.own)
	if err == nil && p.replaced != nil {
		err = p.replaced.GoRound(r)
	}
	return r, err
}

// run builds the window, then compares it with the previous prompt and remembers the query if
// asked to.
func (p *plan) run(ctx context.Context, assembly *assemble.Assembly) (*pipeline.Result, error) {
	result, err := assembly.Build(ctx, p.query)
	if err == nil && p.config.Builds.Strict && len(result.Degraded) > 0 {
		return nil, &pipeline.BuildError{Stage: "degraded", Err: &core.DegradedError{List: result.Degraded}, Diagnostics: result.Diagnostics}
	}
	if err == nil && p.previous != nil {
		err = p.compare(ctx, assembly.Tokenizer(), result)
	}
	if err == nil && p.remember {
		err = p.claim(ctx) // again: the conversation may have been deleted meanwhile, with its owner
	}
	if err == nil && p.remember {
		err = assembly.Remember(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: p.query.Text})
	}
	if err == nil && p.config.Frames != nil && !p.repeats {
		run := agentrun.New(agentstore.Run{Store: p.build.Store, Tenant: p.config.TenantName(), ID: p.config.Frames.Run}, nil, nil)
		// The turn is stored: an error would make the caller build, and remember, again.
		if note := run.Read(ctx, frames.ItemFrames(result.Window.Items)); note != nil {
			result.Diagnostics.Warnings = append(result.Diagnostics.Warnings, agentrun.NotNoted(ctx, note))
		}
	}
	return result, err
}

// compare records in the diagnostics how much of the previous prompt a prompt cache can reuse.
func (p *plan) compare(ctx context.Context, t pipeline.Tokenizer, result *pipeline.Result) error {
	current, err := promptcache.NewSnapshot(result.Output, result.Window.Items)
	if err != nil {
		return fmt.Errorf("compare with the previous prompt: %w", err)
	}
	d := result.Diagnostics
	d.Cache, err = promptcache.Compare(ctx, t, p.previous, current, d.Items)
	if !p.explain && p.generation.loaded.Builds.Records == nil {
		d.Items = nil // recorded only for the comparison
	}
	return err
}
