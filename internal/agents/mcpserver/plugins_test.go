package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/server"
)

// shout is a step that changes texts, and fails for a query.
type shout struct{}

// Run implements [pipeline.Step].
func (shout) Run(_ context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	if q.Text == "fail" {
		return nil, errors.New("it is hoarse")
	}
	for i := range items {
		items[i].Content = strings.ToUpper(items[i].Content)
	}
	return items, nil
}

// A step is a tool beside the others: it works on the texts of the agent, or finds some, and no other step runs.
func TestStepsAreTools(t *testing.T) {
	maker := component.Maker[pipeline.Step]{New: func(context.Context, component.Settings) (pipeline.Step, error) { return shout{}, nil }}
	yaml := configuration[:strings.Index(configuration, "steps:")] + "steps: [{name: docs, use: docs}, {name: Louder please, use: shout, must: false}]\n"
	for _, version := range both {
		t.Run(version, func(t *testing.T) {
			h := newHostWith(t, yaml, anchor.Options{Components: anchor.Components{Steps: map[string]component.Maker[pipeline.Step]{"shout": maker}}}, server.Options{})
			h.read(t, docs)
			s, err := New(Options{API: h.api.Handler(), Plugins: always(PluginTool{Step: "Louder please", Description: "Shout.", Texts: true}, PluginTool{Step: "docs", Description: "Find."})})
			if err != nil {
				t.Fatal(err)
			}
			c := client(t, s, version)
			list, err := c.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 8 || list.Tools[7].Name != "step_louder_please" || list.Tools[7].Description != "Shout." {
				t.Fatalf("%v %v", list, err)
			}
			out, r := tool[buildOut](t, c, "step_louder_please", map[string]any{"query": "q", "texts": []string{"tea", "milk"}})
			if r.IsError || len(out.Items) != 2 || !strings.Contains(out.Text, "TEA") || !strings.Contains(out.Text, "MILK") || strings.Contains(out.Text, "8790") {
				t.Errorf("%+v %s", out, said(r))
			}
			if out, r := tool[buildOut](t, c, "step_docs", map[string]any{"query": "port"}); r.IsError || !strings.Contains(out.Text, "8790") {
				t.Errorf("%+v %s", out, said(r))
			}
			for _, arguments := range []map[string]any{{"query": "fail", "texts": []string{}}, {"query": "q", "texts": []string{strings.Repeat("x", maxText+1)}}, {"query": "q", "texts": make([]string, maxTexts+1)}, {"query": "q"}, {"texts": []string{"x"}}} {
				if _, r := tool[buildOut](t, c, "step_louder_please", arguments); !r.IsError {
					t.Errorf("%.100v is no error", arguments)
				}
			}
		})
	}
}

// Names of steps become names of tools that all clients take, and no tool hides another one.
func TestNamesOfSteps(t *testing.T) {
	for step, want := range map[string]string{"Find it!": "step_find_it", "": "step_x", "süß": "step_s", strings.Repeat("a", 200): "step_" + strings.Repeat("a", 50)} {
		if got := nameOf(step); got != want {
			t.Errorf("%q is %q, want %q", step, got, want)
		}
	}
	if _, err := New(Options{Plugins: always(PluginTool{Step: "a b"}, PluginTool{Step: "a-b"})}); err == nil {
		t.Error("two steps are one tool")
	}
	if _, err := New(Options{Plugins: always(make([]PluginTool, maxPlugins+1)...)}); err == nil {
		t.Error("there is no bound")
	}
}

func always(list ...PluginTool) func() []PluginTool {
	return func() []PluginTool { return list }
}

// The tools of plugins follow the configuration without a restart, and a list with an error changes nothing.
func TestToolsFollowTheConfiguration(t *testing.T) {
	h := newHost(t, configuration, server.Options{})
	var now atomic.Pointer[[]PluginTool]
	now.Store(&[]PluginTool{{Step: "old", Description: "Old."}, {Step: "stays", Description: "Stays."}})
	var log logged
	if err := Mount(h.api, Options{Plugins: func() []PluginTool { return *now.Load() }, Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(h.api.Handler())
	defer service.Close()
	steps := func() (names []string) { // a client that connects; one that is connected may keep a list for a minute
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: service.URL + Path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if strings.HasPrefix(tool.Name, "step_") {
				names = append(names, tool.Name+": "+tool.Description)
			}
		}
		return names
	}
	for _, c := range []struct{ list, want any }{
		{nil, "[step_old: Old. step_stays: Stays.]"},
		{[]PluginTool{{Step: "stays", Description: "Stays on."}, {Step: "new", Description: "New."}}, "[step_new: New. step_stays: Stays on.]"},
		{[]PluginTool{{Step: "a b"}, {Step: "a-b"}}, "[step_new: New. step_stays: Stays on.]"},
		{[]PluginTool{}, "[]"},
	} {
		if list, ok := c.list.([]PluginTool); ok {
			now.Store(&list)
		}
		if got := fmt.Sprint(steps()); got != c.want {
			t.Errorf("%v: tools %s, want %s", c.list, got, c.want)
		}
	}
	if n := strings.Count(log.String(), "stay as they were"); n != 1 {
		t.Errorf("the list that is wrong is logged %d times, want once", n)
	}
}

// logged is a log of several goroutines.
type logged struct {
	sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(data []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(data)
}
