package host_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/spec"
)

// OnRecord receives the documents of each operation, one that failed too. A plugin with the batch
// lane alone has none.
func TestOnRecord(t *testing.T) {
	var mu sync.Mutex
	var all []record.Call
	h := newHost(t, host.Config{OnRecord: func(c record.Call) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c)
	}})
	p := loadAllops(t, h, host.PluginConfig{Name: "mine", Secrets: []string{"the-secret"}, Config: map[string]string{"key": "a the-secret"}})
	filter, err := p.Operation(abi.OpFilter, host.OperationOptions{Step: "narrow", Settings: map[string]any{"min": 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	rows := abi.ItemRows{{ID: "a", Content: "the-secret"}, {ID: "b", Content: "b"}}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			a, err := filter.Changes(t.Context(), rows, &abi.Envelope{Query: &abi.Query{Text: "of the-secret"}})
			if err != nil {
				t.Error(err)
				return
			}
			a.Release()
		})
	}
	calls.Wait()
	if len(all) != 8 {
		t.Fatalf("%d calls", len(all))
	}
	for _, c := range all {
		request := string(c.Request)
		if c.Plugin != "mine" || c.Operation != abi.OpFilter || c.Step != "narrow" || c.Err != "" || !c.NoChange && len(c.Answer) == 0 || !strings.Contains(request, `"min":0.2`) ||
			strings.Contains(request, "the-secret") || c.Config["key"] != "a ***" {
			t.Errorf("%+v, request %s", c, request)
		}
	}
	for name, want := range map[string]string{"guest-error": "", "batch-keep-first": "batch"} {
		all = nil
		s, err := spec.ReadFile(filepath.Join("..", "testdata", "wasm", name, "plugin.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.Load(t.Context(), s, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		lanes := s.Operations[0].Lanes
		f, err := p.Operation(s.Operations[0].Operation, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.Changes(t.Context(), abi.ItemRows{{ID: "a", Content: "a"}}, &abi.Envelope{})
		if err == nil {
			a.Release()
		}
		if len(all) != 1 || (err != nil) != (all[0].Err != "") || want == "batch" && (len(lanes) > 1) != (all[0].Request != nil) {
			t.Errorf("%s: %v: %+v", name, err, all)
		}
	}
}
