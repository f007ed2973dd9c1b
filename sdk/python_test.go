package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
)

// TestPython tries what a runtime of a language can get wrong although the kit passes: the state of
// the interpreter after an exception left a with block, modules that are not there, texts that nest
// deeply, and many calls of one instance.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a compiler")
	}
	var log bytes.Buffer
	h := newHost(t, &log)
	spec := buildGuest(t, "python", "")
	load := func(cfg host.PluginConfig) (*host.Plugin, func(string) (string, error)) {
		p, err := h.Load(t.Context(), spec, cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := steps.Classifier(p, steps.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p, func(what string) (string, error) { return c.Classify(t.Context(), &pipeline.Query{Text: what}) }
	}
	_, try := load(host.PluginConfig{Name: "reset"})
	_, keep := load(host.PluginConfig{Name: "keep", State: host.StateKeep})
	for _, c := range []struct{ what, want string }{
		{"with", "inside of with ['b', 'a']"}, {"absent", "No module named 'socket'"}, {"deep", "JSON nests more than 2000 levels"},
		{"recursion", "RecursionError"}, {"deep_enough", "1800"}, {"sleep", "time.sleep: a plugin cannot wait"}, {"print", "printed"},
		{"half", "?"}, {"open", "FileNotFoundError"}, {"thread", "can't start new thread"}, {"with", "inside of with ['b', 'a']"},
	} {
		for state, try := range map[string]func(string) (string, error){"reset": try, "keep": keep} {
			if got, err := try(c.what); err != nil || got != c.want {
				t.Errorf("%s, %s: %q, %v; want %q", c.what, state, got, err, c.want)
			}
		}
	}
	if text := log.String(); !strings.Contains(text, "msg=one") || !strings.Contains(text, `msg="two 3"`) {
		t.Errorf("the log has no lines of print: %s", text)
	}
	for state, try := range map[string]func(string) (string, error){"reset": try, "keep": keep} {
		_, err := try("raise")
		var failed *host.PluginError
		if !errors.As(err, &failed) || failed.Code != abi.ReasonGuestError || !strings.Contains(err.Error(), "ValueError: inside of with") ||
			!strings.Contains(err.Error(), `File "helper.py", line 18, in fail`) {
			t.Errorf("%s: error %v", state, err)
		}
	}
	for what, want := range map[string]string{"exit": "SystemExit: 3", "end": "RuntimeError: a plugin cannot end its process"} {
		_, err := try(what)
		var failed *host.PluginError
		if !errors.As(err, &failed) || failed.Code != abi.ReasonGuestError || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `File "plugin.py"`) {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
	one, err := try("random")
	if other, err2 := try("random"); one == other || err != nil || err2 != nil {
		t.Errorf("random numbers %s and %s, %v, %v", one, other, err, err2)
	}
}

// TestPythonManyCalls has one instance answer 10,000 calls, and bounds a table whose keys collide.
func TestPythonManyCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a compiler")
	}
	h := newHost(t, nil)
	spec := buildGuest(t, "python", "")
	p, err := h.Load(t.Context(), spec, host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Timeout: await.Patience, BreakAfter: host.Unlimited}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Classifier(p, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	memory := int64(0)
	for n := 1; n <= 10_000; n++ {
		got, err := c.Classify(t.Context(), &pipeline.Query{Text: "count"})
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		if n == 1000 {
			memory = p.Stats().Memory
		} else if n == 10_000 && (got != "10000" || p.Stats().Memory > memory) {
			t.Errorf("the last call is %s; memory grew from %d to %d", got, memory, p.Stats().Memory)
		}
	}
	var failed *host.PluginError
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = c.Classify(ctx, &pipeline.Query{Text: "flood"})
	if !errors.As(err, &failed) || failed.Code != abi.ReasonTimeout && failed.Code != abi.ReasonFuel {
		t.Errorf("colliding keys: error %v", err)
	}
	if _, err := c.Classify(t.Context(), &pipeline.Query{Text: "with"}); err != nil {
		t.Errorf("after colliding keys: %v", err)
	}
}
