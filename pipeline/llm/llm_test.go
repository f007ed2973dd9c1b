package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline/llm"
)

const key = "sk-d41d8cd98f00b204"

var apis = []llm.API{llm.OpenAI, llm.Anthropic}

// newModel makes a model of a server, with few and short waits.
func newModel(t *testing.T, o llm.Options) *llm.Model {
	t.Helper()
	o.Name, o.Model, o.Key = "small", "tiny-1", key
	if o.API == "" {
		o.API = llm.OpenAI
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	m, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func say(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "Be brief."}, {Role: llm.RoleUser, Content: text}}}
}

const score = `{"type":"object","properties":{"score":{"type":"number"}},"required":["score"],"additionalProperties":false}`

func TestAsk(t *testing.T) {
	for _, api := range apis {
		s := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
			if r.Schema != "" {
				return modeltest.Answer{Text: `{"score": 0.5}`, Input: 7, Output: 3}
			}
			return modeltest.Answer{Text: "hello " + r.Last(), Cut: true}
		})
		m := newModel(t, llm.Options{API: api, BaseURL: s.URL, MaxTokens: 77})
		a, err := m.Ask(t.Context(), say("you"))
		if want := (llm.Answer{Text: "hello you", InputTokens: 10, OutputTokens: 5, Cut: true}); err != nil || a != want {
			t.Errorf("%s: %+v, error %v, want %+v", api, a, err, want)
		}
		r := say("score")
		r.Schema, r.MaxTokens, r.Temperature = json.RawMessage(score), 9, new(float64)
		a, err = m.Ask(t.Context(), r)
		if err != nil || strings.ReplaceAll(a.Text, " ", "") != `{"score":0.5}` || a.InputTokens != 7 || a.OutputTokens != 3 {
			t.Errorf("%s: %+v, error %v", api, a, err)
		}
		got := s.Requests()
		if len(got) != 2 || got[0].Model != "tiny-1" || got[0].MaxTokens != 77 || got[1].MaxTokens != 9 || got[1].Schema != score ||
			got[0].Messages[0] != (modeltest.Message{Role: "system", Content: "Be brief."}) || strings.Contains(got[0].Body, "temperature") || !strings.Contains(got[1].Body, `"temperature":0`) {
			t.Errorf("%s: the server got %+v", api, got)
		}
		if sent := got[0].Header.Get("Authorization") + got[0].Header.Get("X-Api-Key"); !strings.HasSuffix(sent, key) || strings.Contains(got[0].Body, key) {
			t.Errorf("%s: the key was sent as %q", api, sent)
		}
	}
}

// A server may send millions of small things, and state any number of tokens.
func TestHostileServers(t *testing.T) {
	many := func(begin, each, end string) string {
		return begin + strings.Repeat(each, (1<<20-len(begin)-len(end))/len(each)) + end
	}
	const huge = "9223372036854775807"
	for name, c := range map[string]struct{ raw, want string }{
		"choices":    {many(`{"choices":[{"message":{"content":"hi"}}`, ",{}", `]}`), ""},
		"strings":    {many(`{"choices":["x"`, `,""`, `]}`), "no document of"},
		"depth":      {many(`{"choices":[{"message":`, "[", ``), "no document of"},
		"depth of x": {many(`{"choices":[{"message":{"content":"hi"}}],"stop_reason":"x","content":[],"x":`, "{\"a\":", ``), "no document of"},
		"names":      {many(`{"choices":[{"message":{"content":"hi"}}],"stop_reason":"x","content":[{"type":"text","text":"hi"}]`, `,"a":1`, `}`), ""},
		"content":    {many(`{"stop_reason":"x","content":[{"type":"text","text":"hi"}`, ",{}", `]}`), "no document of"},
		"again":      {many(`{"choices":[{"message":{"content":"hi"}}],"stop_reason":"x","content":[{"type":"text","text":"hi"}]`, `,"choices":[{}],"content":[{}]`, `}`), "is there twice"},
		"tokens": {`{"choices":[{"message":{"content":"hi"}}],"stop_reason":"x","content":[{"type":"text","text":"hi"}],"usage":{"prompt_tokens":` + huge + `,"completion_tokens":` + huge +
			`,"input_tokens":` + huge + `,"cache_creation_input_tokens":` + huge + `,"cache_read_input_tokens":` + huge + `,"output_tokens":` + huge + `}}`, ""},
		"negative": {`{"choices":[{"message":{"content":"hi"}}],"stop_reason":"x","content":[{"type":"text","text":"hi"}],"usage":{"prompt_tokens":-9,"completion_tokens":-9,"input_tokens":-9,"output_tokens":-9}}`, ""},
	} {
		for _, api := range apis {
			if name == "choices" && api == llm.Anthropic || name == "strings" && api == llm.Anthropic || name == "content" && api == llm.OpenAI {
				continue
			}
			t.Run(name+" "+string(api), func(t *testing.T) {
				s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Raw: c.raw} })
				m := newModel(t, llm.Options{API: api, BaseURL: s.URL, Retries: -1, Budget: ledger.Limit{Calls: 1, Tokens: 100_000}})
				ctx, _ := ledger.Under(t.Context())
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				a, err := m.Ask(ctx, say("x"))
				runtime.ReadMemStats(&after)
				if c.want == "" && (err != nil || a.Text != "hi" || a.InputTokens < 0 || a.OutputTokens < 0 || a.InputTokens+a.OutputTokens < 0) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%+v, %v", a, err)
				}
				// Of the reading, whose buffer doubles, and of garbage.
				if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+16*uint64(len(c.raw)) {
					t.Errorf("%d bytes took %d", len(c.raw), took)
				}
				if _, err := m.Ask(ctx, say("y")); !errors.Is(err, ledger.ErrSpent) {
					t.Errorf("the call did not count: %v", err)
				}
			})
		}
	}
}

