package conform_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// serving loads the guest that passes its input to services, with those of tests.
func serving(t *testing.T, cases []conformance.OwnCase, onRecord func(record.Call)) *host.Plugin {
	t.Helper()
	s, err := spec.ReadFile(filepath.Join(fixtures, "services", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, pc := host.Config{CacheDir: testbuild.CacheDir(t), OnRecord: onRecord}, host.PluginConfig{}
	conform.Serve(&cfg, &pc, conform.ServicesOf(s.Manifest), cases)
	if onRecord != nil { // the names of an operator are not those of tests
		pc.Grants.Ask.Search.Collections, pc.Grants.Ask.LLM.Models = []string{"docs"}, []string{"large", "test"}
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.WithoutCancel(t.Context())) }) // a failure would show in the tests of host
	p, err := h.Load(t.Context(), s, pc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What services answered when calls were recorded, they answer in a case, and nothing else.
func TestServicesAreReplayed(t *testing.T) {
	calls := []struct{ name, input string }{
		{"vectors", `{"texts":["a fox","a dog"],"side":"query"}`},
		{"search", `{"text":"a fox","k":3}`},
		{"search", `{"text":"a hen","collection":"docs"}`},
		{"vector", ``},
		{"llm", `{"requests":[{"messages":[{"role":"user","content":"hello"}]},
			{"model":"test","messages":[{"role":"user","content":"x"}],"schema":{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}}]}`},
	}
	var own conformance.OwnCase
	p := serving(t, nil, func(c record.Call) {
		for _, s := range c.Services {
			own.Services = append(own.Services, conformance.ServiceCall{Service: s.Name, Request: s.Request, Answer: bytes.ReplaceAll(s.Answer, []byte("hello"), []byte("good day"))})
		}
	})
	want := map[string]string{}
	for _, c := range calls {
		r, err := p.Call(t.Context(), c.name, []byte(c.input))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want[c.name+c.input] = string(r.Output)
	}
	if len(own.Services) != 6 || !strings.Contains(want["llm"+calls[len(calls)-1].input], `"json":{"n":3}`) {
		t.Fatalf("recorded %d requests to services; %s", len(own.Services), want["llm"+calls[len(calls)-1].input])
	}
	p = serving(t, []conformance.OwnCase{own}, nil)
	ctx := conformance.WithCase(t.Context(), &own)
	for _, c := range calls {
		r, err := p.Call(ctx, c.name, []byte(c.input))
		if err != nil || string(r.Output) != strings.ReplaceAll(want[c.name+c.input], "hello", "good day") {
			t.Errorf("%s: answered %q, error %v, recorded %q", c.name, r.Output, err, want[c.name+c.input])
		}
	}
	r, err := p.Call(ctx, "search", []byte(`{"text":"a cat"}`))
	if err != nil || !strings.Contains(string(r.Output), `"error":"unavailable","message":"the case lists no answer in services"`) {
		t.Errorf("answered %q, error %v", r.Output, err)
	}
}
