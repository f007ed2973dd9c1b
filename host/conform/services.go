package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/service"
)

// madeUp is the name of the embedder, the collection and the model of tests.
const madeUp = "test"

// Served are the services that [Serve] offers.
var Served = []string{manifest.ServiceEmbed, manifest.ServiceSearch, manifest.ServiceLLM}

// Serve makes a configuration offer services with answers of cases, or else with answers that are
// made up and always the same, and grants them to the plugin. Nothing is asked of a server.
func Serve(cfg *host.Config, pc *host.PluginConfig, services []string, cases []conformance.OwnCase) {
	cfg.Services = service.Services{Embedder: fakes{}, Searcher: fakes{}, Models: fakes{}}
	for _, name := range services {
		switch name {
		case manifest.ServiceEmbed:
			pc.Grants.Ask.Embed = &service.EmbedGrant{Embedder: madeUp}
		case manifest.ServiceSearch:
			pc.Grants.Ask.Search = &service.SearchGrant{Collections: named(cases, name, "collection")}
		case manifest.ServiceLLM:
			pc.Grants.Ask.LLM = &service.LLMGrant{Models: named(cases, name, "model")}
		}
	}
}

// ServicesOf are the services that a manifest asks for, none for nil.
func ServicesOf(m *manifest.Manifest) (names []string) {
	if m == nil {
		return nil
	}
	for _, p := range m.Permissions {
		if p.Kind == manifest.PermissionService {
			names = append(names, p.Service)
		}
	}
	return names
}

// named are the names that requests of cases to a service have as a member, after that of tests.
// The name that an answer has to a request without one comes first: it was the first of the grant.
func named(cases []conformance.OwnCase, service, member string) []string {
	names := []string{madeUp}
	first := 0
	for _, c := range cases {
		for _, call := range c.Services {
			if call.Service != service {
				continue
			}
			asked := nameIn(call.Request, member)
			if answered := nameIn(call.Answer, member); asked == "" && answered != "" && first == 0 {
				names, first = slices.Insert(names, 0, answered), 1
			} else if asked != "" {
				names = append(names, asked)
			}
		}
	}
	return distinct(names)
}

func distinct(names []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// nameIn is the text that a document has as a member, "" for none.
func nameIn(doc json.RawMessage, member string) string {
	var members map[string]any
	_ = json.Unmarshal(doc, &members) // the case was checked, and a request may be absent
	name, _ := members[member].(string)
	return name
}

// fakes answer what plugins ask services for.
type fakes struct{}

// stated reads the answer that the case under ctx states into answer, and reports whether the
// case states any.
func stated(ctx context.Context, name string, request, answer any) (bool, error) {
	doc, err := json.Marshal(request)
	if err != nil {
		return true, err
	}
	raw, states := conformance.ReplayOf(ctx).Serve(name, doc)
	switch {
	case !states:
		return false, nil
	case raw == nil:
		return true, &service.Error{Word: services.Unavailable, Message: "the case lists no answer in services"}
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return true, fmt.Errorf("services: answer of %s: %w", name, err)
	}
	var failure services.Failure
	if err := json.Unmarshal(raw, &failure); err != nil || failure.Error != "" {
		return true, &service.Error{Word: failure.Error, Message: failure.Message}
	}
	return true, nil
}

// Embed implements service.Embedder. Made-up vectors are the same for the same text.
func (fakes) Embed(ctx context.Context, _ string, side services.Side, texts []string) (service.Vectors, error) {
	var a struct {
		Model     string
		Dimension int
		Vectors   []float32
	}
	if states, err := stated(ctx, manifest.ServiceEmbed, services.EmbedRequest{Side: side, Texts: texts}, &a); states {
		return service.Vectors{Model: a.Model, Dimension: a.Dimension, Values: a.Vectors}, err
	}
	v := service.Vectors{Model: madeUp, Dimension: 8}
	for _, text := range texts {
		h := fnv.New64a()
		h.Write([]byte(text))
		for _, b := range h.Sum(nil) {
			v.Values = append(v.Values, float32(b)/255)
		}
	}
	return v, nil
}

// Search implements service.Searcher. The made-up hits have the text of the question.
func (fakes) Search(ctx context.Context, q service.Search) ([]services.SearchHit, error) {
	var a services.SearchAnswer
	request := struct {
		services.SearchRequest
		Vector []float32 `json:"vector,omitempty"`
	}{q.SearchRequest, q.Vector}
	if states, err := stated(ctx, manifest.ServiceSearch, request, &a); states {
		return a.Hits, err
	}
	var hits []services.SearchHit
	for i := range 2 {
		hits = append(hits, services.SearchHit{Document: fmt.Sprintf("%d.md", i+1), Chunk: 1, Score: 1 / float64(i+1), Text: q.Text})
	}
	return hits, nil
}

// Ask implements service.Models. A made-up answer repeats the last message, or has the least that
// a schema asks for.
func (fakes) Ask(ctx context.Context, q service.Question) (service.Reply, error) {
	var a services.LLMAnswer
	if states, err := stated(ctx, manifest.ServiceLLM, q.LLMRequest, &a); states {
		if a.Text == "" && a.JSON != nil {
			a.Text = string(a.JSON)
		}
		return service.Reply{Text: a.Text, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Finish: a.Finish}, err
	}
	if q.Check == nil {
		return service.Reply{Text: q.Messages[len(q.Messages)-1].Content, InputTokens: 1, OutputTokens: 1}, nil
	}
	var schema map[string]any
	if err := json.Unmarshal(q.Schema, &schema); err != nil {
		return service.Reply{}, err
	}
	text, err := json.Marshal(least(schema))
	return service.Reply{Text: string(text), InputTokens: 1, OutputTokens: 1}, err
}

// least is a small value that probably fits a schema.
func least(schema map[string]any) any {
	if c, has := schema["const"]; has {
		return c
	}
	if values, _ := schema["enum"].([]any); len(values) > 0 {
		return values[0]
	}
	switch schema["type"] {
	case "string":
		return ""
	case "number", "integer":
		n, _ := schema["minimum"].(float64)
		return n
	case "boolean":
		return false
	case "array":
		return []any{}
	}
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		if property, ok := p.(map[string]any); ok {
			out[name] = least(property)
		}
	}
	return out
}