// Whatever a server does, the error says what went wrong in one line, without the key.
func TestServersFail(t *testing.T) {
	schema := say("x")
	schema.Schema = json.RawMessage(score)
	for _, c := range []struct {
		name    string
		answer  modeltest.Answer
		request llm.Request
		kind    llm.Kind
		want    string
	}{
		{"429", modeltest.Answer{Status: 429, Raw: `{"error":{"message":"slow down, ` + key + `"}}`}, say("x"), llm.Unavailable, "the server answers 429 Too Many Requests: slow down, *** (it has too many requests"},
		{"500", modeltest.Answer{Status: 500, Raw: "oh\x1b[2J" + strings.Repeat("x", 10_000)}, say("x"), llm.Unavailable, "the server answers 500"},
		{"400", modeltest.Answer{Status: 400, Raw: `{"error":"too long"}`}, say("x"), llm.Refused, "the server answers 400 Bad Request: too long"},
		{"401", modeltest.Answer{Status: 401, Raw: key}, say("x"), llm.Unavailable, "(check key)"},
		{"redirect", modeltest.Answer{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, say("x"), llm.Unavailable, "redirects are not followed"},
		{"never", modeltest.Answer{Never: true}, say("x"), llm.Timeout, "no answer within 200ms (raise timeout)"},
		{"half", modeltest.Answer{Text: "hello", Half: true}, say("x"), llm.Unavailable, "unexpected EOF"},
		{"no JSON", modeltest.Answer{Raw: "<html>" + key}, say("x"), llm.Invalid, "the answer is no document of"},
		{"other JSON", modeltest.Answer{Raw: `{"hello": 1}`}, say("x"), llm.Invalid, "(is base_url right?)"},
		{"wrong types", modeltest.Answer{Raw: `{"choices": 5, "content": "` + key + `"}`}, say("x"), llm.Invalid, "the answer is no document of"},
		{"5 MB", modeltest.Answer{Text: strings.Repeat("a", 5<<20)}, say("x"), llm.Invalid, "the answer has more than 4194304 bytes"},
		{"2 MB", modeltest.Answer{Text: strings.Repeat("a", 2<<20)}, say("x"), llm.Invalid, "the text has 2097152 bytes, allowed 1048576"},
		{"text for JSON", modeltest.Answer{Text: "sure!"}, schema, llm.Invalid, "the answer does not fit the schema: is no JSON"},
		{"not per schema", modeltest.Answer{Text: `{"score": "` + key + `"}`}, schema, llm.Invalid, "the answer does not fit the schema"},
		{"cut JSON", modeltest.Answer{Text: `{"score": 0.`, Cut: true}, schema, llm.Invalid, "(raise max_tokens)"},
	} {
		for _, api := range apis {
			t.Run(c.name+" "+string(api), func(t *testing.T) {
				t.Parallel()
				s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return c.answer })
				o := llm.Options{API: api, BaseURL: s.URL, Retries: -1}
				if c.answer.Never {
					o.Timeout = 200 * time.Millisecond
				}
				_, err := newModel(t, o).Ask(t.Context(), c.request)
				var failed *llm.Error
				if !errors.As(err, &failed) || failed.Kind != c.kind || !strings.HasPrefix(err.Error(), `model "small": `) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want kind %s and %s", err, c.kind, c.want)
				}
				if text := err.Error(); strings.Contains(text, key) || strings.ContainsAny(text, "\n\x1b") || len(text) > 500 {
					t.Errorf("error %q", text)
				}
			})
		}
	}
}

