package imports_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/internal/testkit/guesttest"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
)

// fakeServices are an embedder, collections and models in memory. Their functions may be nil.
type fakeServices struct {
	embed  func(ctx context.Context, side services.Side, texts []string) (service.Vectors, error)
	search func(ctx context.Context, q service.Search) ([]services.SearchHit, error)
	ask    func(ctx context.Context, q service.Question) (service.Reply, error)
	asked  atomic.Int64
}

func (f *fakeServices) Embed(ctx context.Context, name string, side services.Side, texts []string) (service.Vectors, error) {
	f.asked.Add(1)
	if f.embed != nil {
		return f.embed(ctx, side, texts)
	}
	v := service.Vectors{Model: name, Dimension: 2}
	for _, text := range texts {
		v.Values = append(v.Values, float32(len(text)), 0.5)
	}
	return v, nil
}

func (f *fakeServices) Search(ctx context.Context, q service.Search) ([]services.SearchHit, error) {
	f.asked.Add(1)
	if f.search != nil {
		return f.search(ctx, q)
	}
	return []services.SearchHit{{Document: q.Tenant + "/" + q.Collection, Chunk: 1, Score: 1, Text: fmt.Sprint(q.Text, q.Vector)}}, nil
}

func (f *fakeServices) Ask(ctx context.Context, q service.Question) (service.Reply, error) {
	f.asked.Add(1)
	if f.ask != nil {
		return f.ask(ctx, q)
	}
	return service.Reply{Text: q.Model + ": " + q.Messages[0].Content, InputTokens: 3, OutputTokens: 2}, nil
}

var allServices = service.Grants{
	Embed: &service.EmbedGrant{Embedder: "local"}, Search: &service.SearchGrant{Collections: []string{"docs", "code"}},
	LLM: &service.LLMGrant{Models: []string{"small", "large"}},
}

// serving opens the guest that passes its input to services.
func serving(t *testing.T, f *fakeServices, granted service.Grants, l guest.Limits) *guesttest.Guest {
	t.Helper()
	return served(t, service.Services{Embedder: f, Searcher: f, Models: f}, granted, l)
}

func served(t *testing.T, s service.Services, granted service.Grants, l guest.Limits) *guesttest.Guest {
	t.Helper()
	return guesttest.Open(t, "services", guesttest.Options{Limits: l, Grants: &imports.Plugin{
		Services: s, Granted: granted, Asks: []string{"service embed", "service search", "service llm"}, Tenant: tenantOf}})
}

type tenantKey struct{}

// tenantOf is the tenant of the calls of a context.
func tenantOf(ctx context.Context) string {
	name, _ := ctx.Value(tenantKey{}).(string)
	return cmp.Or(name, "default")
}

const askHello = `{"requests":[{"messages":[{"role":"user","content":"hello"}]}]}`

// What is asked reaches the service, and what it answers the guest.
func TestServices(t *testing.T) {
	f := &fakeServices{}
	g := serving(t, f, allServices, guest.Limits{})
	for _, c := range []struct{ call, request, want string }{
		{"embed", `{"texts":[]}`, `{}`},
		{"llm", askHello, `{"responses":[{"text":"small: hello","model":"small","input_tokens":3,"output_tokens":2,"finish":"stop"}]}`},
		{"llm", `{"requests":[]}`, `{"responses":[]}`},
		{"llm", `{"requests":[{"model":"large","messages":[{"role":"system","content":"x"}],"new":1}],"new":1}`,
			`{"responses":[{"text":"large: x","model":"large","input_tokens":3,"output_tokens":2,"finish":"stop"}]}`},
		{"search", `{"text":"fox"}`, `{"hits":[{"document":"default/docs","chunk":1,"score":1,"text":"fox[]"}]}`},
		{"search", `{"text":"fox","collection":"code","k":1000}`, `{"hits":[{"document":"default/code","chunk":1,"score":1,"text":"fox[]"}]}`},
		{"vector", ``, `{"hits":[{"document":"default/docs","chunk":1,"score":1,"text":"[1 0.5]"}]}`},
	} {
		out, err := g.Call(t.Context(), c.call, []byte(c.request))
		if err != nil || string(out) != c.want {
			t.Errorf("%s %s: %s, error %v\nwant %s", c.call, c.request, out, err, c.want)
		}
	}
	out, err := g.Call(t.Context(), "vectors", []byte(`{"side":"query","texts":["a","four"]}`))
	if err != nil || len(out) != 16 {
		t.Fatalf("vectors: %d bytes, error %v", len(out), err)
	}
	for i, want := range []float32{1, 0.5, 4, 0.5} {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])); got != want {
			t.Errorf("number %d is %v, want %v", i, got, want)
		}
	}
	out, err = g.Call(context.WithValue(t.Context(), tenantKey{}, "acme"), "search", []byte(`{"text":"x"}`))
	if err != nil || !strings.Contains(string(out), "acme/docs") {
		t.Errorf("search of a tenant: %s, error %v", out, err)
	}
}

