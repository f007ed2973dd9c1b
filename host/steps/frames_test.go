package steps_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// stacks is a log that keeps the functions on the stack of its last entry that a guest made, the
// innermost first.
type stacks struct {
	slog.Handler
	mu   sync.Mutex
	last []string
}

func (s *stacks) Enabled(context.Context, slog.Level) bool { return true }
func (s *stacks) WithAttrs([]slog.Attr) slog.Handler       { return s }

func (s *stacks) Handle(context.Context, slog.Record) error {
	pcs := make([]uintptr, 200)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		if f.Function != "" {
			names = append(names, f.Function)
		}
		if !more {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(names) - 1; i >= 0; i-- {
		if strings.Contains(names[i], "wazero") { // below is what the guest called
			s.last = names[i+1:]
			return nil
		}
	}
	return nil
}

// take returns what of the stack lies between two functions, and how much of that is of package host.
func (s *stacks) take(from string) (all, hosts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.last {
		name = name[strings.LastIndex(name, "anchor-host/")+len("anchor-host/"):]
		all = append(all, name)
		if strings.HasPrefix(name, "host.") || strings.HasPrefix(name, "host/internal/") {
			hosts = append(hosts, name)
		}
		if strings.HasSuffix(name, from) {
			break
		}
	}
	return all, hosts
}

// The way from a build into a guest is short in each lane, so that a stack trace can be read. A change
// that makes it longer has a reason, or another function takes care of it.
func TestFramesOfACall(t *testing.T) {
	const mostOfHost, mostInAll = 5, 14
	var log stacks
	h, err := host.New(config(t, host.Config{Logger: slog.New(&log)}))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	logs := func(name string, lane host.Lane, op abi.Operation, settings map[string]any) {
		t.Run(fmt.Sprint(op, "/", lane), func(t *testing.T) {
			var p *host.Plugin
			if name == "allops" {
				p = loadSpec(t, h, allopsSpec(t), host.PluginConfig{Lane: lane})
			} else {
				p = load(t, h, name, host.PluginConfig{Lane: lane})
			}
			step := stepOf(t, p, op, settings)
			step.OnError = pipeline.Skip
			log.last = nil
			build(t, pipeline.Config{Steps: []pipeline.StepConfig{docs("one", "two"), step}}, "q")
			all, hosts := log.take("pipeline.(*Pipeline).Build")
			t.Logf("%d frames, %d of host: %s", len(all), len(hosts), strings.Join(all, " "))
			if len(all) == 0 || len(all) > mostInAll || len(hosts) > mostOfHost {
				t.Errorf("%d frames in all, %d of host (want at most %d and %d)", len(all), len(hosts), mostInAll, mostOfHost)
			}
		})
	}
	leak := map[string]any{"mode": "leak"}
	logs("allops", host.LaneBatch, abi.OpRetrieve, leak)
	logs("allops", host.LaneJSON, abi.OpRetrieve, leak)
	logs("unsent-column", host.LaneJSON, abi.OpFilter, nil)
}