// The key goes to no other server, whatever the first one says.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := modeltest.New(t, nil)
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusPermanentRedirect))
	t.Cleanup(first.Close)
	_, err := newModel(t, llm.Options{BaseURL: first.URL}).Ask(t.Context(), say("x"))
	if err == nil || len(other.Requests()) != 0 {
		t.Errorf("error %v; the other server got %d requests", err, len(other.Requests()))
	}
}

// A request is repeated after a pause, for as long as the server asks, and as often as allowed.
func TestRetries(t *testing.T) {
	var mu sync.Mutex
	tries := 0
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries < 3 {
			return modeltest.Answer{Status: 503, Raw: "{}", Header: http.Header{"Retry-After": {"0.1"}}}
		}
		return modeltest.Answer{Text: "at last"}
	})
	a, err := newModel(t, llm.Options{BaseURL: s.URL}).Ask(t.Context(), say("x"))
	if err != nil || a.Text != "at last" || tries != 3 {
		t.Errorf("%+v, error %v after %d tries", a, err, tries)
	}
	// A pause that would take all the time that is left is not begun.
	s = modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Status: 429, Raw: "{}", Header: http.Header{"Retry-After": {"50"}}}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err = newModel(t, llm.Options{BaseURL: s.URL}).Ask(ctx, say("x")); err == nil || ctx.Err() != nil {
		t.Errorf("error %v, and the context %v: want an error before the context ends", err, ctx.Err())
	}
}

// Requests run at the same time, as many as allowed.
func TestConcurrency(t *testing.T) {
	var s *modeltest.Server
	s = modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		await.True(func() bool { return s.Most() >= 3 })
		return modeltest.Answer{Delay: 20 * time.Millisecond} // a fourth may come meanwhile
	})
	m := newModel(t, llm.Options{BaseURL: s.URL, Concurrency: 3})
	var asking sync.WaitGroup
	for i := range 9 {
		asking.Go(func() {
			if _, err := m.Ask(t.Context(), say(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	if s.Most() != 3 {
		t.Errorf("%d requests at the same time, want 3", s.Most())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Ask(ctx, say("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// The calls and tokens of a build are never more than allowed, however many ask at once, and each
// build has its own.
func TestBudget(t *testing.T) {
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "x", Input: 20, Output: 10} })
	for _, c := range []struct {
		limit ledger.Limit
		want  int
	}{{ledger.Limit{Calls: 7}, 7}, {ledger.Limit{Tokens: 200}, 6}} {
		m := newModel(t, llm.Options{BaseURL: s.URL, Budget: c.limit, MaxTokens: 10, Concurrency: 2})
		for range 2 {
			ctx, _ := ledger.Under(t.Context())
			var mu sync.Mutex
			answered := 0
			var asking sync.WaitGroup
			ask := func() {
				_, err := m.Ask(ctx, say("x"))
				var failed *llm.Error
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered++
				} else if !errors.As(err, &failed) || failed.Kind != llm.Budget || !errors.Is(err, ledger.ErrSpent) {
					t.Errorf("error %v", err)
				}
			}
			for range 20 {
				asking.Go(ask)
			}
			asking.Wait()
			if answered > c.want {
				t.Errorf("%+v: %d answers at once, want at most %d", c.limit, answered, c.want)
			}
			for range 20 { // what was reserved and not used is there again
				ask()
			}
			if c.limit.Calls > 0 && answered != c.want || c.limit.Tokens > 0 && answered < 4 {
				t.Errorf("%+v: %d answers, want %d", c.limit, answered, c.want)
			}
		}
	}
}

// An answer is kept for the same request of the same scope, and costs nothing of a budget.
func TestCache(t *testing.T) {
	s := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: strings.Repeat(r.Last(), 100)}
	})
	m := newModel(t, llm.Options{BaseURL: s.URL, Cache: llm.NewCache(1000), Budget: ledger.Limit{Calls: 4}})
	ctx, _ := ledger.Under(t.Context())
	ask := func(text, scope string, cached bool) {
		t.Helper()
		r := say(text)
		r.Scope = scope
		a, err := m.Ask(ctx, r)
		if err != nil || a.Cached != cached || a.Text != strings.Repeat(text, 100) {
			t.Errorf("%s for %s: %+v, error %v", text, scope, a, err)
		}
	}
	ask("a", "", false)
	ask("a", "", true)
	ask("a", "acme", false)
	ask("b", "", false) // 3 times 356 bytes do not fit: the oldest goes
	ask("b", "", true)
	ask("a", "acme", true)
	ask("a", "", false)
	if n := len(s.Requests()); n != 4 {
		t.Errorf("the server got %d requests, want 4", n)
	}
	other := newModel(t, llm.Options{BaseURL: s.URL, Cache: llm.NewCache(10)})
	for range 2 {
		if a, err := other.Ask(ctx, say("a")); err != nil || a.Cached {
			t.Errorf("an answer larger than the cache: %+v, error %v", a, err)
		}
	}
}

// Small models put JSON into code blocks.
func TestFences(t *testing.T) {
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "```json\n{\"score\": 1}\n```\n"}
	})
	r := say("x")
	r.Schema = json.RawMessage(score)
	if a, err := newModel(t, llm.Options{BaseURL: s.URL}).Ask(t.Context(), r); err != nil || a.Text != `{"score": 1}` {
		t.Errorf("%+v, error %v", a, err)
	}
}

