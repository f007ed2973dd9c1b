package anchor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
)

// BuildOptions say what is different in one build. A field with its zero value changes
// nothing: the configuration holds. Other values override it. They are written as in
// anchor.yaml, and mean the same.
type BuildOptions struct {
	// Pipeline is the name of a pipeline of the configuration. Empty: that at the top of the
	// file.
	Pipeline string
	// Tenant owns the conversation, the facts, and what plugins store.
	Tenant string
	// Timeout bounds the build.
	Timeout time.Duration
	// MaxTokens is the size of the window in tokens.
	MaxTokens int
	// Tokenizer is a built-in tokenizer, such as "cl100k_base".
	Tokenizer string
	// Model is the model that the window is for, such as "gpt-4o". It decides how tokens are
	// counted, instead of a tokenizer.
	Model string
	// Fit, Fill, Truncate and Order are words such as "exact", "knapsack", "sentence" and
	// "lost_in_the_middle".
	Fit, Fill, Truncate, Order string
	// FitOptions replace all fit_options. nil: those of the configuration.
	FitOptions *FitOptions
	// Format is the name of a built-in format, such as "anthropic" (see [format.Names]).
	Format string
	// FormatOptions replace all format_options. nil: those of the configuration.
	FormatOptions *FormatOptions
	// Formatter replaces the format. It may be nil.
	Formatter pipeline.Formatter
	// Preset is the name of a budget: "chat", "rag" or "agent". It replaces the budget of the
	// configuration.
	Preset string
	// Budget replaces the budget of the configuration. Its TotalTokens may be 0: then they
	// are those of the window. It may be nil.
	Budget *fill.Budget
	// SystemPrompts replace those of the configuration. An empty list is none. nil: those of
	// the configuration.
	SystemPrompts []pipeline.SystemPrompt
	// Conversation is the conversation of the store whose newest turns are in the window.
	Conversation string
	// Turns are a conversation that is not in the store, oldest turn first. nil: none.
	Turns []pipeline.Turn
	// Remember adds the query to the conversation of the store as a turn of the user once
	// the window is built.
	Remember bool
	// Items are appended by a first step with the name "items". nil: there is no such step.
	Items []pipeline.Item
	// Only are the names of the steps that run. The step of Items runs in any case. nil: all.
	Only []string
	// Skip are the names of steps that do not run. nil: none.
	Skip []string
	// Explain records what happened to each item, in Diagnostics.Items.
	Explain bool
	// Previous is the last prompt. Diagnostics.Cache then says how much of it a prompt cache
	// finds again. nil: nothing is compared.
	Previous *promptcache.Snapshot
	// Callbacks observe the build, after those of the configuration.
	Callbacks []pipeline.Callback
}

// FitOptions are the fit_options of anchor.yaml.
type FitOptions struct {
	// MessageOverhead are the tokens of a chat message in addition to its role and texts, and
	// Priming those of a chat document in addition to its messages. Both need Fit "exact".
	// nil: 3.
	MessageOverhead, Priming *int
	// Tools are the tool schemas that are sent with the window, as text. They are counted. It
	// needs Fit "exact".
	Tools string
	// MinTokens is the least number of tokens that may be left of a text that is cut. It needs
	// Truncate. 0: 32.
	MinTokens int
}

// FormatOptions are the format_options of anchor.yaml, all of them for "anthropic".
type FormatOptions struct {
	// Caching marks the stable parts for prompt caching.
	Caching bool
	// CacheControl is where the mark goes: "block", the default, puts it on a content block,
	// "seed" beside the role.
	CacheControl string
	// Breakpoints is "auto" for up to four marks, and needs Caching. Empty: marks on the
	// system prompt and the context.
	Breakpoints string
	// Model is the model whose least cacheable prefix counts for "auto". Empty: the model of
	// the window.
	Model string
}

// Build builds one context window. Errors of the build are a [*pipeline.BuildError];
// others wrap [ErrInvalid] where the options are at fault.
func (a *App) Build(ctx context.Context, q pipeline.Query, o BuildOptions) (*pipeline.Result, error) {
	g, err := a.use()
	if err != nil {
		return nil, err
	}
	defer g.users.Done()
	p := &plan{generation: g, config: g.loaded.Config, query: q}
	return a.build(ctx, p, &o)
}

