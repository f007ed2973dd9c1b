package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/settings"
)

// costSchema is the fuel for each byte of a schema.
const costSchema = 1000

// askModels sends the requests of a guest to models at the same time, and returns the block of
// their answers.
func askModels(c *guest.Call, s []uint64) {
	p := of(c)
	if p.Granted.LLM == nil {
		panic(missing(c, "service "+manifest.ServiceLLM, "grants."+manifest.ServiceLLM))
	}
	doc := requestOf(c, s[0], abi.ImportLLM)
	requests, err := decodeLLM(doc)
	if err != nil {
		panic(malformed(abi.ImportLLM, err))
	}
	questions := make([]service.Question, len(requests))
	for i, r := range requests {
		c.Spend(costService + costSchema*int64(len(r.Schema)))
		r.Model = granted("model", "grants.llm.models", r.Model, p.Granted.LLM.Models)
		questions[i] = service.Question{Plugin: p.Name, Tenant: p.Tenant(c.Context), LLMRequest: r}
		if questions[i].Check, err = checkOf(r.Schema); err != nil {
			panic(malformed(abi.ImportLLM, fmt.Errorf("requests[%d].schema: %w", i, err)))
		}
	}
	answers := p.askAll(c, questions)
	c.StopWaiting("answers of models")
	var d services.LLMAnswers
	d.Responses = make([]services.LLMAnswer, len(answers))
	left := maxAnswer
	for i, a := range answers {
		q := &questions[i]
		if left -= len(a.Text); a.err == nil && left < 0 {
			a.err = &service.Error{Word: services.Invalid, Message: fmt.Sprintf("the answers have more than %d bytes", maxAnswer)}
		}
		if a.err != nil {
			d.Responses[i].Failure = failed(c, abi.ImportLLM, fmt.Errorf("model %q: %w", q.Model, a.err))
		} else {
			d.Responses[i] = a.document(q)
		}
		noteUse(c, manifest.ServiceLLM, q.Model, a.amount())
		c.Record.Served(manifest.ServiceLLM, requests[i], d.Responses[i], len(doc)/len(requests)+len(a.Text))
	}
	s[0] = putDocument(c, abi.ImportLLM, d)
}

// answered is what became of one question.
type answered struct {
	service.Reply
	err error
}

// askAll asks all questions at the same time, and returns when all have ended, or the time of the
// call.
func (p *Plugin) askAll(c *guest.Call, questions []service.Question) []answered {
	ctx, cancel := c.Bounded()
	defer cancel()
	ctx, l := ledger.Under(ctx)
	g := c.Instance.Env.Guard
	answers := make([]answered, len(questions))
	var asking sync.WaitGroup
	for i := range questions {
		asking.Go(func() { answers[i] = p.ask(ctx, g, l, questions[i]) })
	}
	asking.Wait()
	return answers
}

// ask asks one question within the budget of the plugin.
func (p *Plugin) ask(ctx context.Context, g *guard.Guard, l *ledger.Ledger, q service.Question) (a answered) {
	settle, err := l.Model(fmt.Sprintf("plugin %q", p.Name), ledger.Limit{
		Calls: p.Granted.LLM.MaxCalls, Tokens: p.Granted.LLM.MaxTokens, CallsKey: "its grants.llm.max_calls", TokensKey: "its grants.llm.max_tokens",
	}, estimate(&q.LLMRequest))
	if err != nil {
		a.err = err
		return a
	}
	a.Reply, a.err = guard.Run(ctx, g, fmt.Sprintf("model %q", q.Model), func(ctx context.Context) (service.Reply, error) {
		return p.Services.Models.Ask(ctx, q)
	}, nil)
	if a.err == nil && q.Check != nil {
		if err := q.Check(json.RawMessage(a.Text)); err != nil {
			a.err = &service.Error{Word: services.Invalid, Message: err.Error()}
		}
	}
	a.InputTokens, a.OutputTokens = max(0, a.InputTokens), max(0, a.OutputTokens)
	a.CachedTokens = min(max(0, a.CachedTokens), a.InputTokens)
	used := int64(a.InputTokens) + int64(a.OutputTokens)
	if a.Cached {
		used = -1
	}
	settle(used)
	return a
}

// estimate is how many tokens a request may take, before the model counts them.
func estimate(r *services.LLMRequest) int64 {
	n := len(r.Schema)
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return int64(n/4 + r.MaxTokens)
}

func (a *answered) amount() ledger.Amount {
	out := ledger.Amount{Calls: 1, InputTokens: int64(a.InputTokens), CachedTokens: int64(a.CachedTokens), OutputTokens: int64(a.OutputTokens)}
	switch {
	case a.err != nil:
		out.Failed = 1
	case a.Cached:
		out.Cached, out.InputTokens, out.CachedTokens, out.OutputTokens = 1, 0, 0, 0
	}
	return out
}

// document is the answer as the guest gets it.
func (a *answered) document(q *service.Question) services.LLMAnswer {
	out := services.LLMAnswer{
		Text: strings.ToValidUTF8(a.Text, "\ufffd"), Model: q.Model,
		InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Finish: a.Finish,
	}
	if out.Finish != services.LLMLength {
		out.Finish = services.LLMStop
	}
	if q.Check != nil {
		out.JSON = json.RawMessage(out.Text)
	}
	return out
}

// checkOf returns the check of a schema, nil for none.
func checkOf(schema json.RawMessage) (func(json.RawMessage) error, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	s, err := settings.CompileDocument(schema)
	if err != nil {
		return nil, err
	}
	return s.CheckDocument, nil
}

func decodeLLM(doc []byte) ([]services.LLMRequest, error) {
	var d struct {
		Requests json.RawMessage `json:"requests"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	type request struct {
		services.LLMRequest
		Messages json.RawMessage `json:"messages"`
	}
	stated, err := list[request](d.Requests, services.MaxLLMRequests)
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	out := make([]services.LLMRequest, len(stated))
	for i, s := range stated {
		out[i] = s.LLMRequest
		if out[i].Messages, err = list[services.LLMMessage](s.Messages, services.MaxLLMMessages); err != nil {
			return nil, fmt.Errorf("requests[%d].messages: %w", i, err)
		}
		if err := checkRequest(&out[i]); err != nil {
			return nil, fmt.Errorf("requests[%d].%w", i, err)
		}
	}
	return out, nil
}

// maxTokens bounds the tokens that a request may ask for.
const maxTokens = 1 << 20

func checkRequest(r *services.LLMRequest) error {
	if string(r.Schema) == "null" {
		r.Schema = nil
	}
	switch {
	case len(r.Messages) == 0:
		return errors.New("messages: is empty")
	case r.MaxTokens < 0 || r.MaxTokens > maxTokens:
		return fmt.Errorf("max_tokens: is %d (want 1 to %d, or 0 for that of the model)", r.MaxTokens, maxTokens)
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return fmt.Errorf("temperature: is %v (want 0 to 2)", *r.Temperature)
	}
	for i, m := range r.Messages {
		if !slices.Contains([]services.LLMRole{services.LLMSystem, services.LLMUser, services.LLMAssistant}, m.Role) {
			return fmt.Errorf("messages[%d].role: is %q (want system, user or assistant)", i, m.Role)
		}
	}
	return nil
}
