// Package extism tries host/extismhost in two Extism SDKs: go-sdk, and the one for Python over libextism.
// The example plugins that are portable go through the conformance kit, and every answer is
// compared with that of anchor-host, byte by byte.
package extism

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/extismhost"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// plugins is where `make plugins` builds the examples.
const plugins = "../../../build/plugins"

// starter makes an instance of a module in an SDK, and what ends it.
type starter func(t *testing.T, wasm []byte, config map[string]string) (extismhost.Caller, func())

// goSDK starts modules in github.com/extism/go-sdk, and compiles each once. Its clock begins and
// moves as that of the kit.
func goSDK() starter {
	compiled := map[[sha256.Size]byte]*sdk.CompiledPlugin{}
	return func(t *testing.T, wasm []byte, config map[string]string) (extismhost.Caller, func()) {
		key := sha256.Sum256(append(fmt.Append(nil, config), wasm...))
		c := compiled[key]
		if c == nil {
			m := sdk.Manifest{Wasm: []sdk.Wasm{sdk.WasmData{Data: wasm}}, Config: config}
			var err error
			if c, err = sdk.NewCompiledPlugin(context.Background(), m, sdk.PluginConfig{EnableWasi: true}, nil); err != nil {
				t.Fatal(err)
			}
			compiled[key] = c
		}
		p, err := c.Instance(context.Background(), sdk.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig()})
		if err != nil {
			t.Fatal(err)
		}
		return p, func() { _ = p.Close(context.Background()) }
	}
}

// twin is a conformance.Target whose guests run in anchor-host and in an SDK at the same time.
type twin struct {
	*conform.Target
	t      *testing.T
	start  starter
	wasm   []byte
	plugin *extismhost.Plugin
	calls  *int
}

// Describe leaves the lane that other hosts do not have out.
func (w *twin) Describe() conformance.Description {
	d := w.Target.Describe()
	d.Operations = slices.Clone(d.Operations)
	for i := range d.Operations {
		d.Operations[i].Lanes = []string{conformance.JSON}
	}
	return d
}

