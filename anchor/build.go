package anchor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
)

// BuildOptions say what is different in one build. The zero value of a field stands for
// what the configuration says; other values count before it. Texts are those of the keys
// of anchor.yaml, which says what they mean.
type BuildOptions struct {
	// Pipeline is the name of a pipeline of the configuration.
	Pipeline string
	// Tenant is whose conversation, facts and plugins' values they are.
	Tenant string
	// Timeout bounds the build.
	Timeout time.Duration
	// MaxTokens is the size of the window in tokens.
	MaxTokens int
	// Tokenizer is a built-in tokenizer, such as "cl100k_base".
	Tokenizer string
	// Model is the model that the window is for, in the place of a tokenizer.
	Model string
	// Fit, Fill, Truncate and Order are such as "exact", "knapsack", "sentence" and
	// "lost_in_the_middle".
	Fit, Fill, Truncate, Order string
	// FitOptions take the place of fit_options. nil: those of the configuration.
	FitOptions *FitOptions
	// Format is the name of a built-in format, such as "anthropic" (see [format.Names]).
	Format string
	// FormatOptions take the place of format_options. nil: those of the configuration.
	FormatOptions *FormatOptions
	// Formatter takes the place of every format. It may be nil.
	Formatter pipeline.Formatter
	// Preset is "chat", "rag" or "agent", in the place of the budget.
	Preset string
	// Budget takes the place of the budget; its TotalTokens may be 0, for those of the window.
	Budget *fill.Budget
	// SystemPrompts take the place of those of the configuration. nil: those; an empty list:
	// none.
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
	// Only are the names of the steps that run. nil: all.
	Only []string
	// Skip are the names of steps that do not run.
	Skip []string
	// Explain records what became of each item, in Diagnostics.Items.
	Explain bool
	// Previous is the prompt before. It puts into Diagnostics.Cache how much of it a prompt
	// cache finds again. nil: nothing is compared.
	Previous *promptcache.Snapshot
	// Callbacks observe the build, after those of the configuration.
	Callbacks []pipeline.Callback
}

// FitOptions are the fit_options of anchor.yaml.
type FitOptions struct {
	// MessageOverhead and Priming are the tokens of a chat message beside its role and
	// texts, and of a chat document beside its messages. nil: 3.
	MessageOverhead, Priming *int
	// Tools are tool schemas that are sent beside the window, as text: they are counted.
	Tools string
	// MinTokens is the least that may be left of a text that is cut. 0: 32.
	MinTokens int
}

// FormatOptions are the format_options of anchor.yaml, all of them for "anthropic".
type FormatOptions struct {
	// Caching marks the stable parts for prompt caching.
	Caching bool
	// CacheControl is where the mark goes: "block", the default, or "seed".
	CacheControl string
	// Breakpoints is "auto" for up to four marks. Empty: the system prompt and the context.
	Breakpoints string
	// Model is the model whose least cacheable prefix counts for "auto".
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
// --request". The document is complete in itself: of the configuration it uses the
// instances and the plugin folder. name stands for the document in errors. Options for
// what a document states are refused.
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
	ctx = host.WithTenant(ctx, p.config.TenantName())
	if p.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(p.config.Timeout))
		defer cancel()
	}
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
	return p.run(ctx, assembly)
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