// What is malformed or not granted ends the call before a service is asked.
func TestServicesRefuse(t *testing.T) {
	f := &fakeServices{}
	g := serving(t, f, allServices, guest.Limits{})
	texts := `{"texts":["a"` + strings.Repeat(`,"a"`, 9_999) + `]}`
	message := func(content string) string {
		return `{"requests":[{"messages":[{"role":"user","content":"` + content + `"}]}]}`
	}
	for _, c := range []struct {
		call, request string
		reason        abi.Reason
		want          string
	}{
		{"embed", texts, abi.ReasonTrap, "anchor_embed: texts: has more than 1024 values"},
		{"embed", `{"texts":["a"],"side":"left"}`, abi.ReasonTrap, `side: is "left" (want query or document)`},
		{"embed", `{"texts":[1]}`, abi.ReasonTrap, "texts: [0]:"},
		{"embed", `[`, abi.ReasonTrap, "unexpected end"},
		{"embed_wild", ``, abi.ReasonTrap, "the request is not a block"},
		{"llm_large", ``, abi.ReasonInputTooLarge, "a request of 30000000 bytes, allowed 1048576 (ask in parts)"},
		{"llm", message(strings.Repeat("a", 1<<20)), abi.ReasonInputTooLarge, "allowed 1048576"},
		{"llm", `{"requests":[` + strings.Repeat(`{"messages":[{"role":"user"}]},`, 40) + `{}]}`, abi.ReasonTrap, "requests: has more than 32 values"},
		{"llm", `{"requests":[{"messages":[` + strings.Repeat(`{"role":"user"},`, 1000) + `{}]}]}`, abi.ReasonTrap, "requests[0].messages: has more than 1000 values"},
		{"llm", `{"requests":[{"messages":[]}]}`, abi.ReasonTrap, "requests[0].messages: is empty"},
		{"llm", `{"requests":[{"messages":[{"role":"root"}]}]}`, abi.ReasonTrap, `messages[0].role: is "root" (want system, user or assistant)`},
		{"llm", `{"requests":[{"model":"huge","messages":[{"role":"user"}]}]}`, abi.ReasonDenied, `model "huge" is not permitted (grant it with grants.llm.models)`},
		{"llm", `{"requests":[{"messages":[{"role":"user"}],"max_tokens":-1}]}`, abi.ReasonTrap, "max_tokens: is -1"},
		{"llm", `{"requests":[{"messages":[{"role":"user"}],"temperature":9}]}`, abi.ReasonTrap, "temperature: is 9"},
		{"llm", `{"requests":[{"messages":[{"role":"user"}],"schema":{"$ref":"https://example.com/x"}}]}`, abi.ReasonTrap, "reference to https://example.com/x"},
		{"llm", `{"requests":[{"messages":[{"role":"user"}],"schema":{"$ref":"file:///etc/passwd"}}]}`, abi.ReasonTrap, "reference to file:///etc/passwd"},
		{"llm", `{"requests":[{"messages":[{"role":"user"}],"schema":` + deepSchema(100) + `}]}`, abi.ReasonTrap, "requests[0].schema"},
		{"search", `{"text":"x","collection":"secret"}`, abi.ReasonDenied, `collection "secret" is not permitted`},
		{"search", `{"text":"x","k":100000}`, abi.ReasonTrap, "k: is 100000 (want 1 to 1000)"},
		{"search", `{"text":"x","by":"smell"}`, abi.ReasonTrap, `by: is "smell"`},
		{"search", `{}`, abi.ReasonTrap, "text: is missing"},
		{"search", `{"by":"vectors","vector":99999,"dimension":1000000000}`, abi.ReasonTrap, "dimension: is 1000000000 (want 1 to 16384)"},
		{"search", `{"by":"vectors","vector":99999,"dimension":16384}`, abi.ReasonTrap, "vector: is no block of 65536 bytes"},
		{"search", `{"text":"x","filter":[{"field":"a","op":"~","values":["b"]}]}`, abi.ReasonTrap, `filter[0].op: is "~"`},
		{"search", `{"text":"x","filter":[{"field":"a","op":"=","values":[` + strings.Repeat(`"b",`, 100) + `""]}]}`, abi.ReasonTrap, "filter[0].values: has more than 64 values"},
	} {
		_, err := g.Call(t.Context(), c.call, []byte(c.request))
		if failed := guesttest.CheckReason(t, err, c.reason); !strings.Contains(failed.Error()+" ("+failed.Remedy+")", c.want) {
			t.Errorf("%s %.60s: error %v\nwant %s", c.call, c.request, failed, c.want)
		}
	}
	if n := f.asked.Load(); n != 0 {
		t.Errorf("services were asked %d times", n)
	}
}

