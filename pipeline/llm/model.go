package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/apiclient"
	"github.com/anchor-host/anchor-host/internal/ledger"
)

// API is the form of the requests to a model.
type API string

// The APIs.
const (
	// OpenAI is the API of chat completions.
	OpenAI API = "openai"
	// Anthropic is the API of messages.
	Anthropic API = "anthropic"
)

// Defaults of [Options].
const (
	DefaultTimeout     = 30 * time.Second
	DefaultRetries     = 2
	DefaultMaxTokens   = 1024
	DefaultConcurrency = 16
)

const (
	// maxAnswer bounds the document that a server answers with, in bytes.
	maxAnswer = 4 << 20
	// MaxText bounds the text of an answer, in bytes.
	MaxText = 1 << 20
)

// Options define a [Model].
type Options struct {
	// Name is the name of the model in errors and budgets. Required.
	Name string
	// API is OpenAI or Anthropic. Required.
	API API
	// BaseURL is the address of the API, to which /chat/completions or /messages is added, such as
	// "https://api.openai.com/v1". Required.
	BaseURL string
	// Model is the name of the model, as the server knows it. Required.
	Model string
	// Key is sent as the API wants it. It may be empty.
	Key string
	// Headers are sent too. Their values are secrets, like Key, and so is what follows the first
	// space in one, as in "Bearer KEY". They replace those that the API has for Key.
	Headers map[string]string
	// Secrets are parts of Key and Headers that no error may show either.
	Secrets []string
	// Timeout bounds one try. 0: DefaultTimeout.
	Timeout time.Duration
	// Retries is how often a request is repeated. 0: DefaultRetries. Below 0: never.
	Retries int
	// MaxTokens is the maximum number of tokens of an answer, if a request states none.
	// 0: DefaultMaxTokens.
	MaxTokens int
	// Temperature is that of requests that state none. nil: that of the server.
	Temperature *float64
	// Concurrency is how many requests run at the same time; others wait. 0:
	// DefaultConcurrency.
	Concurrency int
	// Rate is the largest number of requests that begin in a second. 0: no limit.
	Rate float64
	// Budget bounds what is asked for in one build; see package ledger. Its zero value is no
	// bound.
	Budget ledger.Limit
	// Cache keeps answers. nil: none is kept.
	Cache *Cache
	// Asker answers the requests in the place of a server. API, BaseURL, Key, Headers, Secrets, Retries and Rate
	// then mean nothing. nil: a server answers.
	Asker Asker
}

// Asker is a model that the program itself has, such as one behind a client of its own. Request.MaxTokens is at
// least 1, and its Check is nil: the answer is checked. An [*Error] keeps its kind; any other error is Unavailable.
// It is safe for concurrent use.
type Asker interface {
	Ask(ctx context.Context, r Request) (Answer, error)
}

// Model asks one model. It is safe for concurrent use.
type Model struct {
	o       Options
	api     api
	address string
	client  *apiclient.Client // nil if an Asker answers
	turns   chan struct{}     // holds a value for each request to an Asker
}

// api writes requests and reads answers.
type api interface {
	// body writes a request. maxTokens is at least 1.
	body(o *Options, r *Request, maxTokens int) ([]byte, error)
	// read reads an answer. schema says that the request has one.
	read(answer []byte, schema bool) (Answer, error)
}

// New returns a model. It sends nothing. The error says which option is not valid.
func New(o Options) (*Model, error) {
	if o.Name == "" || o.Model == "" {
		return nil, errors.New("model: no name (state Name and Model)")
	}
	if o.Asker != nil {
		return ofAsker(o), nil
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("model %q: base URL is not valid (want an address without password, such as https://api.openai.com/v1)", o.Name)
	}
	m := &Model{o: o, api: chat{officialHost(u)}}
	stated, secrets, err := apiclient.Header(o.Headers)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", o.Name, err)
	}
	if !(o.Rate >= 0) {
		return nil, fmt.Errorf("model %q: rate %v (want 0 for no limit, or more)", o.Name, o.Rate)
	}
	path, header := "chat/completions", http.Header{}
	switch o.API {
	case Anthropic:
		m.api, path = messages{}, "messages"
		header.Set("Anthropic-Version", "2023-06-01")
		setKey(header, "X-Api-Key", o.Key, o.Key)
	case OpenAI:
		setKey(header, "Authorization", o.Key, "Bearer "+o.Key)
	default:
		return nil, fmt.Errorf("model %q: API %q is not supported (want %s or %s)", o.Name, o.API, OpenAI, Anthropic)
	}
	if err := apiclient.CheckValue(o.Key); err != nil {
		return nil, fmt.Errorf("model %q: the key %w", o.Name, err)
	}
	maps.Copy(header, stated)
	m.address = u.JoinPath(path).String()
	m.complete()
	m.client = apiclient.New(apiclient.Options{
		Name: fmt.Sprintf("model %q", o.Name), Header: header, Secrets: slices.Concat(secrets, o.Secrets, []string{o.Key}), Timeout: m.o.Timeout, Retries: m.o.Retries, Concurrency: m.o.Concurrency, Rate: m.o.Rate,
		Advice: apiclient.Advice{Busy: "lower concurrency or rate, or wait"},
	})
	return m, nil
}

func setKey(h http.Header, name, key, value string) {
	if key != "" {
		h.Set(name, value)
	}
}