// Load starts a guest twice.
func (w *twin) Load(ctx context.Context, o conformance.LoadOptions) (conformance.Guest, error) {
	own, err := w.Target.Load(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &pair{w: w, own: own, settings: o.Settings}
	return p, p.begin(ctx)
}

type pair struct {
	w        *twin
	own      conformance.Guest
	other    *extismhost.Instance
	settings map[string]any
	end      func()
}

// begin starts an instance in the SDK.
func (p *pair) begin(ctx context.Context) error {
	config, err := p.w.plugin.Config(p.settings)
	if err != nil {
		return err
	}
	caller, end := p.w.start(p.w.t, p.w.wasm, config)
	p.end = end
	p.other, err = p.w.plugin.Start(ctx, caller, p.settings)
	return err
}

// Call makes a call in both hosts and compares. The answer is that of the SDK.
func (p *pair) Call(ctx context.Context, c conformance.Call) (*conformance.Answer, error) {
	c.Extism = true
	want, wrong := p.own.Call(ctx, c)
	status, out, err := p.other.Call(ctx, c.Operation, c.Request)
	*p.w.calls++
	switch {
	case ctx.Err() != nil: // a call that was cancelled, perhaps when one host had the answer
		p.end()
		if failed := p.begin(context.WithoutCancel(ctx)); failed != nil {
			return nil, failed
		}
	case (err != nil) != (wrong != nil):
		p.w.t.Errorf("%s of %.200q: error %v, in anchor-host %v", c.Operation, c.Request, err, wrong)
	case err == nil && (status != want.Status || !bytes.Equal(out, want.Output)):
		p.w.t.Errorf("%s of %.200q: status %d, %.300q, in anchor-host %d, %.300q", c.Operation, c.Request, status, out, want.Status, want.Output)
	}
	if err != nil {
		return nil, err
	}
	return &conformance.Answer{Status: status, Output: out}, nil
}

func (p *pair) Close(ctx context.Context) error {
	p.end()
	return p.own.Close(ctx)
}

// clocked are the examples whose answers depend on the time, which anchor-host alone fixes. needy
// must be given settings.
var clocked, needy = []string{"recency-rerank"}, []string{"intent-classifier"}

// portable are the other examples that need nothing that an operator grants.
func portable(t *testing.T) (names []string) {
	t.Helper()
	entries, err := spec.ReadDir(plugins)
	if err != nil {
		t.Fatalf("%v (make plugins builds them)", err)
	}
	for _, e := range entries {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		if e.Spec.Portable && len(e.Spec.Manifest.Permissions) == 0 && !slices.Contains(clocked, e.Name) && !slices.Contains(needy, e.Name) {
			names = append(names, e.Name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("%d portable examples: %v", len(names), names)
	}
	return names
}

func read(t *testing.T, name string) (wasm, side []byte, p *extismhost.Plugin) {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(plugins, name, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if side, err = os.ReadFile(filepath.Join(plugins, name, "plugin.yaml")); err != nil {
		t.Fatal(err)
	}
	if p, err = extismhost.Read(wasm, side); err != nil {
		t.Fatal(err)
	}
	return wasm, side, p
}

// kit puts a plugin through the kit in both hosts, and returns how many cases passed and how many calls were compared.
func kit(t *testing.T, h *host.Host, name string, start starter) (passed, calls int) {
	t.Helper()
	wasm, side, p := read(t, name)
	s, err := spec.Read("", wasm, side)
	if err != nil {
		t.Fatal(err)
	}
	target := &twin{Target: conform.New(h, s, host.PluginConfig{Limits: host.Limits{Memory: 1 << 30}}), t: t, start: start, wasm: wasm, plugin: p, calls: &calls}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Short: true, Sparing: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Results {
		if x.Verdict == conformance.Fail {
			t.Errorf("%s: %s: %s", x.Case, x.Operation, x.Detail)
		}
	}
	return r.Passed, calls
}

func newHost(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.New(host.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// sampled are the examples that every run puts through the kit, one for each kind of answer: the
// others take a minute more (ANCHOR_THOROUGH=1).
var sampled = []string{"dedupe", "mmr-reranker", "query-expand", "score-filter", "turn-summary"}

func TestGoSDK(t *testing.T) {
	h, start := newHost(t), goSDK()
	for _, name := range portable(t) {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(sampled, name) && os.Getenv("ANCHOR_THOROUGH") == "" {
				t.Skip("no sample; ANCHOR_THOROUGH=1 runs it")
			}
			passed, calls := kit(t, h, name, start)
			t.Logf("%d cases passed, %d answers equal", passed, calls)
			if passed < 15 || calls < 25 {
				t.Errorf("only %d cases passed and %d calls were compared", passed, calls)
			}
		})
	}
}

func TestPythonSDK(t *testing.T) {
	python := os.Getenv("ANCHOR_EXTISM_PYTHON")
	if python == "" {
		t.Skip("ANCHOR_EXTISM_PYTHON is not the Python of a folder with requirements.txt; make test-extism installs one")
	}
	h, start := newHost(t), pythonSDK(t, python)
	for _, name := range []string{"score-filter", "query-expand"} {
		t.Run(name, func(t *testing.T) {
			passed, calls := kit(t, h, name, start)
			t.Logf("%d cases passed, %d answers equal", passed, calls)
			if passed < 15 || calls < 25 {
				t.Errorf("only %d cases passed and %d calls were compared", passed, calls)
			}
		})
	}
}

// worker is the process that runs worker.py.
type worker struct {
	in  io.Writer
	out *bufio.Reader
	mu  sync.Mutex
	n   int
}

// pythonSDK starts modules in one process of Python.
func pythonSDK(t *testing.T, python string) starter {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "worker.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	w := &worker{in: in, out: bufio.NewReader(out)}
	dir := t.TempDir()
	return func(t *testing.T, wasm []byte, config map[string]string) (extismhost.Caller, func()) {
		file := filepath.Join(dir, fmt.Sprintf("%x.wasm", sha256.Sum256(wasm)))
		if err := os.WriteFile(file, wasm, 0o600); err != nil {
			t.Fatal(err)
		}
		w.n++
		id := w.n
		if _, err := w.ask(map[string]any{"open": file, "id": id, "config": config}); err != nil {
			t.Fatal(err)
		}
		return pythonCaller{w, id}, func() { _, _ = w.ask(map[string]any{"close": id}) }
	}
}

// ask sends a line and reads one. The error is the message of the SDK.
func (w *worker) ask(doc map[string]any) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := json.NewEncoder(w.in).Encode(doc); err != nil {
		return nil, err
	}
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var reply struct {
		Output []byte
		Error  *string
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, errors.New(*reply.Error)
	}
	return reply.Output, nil
}

type pythonCaller struct {
	w  *worker
	id int
}

// CallWithContext implements extismhost.Caller, as a program would around any SDK over libextism.
func (c pythonCaller) CallWithContext(_ context.Context, function string, input []byte) (uint32, []byte, error) {
	out, err := c.w.ask(map[string]any{"call": c.id, "function": function, "input": input})
	if err != nil {
		status, err := extismhost.Native(err.Error())
		return status, nil, err
	}
	return 0, out, nil
}

// spy keeps what was sent.
type spy struct {
	extismhost.Caller
	sent []byte
}

func (s *spy) CallWithContext(ctx context.Context, function string, input []byte) (uint32, []byte, error) {
	s.sent = append(s.sent, input...)
	return s.Caller.CallWithContext(ctx, function, input)
}

// A step has the same items after it as in anchor-host, and the guest is sent only the columns
// that its manifest reads.
func TestItemsAsInAnchorHost(t *testing.T) {
	h, start := newHost(t), goSDK()
	for _, c := range []struct {
		name     string
		op       abi.Operation
		settings map[string]any
		changes  bool
	}{
		{"score-filter", abi.OpFilter, map[string]any{"min_score": 0.4}, true},
		{"dedupe", abi.OpFilter, nil, true},
		{"pii-redact", abi.OpProcess, nil, true},
		{"mmr-reranker", abi.OpRerank, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			wasm, side, p := read(t, c.name)
			s, err := spec.Read("", wasm, side)
			if err != nil {
				t.Fatal(err)
			}
			own, err := h.Load(t.Context(), s, host.PluginConfig{})
			if err != nil {
				t.Fatal(err)
			}
			step, err := steps.New(own, c.op, steps.Options{Settings: c.settings, TopK: 4})
			if err != nil {
				t.Fatal(err)
			}
			texts := []string{"a fox", "write to jo@example.com", "a fox", "a dog", "the quick brown fox", "the quick brown fox!", "rain", "rain falls"}
			var before []pipeline.Item
			var rows []abi.Item
			for i, text := range texts {
				score := float64(i*37%100) / 100
				before = append(before, pipeline.Item{ID: fmt.Sprint("id-", i), Content: text, Source: "retrieval", Score: score, Priority: 5, TokenCount: 4})
				rows = append(rows, abi.Item{ID: fmt.Sprint("id-", i), Content: text, Source: "retrieval", Score: score, Priority: 5, TokenCount: 4})
			}
			want, err := step.Run(t.Context(), &pipeline.Query{Text: "which fox?"}, before)
			if err != nil {
				t.Fatal(err)
			}
			caller, end := start(t, wasm, nil)
			defer end()
			seen := &spy{Caller: caller}
			i, err := p.Start(t.Context(), seen, nil)
			if err != nil {
				t.Fatal(err)
			}
			op, err := i.Operation(c.op, extismhost.Options{Settings: c.settings, TopK: 4})
			if err != nil {
				t.Fatal(err)
			}
			got, err := op.Run(t.Context(), rows, &abi.Envelope{Query: &abi.Query{Text: "which fox?"}})
			if err != nil {
				t.Fatal(err)
			}
			a, b := make([]string, 0, len(want)), make([]string, 0, len(got))
			for _, it := range want {
				a = append(a, fmt.Sprint(it.ID, it.Content, it.Source, it.Score, it.Priority, it.Metadata))
			}
			for _, it := range got {
				b = append(b, fmt.Sprint(it.ID, it.Content, it.Source, it.Score, it.Priority, map[string]any(it.Metadata)))
			}
			if !slices.Equal(a, b) {
				t.Errorf("items\n%q\nin anchor-host\n%q", b, a)
			}
			if o, _ := s.Operation(c.op); !o.Reads.Has(abi.ColumnID) && bytes.Contains(seen.sent, []byte("id-0")) {
				t.Errorf("the guest was sent ids: %s", seen.sent)
			}
			if fmt.Sprint(rows) == fmt.Sprint(got) == c.changes {
				t.Errorf("nothing changed: %v", got)
			}
		})
	}
}