func deepSchema(n int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{}` + strings.Repeat(`}}`, n)
}

// A service that is not granted is refused with what to do.
func TestServicesNeedGrants(t *testing.T) {
	g := serving(t, &fakeServices{}, service.Grants{}, guest.Limits{})
	for _, name := range []string{"embed", "search", "llm"} {
		_, err := g.Call(t.Context(), name, []byte(`{}`))
		failed := guesttest.CheckReason(t, err, abi.ReasonDenied)
		if text := failed.Error() + ", " + failed.Remedy; text != "service "+name+" is not permitted, its manifest asks for it: grant it with grants."+name {
			t.Errorf("error %s", text)
		}
	}
}

// What goes wrong with a service is a word in the answer, whatever the service does.
func TestServicesFail(t *testing.T) {
	for _, c := range []struct {
		name, want string
		f          *fakeServices
		call       string
	}{
		{"word", `{"responses":[{"error":"refused","message":"too long"}]}`, &fakeServices{ask: func(context.Context, service.Question) (service.Reply, error) {
			return service.Reply{}, &service.Error{Word: services.Refused, Message: "too long", Err: errors.New("for the log")}
		}}, "llm"},
		{"unknown", `{"responses":[{"error":"unavailable","message":"the service cannot be reached, or refuses for now"}]}`, &fakeServices{ask: func(context.Context, service.Question) (service.Reply, error) {
			return service.Reply{}, errors.New("dial tcp 10.0.0.1: refused")
		}}, "llm"},
		{"panic", `"error":"unavailable"`, &fakeServices{ask: func(context.Context, service.Question) (service.Reply, error) { panic("oh") }}, "llm"},
		{"late by itself", `"error":"timeout"`, &fakeServices{ask: func(context.Context, service.Question) (service.Reply, error) {
			return service.Reply{}, fmt.Errorf("post: %w", context.DeadlineExceeded)
		}}, "llm"},
		{"5 MB", `"error":"invalid","message":"the answers have more than 4194304 bytes"`, &fakeServices{ask: func(context.Context, service.Question) (service.Reply, error) {
			return service.Reply{Text: strings.Repeat("a", 5<<20)}, nil
		}}, "llm"},
		{"no UTF-8", `"text":"a` + "\ufffd" + `"`, &fakeServices{ask: func(context.Context, service.Question) (service.Reply, error) {
			return service.Reply{Text: "a\xff", InputTokens: -5}, nil
		}}, "llm"},
		{"few vectors", `{"error":"invalid","message":"2 numbers for 2 vectors of 2 dimensions"}`, &fakeServices{embed: func(context.Context, services.Side, []string) (service.Vectors, error) {
			return service.Vectors{Dimension: 2, Values: []float32{1, 2}}, nil
		}}, "embed"},
		{"no number", `"message":"a vector has a number that is not finite"`, &fakeServices{embed: func(context.Context, services.Side, []string) (service.Vectors, error) {
			return service.Vectors{Dimension: 1, Values: []float32{1, float32(math.NaN())}}, nil
		}}, "embed"},
		{"no collection", `{"error":"not_found","message":"there is no such collection"}`, &fakeServices{search: func(context.Context, service.Search) ([]services.SearchHit, error) {
			return nil, &service.Error{Word: services.NotFound}
		}}, "search"},
		{"many hits", `{"hits":[{"document":"a","chunk":0,"score":1,"text":""},{"document":"b","chunk":0,"score":0,"text":""}]}`, &fakeServices{search: func(_ context.Context, q service.Search) ([]services.SearchHit, error) {
			return []services.SearchHit{{Document: "a", Score: 7}, {Document: "b", Score: math.NaN()}, {Document: "c"}}, nil
		}}, "search"},
		{"large hits", `{"hits":[{"document":"a"`, &fakeServices{search: func(_ context.Context, q service.Search) ([]services.SearchHit, error) {
			return []services.SearchHit{{Document: "a"}, {Document: "b", Text: strings.Repeat("b", 5<<20)}}, nil
		}}, "search"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := map[string]string{"llm": askHello, "embed": `{"texts":["a","b"]}`, "search": `{"text":"x","k":2}`}[c.call]
			out, err := serving(t, c.f, allServices, guest.Limits{}).Call(t.Context(), c.call, []byte(request))
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%.300s, error %v\nwant %s", out, err, c.want)
			}
			if err == nil && len(out) > 1000 {
				t.Errorf("the answer has %d bytes", len(out))
			}
		})
	}
}

// An answer fits the schema, or is none.
func TestLLMSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"score":{"type":"number","maximum":1}},"required":["score"]}`
	for text, want := range map[string]string{
		`{"score": 0.5}`:         `"json":{"score":0.5}`,
		`{"score":0.5,"more":1}`: `"json":{"score":0.5,"more":1}`, // the schema is open
		`{"score": 2}`:           `"error":"invalid"`,
		`{"other": 2}`:           `"error":"invalid"`,
		`{"score": 0.5`:          `"error":"invalid","message":"is no JSON`,
		`no`:                     `"error":"invalid","message":"is no JSON`,
		`[1]`:                    `"message":"is no object"`,
		`{"score": 0.5, "x": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`: `"error":"invalid"`,
		`{"score": 0.5, "x": "` + strings.Repeat("a", 300<<10) + `"}`:                        `"message":"has 307223 bytes, allowed 262144"`,
	} {
		f := &fakeServices{ask: func(_ context.Context, q service.Question) (service.Reply, error) {
			if string(q.Schema) != schema || q.Check == nil {
				t.Errorf("the model got the schema %s", q.Schema)
			}
			return service.Reply{Text: text}, nil
		}}
		out, err := serving(t, f, allServices, guest.Limits{}).Call(t.Context(), "llm", []byte(`{"requests":[{"messages":[{"role":"user","content":"x"}],"schema":`+schema+`}]}`))
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%.40s: %.300s, error %v", text, out, err)
		}
	}
}

// The requests of one call run at the same time.
func TestLLMAtOnce(t *testing.T) {
	var at atomic.Int64
	all := make(chan struct{})
	f := &fakeServices{ask: func(ctx context.Context, q service.Question) (service.Reply, error) {
		if n := at.Add(1); n == 32 {
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
		}
		return service.Reply{Text: q.Messages[0].Content}, nil
	}}
	var d services.LLMRequests
	for i := range 32 {
		d.Requests = append(d.Requests, services.LLMRequest{Messages: []services.LLMMessage{{Role: services.LLMUser, Content: fmt.Sprint(i)}}})
	}
	doc, _ := json.Marshal(d) // plain data
	out, err := serving(t, f, allServices, guest.Limits{Timeout: 20 * time.Second}).Call(t.Context(), "llm", doc)
	if err != nil || at.Load() != 32 {
		t.Fatalf("%d at once, error %v", at.Load(), err)
	}
	var got services.LLMAnswers
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i, a := range got.Responses {
		if a.Text != fmt.Sprint(i) {
			t.Errorf("response %d is %q", i, a.Text)
		}
	}
}

// A service that never answers ends with the call, and so does a guest that asks without end.
func TestServicesEndWithTheCall(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	f := &fakeServices{
		embed: func(context.Context, services.Side, []string) (service.Vectors, error) {
			<-never
			return service.Vectors{}, nil
		},
		search: func(context.Context, service.Search) ([]services.SearchHit, error) { <-never; return nil, nil },
		ask:    func(context.Context, service.Question) (service.Reply, error) { <-never; return service.Reply{}, nil },
	}
	g := serving(t, f, allServices, guest.Limits{Timeout: 200 * time.Millisecond})
	for call, request := range map[string]string{"embed": `{"texts":["a"]}`, "search": `{"text":"a"}`, "llm": askHello} {
		_, err := g.Call(t.Context(), call, []byte(request))
		if failed := guesttest.CheckReason(t, err, abi.ReasonTimeout); !strings.Contains(failed.Error(), "it waited for") {
			t.Errorf("%s: error %v", call, failed)
		}
	}
	g = serving(t, &fakeServices{}, allServices, guest.Limits{Timeout: 200 * time.Millisecond, Memory: 64 << 20})
	for call, request := range map[string]string{"embed_forever": `{"texts":["a"]}`, "search_forever": `{"text":"a"}`, "llm_forever": askHello} {
		_, err := g.Call(t.Context(), call, []byte(request))
		var failed *guest.Failure
		if !errors.As(err, &failed) || failed.Reason != abi.ReasonTimeout && failed.Reason != abi.ReasonMemory {
			t.Errorf("%s: error %v, want one of time or memory", call, err)
		}
	}
}

// sizedServices knows how long its vectors are.
type sizedServices struct {
	*fakeServices
	dimension int
}

func (s sizedServices) Dimension(context.Context, string) (int, error) { return s.dimension, nil }

// Vectors for which the plugin has no memory are refused before they are made, and what they take
// is given back after the call.
func TestVectorsCountBeforeTheyAreMade(t *testing.T) {
	f := &fakeServices{}
	g := served(t, service.Services{Embedder: sizedServices{f, abi.MaxDimension}, Searcher: f, Models: f}, allServices, guest.Limits{Memory: 16 << 20})
	_, err := g.Call(t.Context(), "vectors", []byte(`{"texts":["a"`+strings.Repeat(`,"a"`, 299)+`]}`))
	if failed := guesttest.CheckReason(t, err, abi.ReasonMemory); !strings.Contains(failed.Error(), "the vectors that it asks for") || f.asked.Load() != 0 {
		t.Errorf("error %v after %d requests", failed, f.asked.Load())
	}
	_, before := g.Room.Usage()
	for range 300 { // more than the memory in all
		if _, err := g.Call(t.Context(), "vectors", []byte(`{"texts":["a","b"]}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, after := g.Room.Usage(); after > before+8<<20 {
		t.Errorf("%d bytes are in use, %d before", after, before)
	}
}

// Requests for vectors and searches have a budget in each build, and the log names its key.
func TestBudgetsOfVectorsAndSearches(t *testing.T) {
	for _, c := range []struct {
		grant            service.Grants
		call, ask, names string
		most             int64
	}{
		{service.Grants{Embed: &service.EmbedGrant{Embedder: "local", MaxCalls: 3}}, "embed", `{"texts":["a"]}`, "3 of 3 calls are made (raise its grants.embed.max_calls)", 3},
		{service.Grants{Embed: &service.EmbedGrant{Embedder: "local", MaxTexts: 5}}, "embed", `{"texts":["a","b"]}`, "4 of 5 texts are used or in use, and the request may take 2 (raise its grants.embed.max_texts)", 2},
		{service.Grants{Search: &service.SearchGrant{Collections: []string{"docs"}, MaxCalls: 2}}, "search", `{"text":"a"}`, "2 of 2 calls are made (raise its grants.search.max_calls)", 2},
	} {
		f := &fakeServices{}
		granted := allServices
		granted.Take("embed", service.Grants{Embed: cmp.Or(c.grant.Embed, granted.Embed)})
		granted.Take("search", service.Grants{Search: cmp.Or(c.grant.Search, granted.Search)})
		g := serving(t, f, granted, guest.Limits{})
		ctx, l := ledger.Under(t.Context())
		for range 2 {
			refused := 0
			for range 6 {
				out, err := g.Call(ctx, c.call, []byte(c.ask))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(out), `"error":"budget"`) {
					refused++
				}
			}
			if int64(6-refused) != c.most || f.asked.Swap(0) != c.most || l.Spent() == nil || !strings.Contains(l.Spent().Error(), c.names) {
				t.Errorf("%s: %d of 6 refused: %v", c.call, refused, l.Spent())
			}
			ctx, l = ledger.Under(t.Context()) // the next build has the budget again
		}
	}
}