// complete fills in defaults.
func (m *Model) complete() {
	o := &m.o
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	switch {
	case o.Retries == 0:
		o.Retries = DefaultRetries
	case o.Retries < 0:
		o.Retries = 0
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
}

// Close closes connections that no request uses. The model can be used on.
func (m *Model) Close() {
	if m.client != nil {
		m.client.Close()
	}
}

// Role is who speaks in a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is a message to a model.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}

// Request is one request.
type Request struct {
	Messages []Message
	// Schema is a JSON Schema of an object. The answer then is JSON that Check accepts. nil: the
	// answer is text.
	Schema json.RawMessage
	// Check holds an answer against Schema. nil: the package compiles Schema, which may have 64 KiB
	// and refer to nothing outside of it. The check takes a bounded time, and an answer may have
	// 256 KiB.
	Check func(answer json.RawMessage) error
	// MaxTokens is the maximum number of tokens of the answer. 0: that of the model.
	MaxTokens int
	// Temperature is that of the model if it is nil.
	Temperature *float64
	// Scope names whom a kept answer serves: an answer is found only by requests of the same
	// scope, such as a tenant.
	Scope string
}

// Answer is the answer of a model.
type Answer struct {
	// Text is the answer, at most MaxText bytes. With a schema it is JSON.
	Text string
	// InputTokens and OutputTokens are what the server counted. If it says nothing, four bytes
	// count as a token.
	InputTokens, OutputTokens int
	// CachedTokens are those of InputTokens that the server had in its cache of prompts.
	CachedTokens int
	// Cut says that the answer reached its maximum of tokens.
	Cut bool
	// Cached says that the answer was kept, so that no server was asked.
	Cached bool
}

// Ask asks the model. Errors are an [*Error], or the cause of the end of ctx. An error of kind
// Invalid comes with the answer's tokens.
func (m *Model) Ask(ctx context.Context, r Request) (Answer, error) {
	check, err := checkOf(&r)
	if err != nil {
		return Answer{}, m.failed(Refused, err)
	}
	maxTokens := r.MaxTokens
	if maxTokens <= 0 {
		maxTokens = m.o.MaxTokens
	}
	body, err := m.api.body(&m.o, &r, maxTokens)
	if err != nil {
		return Answer{}, m.failed(Refused, err)
	}
	key := keyOf(r.Scope, m.address, body)
	if a, ok := m.o.Cache.get(key); ok {
		a.Cached = true
		return a, nil
	}
	send := func(ctx context.Context) (Answer, error) { return m.send(ctx, body, check) }
	if m.o.Asker != nil {
		r.MaxTokens = maxTokens
		send = func(ctx context.Context) (Answer, error) { return m.askOwn(ctx, r, check) }
	}
	a, err := m.within(ctx, len(body), maxTokens, send)
	if err == nil {
		m.o.Cache.put(key, a)
	}
	return a, err
}

// within asks within the budget of the build. size is that of the request in bytes.
func (m *Model) within(ctx context.Context, size, maxTokens int, send func(context.Context) (Answer, error)) (Answer, error) {
	_, l := ledger.Under(ctx)
	settle, err := l.Model(fmt.Sprintf("model %q", m.o.Name), m.o.Budget, int64(size/4+maxTokens))
	if err != nil {
		return Answer{}, m.failed(Budget, err)
	}
	a, err := send(ctx)
	if a.InputTokens == 0 && err == nil {
		a.InputTokens = size / 4
	}
	a.OutputTokens = cmp.Or(a.OutputTokens, len(a.Text)/4)
	settle(int64(a.InputTokens) + int64(a.OutputTokens))
	return a, err
}

// send sends a request and checks the answer.
func (m *Model) send(ctx context.Context, body []byte, check func(json.RawMessage) error) (Answer, error) {
	var raw []byte
	err := m.client.Post(ctx, apiclient.Request{Address: m.address, Body: body, MaxAnswer: maxAnswer, Read: func(answer io.Reader) (err error) {
		raw, err = io.ReadAll(answer)
		return err
	}})
	if err != nil {
		return Answer{}, m.unanswered(err)
	}
	a, err := m.api.read(raw, check != nil)
	return m.checked(a, err, check)
}

// checked holds an answer to what was asked for. An error of kind Invalid comes with the answer's tokens.
func (m *Model) checked(a Answer, err error, check func(json.RawMessage) error) (Answer, error) {
	switch {
	case err != nil:
	case len(a.Text) > MaxText:
		err = &Error{Kind: Invalid, Err: fmt.Errorf("the text has %d bytes, allowed %d", len(a.Text), MaxText)}
	case check != nil:
		a.Text = unfenced(a.Text)
		if err = check(json.RawMessage(a.Text)); err != nil && a.Cut {
			err = fmt.Errorf("%w: the answer is cut at its maximum of tokens (raise max_tokens)", err)
		}
	}
	if err != nil {
		var known *Error
		if !errors.As(err, &known) {
			known = &Error{Kind: Invalid, Err: errors.New(m.safe(err.Error()))}
		}
		known.Model = m.o.Name
		return Answer{InputTokens: a.InputTokens, CachedTokens: a.CachedTokens, OutputTokens: a.OutputTokens}, known
	}
	return a, nil
}

// unfenced returns JSON without the fence of a code block, which small models put around it.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return text
	}
	return strings.TrimSpace(strings.TrimPrefix(inner, "json"))
}

// officialHost reports whether an address is that of OpenAI, which has renamed a member.
func officialHost(u *url.URL) bool { return u.Hostname() == "api.openai.com" }
