package serving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/llm"
)

// cacheBytes bounds the answers that are kept for one model, in bytes.
const cacheBytes = 16 << 20

// baseURLs are the addresses of APIs if a configuration states none.
var baseURLs = map[string]string{string(llm.OpenAI): "https://api.openai.com/v1", string(llm.Anthropic): "https://api.anthropic.com/v1"}

// Models are the models of a configuration. It is safe for concurrent use. A model is made at its
// first use, when its key is read.
type Models struct {
	config map[string]config.Model
	path   func(string) string
	own    func(name string, settings map[string]any) (llm.Asker, error)

	mu   sync.Mutex
	made map[string]*llm.Model
}

// NewModels returns the models of a configuration. path resolves paths of the configuration, and own returns a model
// in Go.
func NewModels(models map[string]config.Model, path func(string) string, own func(name string, settings map[string]any) (llm.Asker, error)) *Models {
	return &Models{config: models, path: path, own: own, made: map[string]*llm.Model{}}
}

// Model returns a model by its name. The error names the place in the configuration, and wraps
// [config.ErrInvalid] if there is no such model, or no key.
func (m *Models) Model(name string) (*llm.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.made[name]; made != nil {
		return made, nil
	}
	c, ok := m.config[name]
	if !ok {
		return nil, fmt.Errorf("%w: no model %q%s (define it under models)", config.ErrInvalid, name, strict.Hint(name, slices.Sorted(maps.Keys(m.config))))
	}
	made, err := m.make(name, &c)
	if err != nil {
		return nil, err
	}
	m.made[name] = made
	return made, nil
}

func (m *Models) make(name string, c *config.Model) (*llm.Model, error) {
	if c.Use == "" {
		return Model(name, c, m.path)
	}
	asker, err := m.own(c.Use, c.Settings)
	if err != nil {
		return nil, fmt.Errorf("models.%s: %w", name, err)
	}
	o := options(name, c)
	o.Asker, o.Model = asker, cmp.Or(c.Model, name)
	return llm.New(o)
}

// Model makes a model of a configuration that a server has. It reads the secrets and asks no server. The error names the
// place in the configuration, and wraps [config.ErrInvalid].
func Model(name string, c *config.Model, path func(string) string) (*llm.Model, error) {
	key, headers, secrets, err := config.Credentials(c.Key, c.Headers, path)
	if err != nil {
		return nil, err
	}
	o := options(name, c)
	o.Key, o.Headers, o.Secrets = key, headers, secrets
	made, err := llm.New(o)
	if err != nil {
		return nil, fmt.Errorf("%w: models.%s: %w", config.ErrInvalid, name, err)
	}
	return made, nil
}

func options(name string, c *config.Model) llm.Options {
	o := llm.Options{
		Name: name, API: llm.API(c.API), BaseURL: c.BaseURL, Model: c.Model, Timeout: time.Duration(c.Timeout),
		MaxTokens: c.MaxTokens, Temperature: c.Temperature, Concurrency: c.Concurrency, Rate: c.Rate,
		Budget: ledger.Limit{
			Calls: int64(c.MaxCallsPerBuild), Tokens: int64(c.MaxTokensPerBuild),
			CallsKey: "models." + name + ".max_calls_per_build", TokensKey: "models." + name + ".max_tokens_per_build",
		},
	}
	if o.BaseURL == "" {
		o.BaseURL = baseURLs[c.API]
	}
	if c.Retries != nil {
		if o.Retries = *c.Retries; o.Retries == 0 {
			o.Retries = -1
		}
	}
	if c.Cache {
		o.Cache = llm.NewCache(cacheBytes)
	}
	return o
}

// Close closes connections that no request uses. The models can be used on.
func (m *Models) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, made := range m.made {
		made.Close()
	}
}

// Ask implements service.Models.
func (m *Models) Ask(ctx context.Context, q service.Question) (service.Reply, error) {
	model, err := m.Model(q.Model)
	if err != nil {
		return service.Reply{}, err
	}
	r := llm.Request{Schema: q.Schema, Check: q.Check, MaxTokens: q.MaxTokens, Temperature: q.Temperature, Scope: q.Tenant}
	for _, x := range q.Messages {
		r.Messages = append(r.Messages, llm.Message{Role: llm.Role(x.Role), Content: x.Content})
	}
	a, err := m.observed(ctx, model, q.Model, r)
	reply := service.Reply{
		Text: a.Text, InputTokens: a.InputTokens, CachedTokens: a.CachedTokens, OutputTokens: a.OutputTokens, Cached: a.Cached, Finish: services.LLMStop,
	}
	if a.Cut {
		reply.Finish = services.LLMLength
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		err = &service.Error{Word: services.Word(failed.Kind), Message: messageOf(failed), Err: failed.Err}
	}
	return reply, err
}

// observed asks a model, and tells the observer of ctx.
func (m *Models) observed(ctx context.Context, model *llm.Model, name string, r llm.Request) (llm.Answer, error) {
	c := m.config[name]
	ctx, span := observe.Begin(ctx, observe.Work{
		Kind: observe.Model, Name: name, API: c.API, ServerModel: cmp.Or(c.Model, name), Address: cmp.Or(c.BaseURL, baseURLs[c.API]),
		Count: cmp.Or(r.MaxTokens, c.MaxTokens, llm.DefaultMaxTokens), Text: func() string { return messagesText(r.Messages) },
	})
	a, err := model.Ask(ctx, r)
	reason := ""
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		reason = string(failed.Kind)
	}
	span.End(observe.Result{
		Err: err, Reason: reason, Cached: a.Cached, InputTokens: int64(a.InputTokens), CachedTokens: int64(a.CachedTokens), OutputTokens: int64(a.OutputTokens),
		Text: func() string { return messagesText([]llm.Message{{Role: llm.RoleAssistant, Content: a.Text}}) },
	})
	return a, err
}

// messagesText returns messages in the form of the conventions for the content of spans.
func messagesText(messages []llm.Message) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  llm.Role `json:"role"`
		Parts []part   `json:"parts"`
	}
	list := make([]message, len(messages))
	for i, m := range messages {
		list[i] = message{m.Role, []part{{"text", m.Content}}}
	}
	text, _ := json.Marshal(list) // it has texts only
	return string(text)
}

// messageOf is what a guest is told of a failure. What a server says may name accounts and
// deployments, so it is for the log alone.
func messageOf(e *llm.Error) string {
	if e.Kind == llm.Invalid {
		return e.Err.Error()
	}
	return ""
}