func TestOptions(t *testing.T) {
	good := llm.Options{Name: "a", API: llm.OpenAI, BaseURL: "https://example.com/v1", Model: "m"}
	for want, change := range map[string]func(*llm.Options){
		"no name":                     func(o *llm.Options) { o.Model = "" },
		`API "grpc" is not supported`: func(o *llm.Options) { o.API = "grpc" },
		"base URL is not valid":       func(o *llm.Options) { o.BaseURL = "example.com" },
		"base URL is not valid (w":    func(o *llm.Options) { o.BaseURL = "https://me:secret@example.com" },
		"the key has a line break":    func(o *llm.Options) { o.Key = "a\nb" },
	} {
		o := good
		change(&o)
		if _, err := llm.New(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	r := say("x")
	r.Schema = json.RawMessage(`{"$ref": "https://example.com/other"}`)
	m, err := llm.New(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Ask(t.Context(), r); err == nil || !strings.Contains(err.Error(), "a schema stands alone") {
		t.Errorf("error %v", err)
	}
}

// The check of an answer is what the schema says that was sent: open at the top unless it closes itself.
func TestSchemaIsCheckedAsSent(t *testing.T) {
	for schema, fits := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                              true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: false,
	} {
		s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: `{"a":"x","more":1}`} })
		r := say("x")
		r.Schema = json.RawMessage(schema)
		if _, err := newModel(t, llm.Options{BaseURL: s.URL}).Ask(t.Context(), r); (err == nil) != fits {
			t.Errorf("%s: %v", schema, err)
		}
		if got := s.Requests(); len(got) != 1 || got[0].Schema != schema {
			t.Errorf("sent %+v", got)
		}
	}
}

// No more requests begin in a second than the rate allows.
func TestRate(t *testing.T) {
	s := modeltest.New(t, nil)
	m, begun := newModel(t, llm.Options{BaseURL: s.URL, Rate: 50}), time.Now()
	for range 6 {
		if _, err := m.Ask(t.Context(), say("x")); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); took < 95*time.Millisecond {
		t.Errorf("6 requests, 50 in a second, took %v", took)
	}
}

// Headers of the operator are sent, in the place of those that the API has for the key, and no error
// shows their values.
func TestHeaders(t *testing.T) {
	for _, api := range apis {
		s := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Status: 400, Raw: r.Header.Get("Api-Key") + " " + r.Header.Get("Authorization")}
		})
		m := newModel(t, llm.Options{API: api, BaseURL: s.URL, Headers: map[string]string{"api-key": "geheim-1", "authorization": "Token geheim-2"}})
		_, err := m.Ask(t.Context(), say("x"))
		if err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "400 Bad Request: *** ***") {
			t.Errorf("%s: %v", api, err)
		}
		if h := s.Requests()[0].Header; h.Get("Api-Key") != "geheim-1" || h.Get("Authorization") != "Token geheim-2" {
			t.Errorf("%s: the server got %v", api, h)
		}
	}
	if _, err := llm.New(llm.Options{Name: "a", Model: "m", API: llm.OpenAI, BaseURL: "http://h", Headers: map[string]string{"x": "geheim\n"}}); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("%v", err)
	}
}

// No answer of a server makes a reader panic.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	f.Add(`{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":-5}}`)
	f.Add(`{"choices":[null],"content":[null]}`)
	var answer string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer s.Close()
	var models []*llm.Model
	for _, api := range apis {
		m, err := llm.New(llm.Options{Name: "a", Model: "m", API: api, BaseURL: s.URL, Retries: -1})
		if err != nil {
			f.Fatal(err)
		}
		models = append(models, m)
	}
	f.Fuzz(func(t *testing.T, body string) {
		answer = body
		for _, m := range models {
			for _, schema := range []string{"", score} {
				r := say("x")
				r.Schema = json.RawMessage(schema)
				a, err := m.Ask(t.Context(), r)
				if err == nil && (a.InputTokens < 0 || a.OutputTokens < 0) || err == nil && schema != "" && !json.Valid([]byte(a.Text)) {
					t.Errorf("%q: %+v", body, a)
				}
			}
		}
	})
}