// BuildRequest builds what a JSON document says, the input of "anchor-host build
// --request". What the document does not state has its default. Of the configuration it
// uses the plugin folder, the instances, the tenant, the timeout and the calibration; a
// document that names a pipeline of the configuration begins with all that this pipeline
// says, its conversation and facts in the store included. name stands for the document in
// errors. Options for what a document states are refused.
func (a *App) BuildRequest(ctx context.Context, name string, document io.Reader, o BuildOptions) (*pipeline.Result, error) {
	if err := refuse(&o); err != nil {
		return nil, err
	}
	// The document is read first, because nothing bounds the time that its reader takes.
	data, err := io.ReadAll(io.LimitReader(document, request.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	g, err := a.use()
	if err != nil {
		return nil, err
	}
	defer g.users.Done()
	req, c, err := request.Read(name, bytes.NewReader(data), g.loaded)
	if err != nil {
		return nil, wrong(err)
	}
	p := &plan{generation: g, config: *c, query: req.Query.Query, pipeline: req.Pipeline}
	p.build.Items, p.explain = request.Convert(req.Items), req.Explain
	if !req.SharesPlugins() {
		p.own = c
	}
	return a.build(ctx, p, &o)
}

// plan is one build, as configuration and options say together.
type plan struct {
	generation *generation
	// pipeline is the name of the pipeline whose steps run, unless own has others.
	pipeline string
	own      *config.Config

	query    pipeline.Query
	config   config.Config
	build    assemble.Build
	remember bool
	explain  bool
	previous *promptcache.Snapshot
}

func (a *App) build(ctx context.Context, p *plan, o *BuildOptions) (*pipeline.Result, error) {
	if err := p.apply(o); err != nil {
		return nil, err
	}
	return within(ctx, &p.config, func(ctx context.Context) (*pipeline.Result, error) { return a.carryOut(ctx, p) })
}

// within runs work for the tenant of a configuration, within its timeout, 0 for none. The
// error of work that took too long says how to give it more time.
func within[T any](ctx context.Context, c *config.Config, work func(context.Context) (T, error)) (T, error) {
	ctx = host.WithTenant(ctx, c.TenantName())
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

// carryOut builds what a plan says.
func (a *App) carryOut(ctx context.Context, p *plan) (*pipeline.Result, error) {
	if assemble.UsesStore(&p.config) {
		var err error
		if p.build.Store, err = a.openStore(ctx, p.generation.loaded); err != nil {
			return nil, err
		}
	}
	recipe, err := p.recipe(ctx)
	if err != nil {
		return nil, err
	}
	assembly, err := recipe.Assembly(ctx, p.build)
	if err != nil {
		return nil, err
	}
	result, err := p.run(ctx, assembly)
	if err == nil && p.remember {
		a.promoteLater(ctx, p.generation, &p.config)
	}
	return result, err
}

// recipe returns what the build shares with others.
func (p *plan) recipe(ctx context.Context) (*assemble.Recipe, error) {
	if p.own != nil {
		return p.generation.plugins.Recipe(ctx, p.own)
	}
	return p.generation.recipeOf(ctx, p.pipeline)
}

// run builds, and does what is to be done once the window is built.
func (p *plan) run(ctx context.Context, assembly *assemble.Assembly) (*pipeline.Result, error) {
	result, err := assembly.Build(ctx, p.query)
	if err == nil && p.previous != nil {
		err = p.compare(ctx, assembly.Tokenizer(), result)
	}
	if err == nil && p.remember {
		err = assembly.Remember(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: p.query.Text})
	}
	if err == nil && p.config.Frames != nil {
		run := &Run{run: agentstore.Run{Store: p.build.Store, Tenant: p.config.TenantName(), ID: p.config.Frames.Run}}
		// The turn is stored: an error would make the caller build, and remember, again.
		if note := run.read(ctx, frames.ItemFrames(result.Window.Items)); note != nil {
			result.Diagnostics.Warnings = append(result.Diagnostics.Warnings, notNoted(note))
		}
	}
	return result, err
}

// compare enters how much of the prompt before a prompt cache finds again.
func (p *plan) compare(ctx context.Context, t pipeline.Tokenizer, result *pipeline.Result) error {
	current, err := promptcache.NewSnapshot(result.Output, result.Window.Items)
	if err != nil {
		return fmt.Errorf("compare with the previous prompt: %w", err)
	}
	d := result.Diagnostics
	d.Cache, err = promptcache.Compare(ctx, t, p.previous, current, d.Items)
	if !p.explain {
		d.Items = nil // recorded for the comparison alone
	}
	return err
}
