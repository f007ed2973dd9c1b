package pdktest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/counttokens"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/format"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/memory"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

type none struct{}

var (
	lanes = []pdktest.Lane{pdktest.JSON, pdktest.Batch}
	items = []abi.Item{{Content: "one", Score: 0.9}, {Content: "two", Score: 0.1}, {Content: "three", Score: 0.4}}
)

// recorder is a test that keeps its failure message.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns the failure message of f.
func failure(t *testing.T, f func(tb testing.TB)) string {
	r, done := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.failed
}

func TestEveryKindOfHandlerOnRows(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		op         abi.Operation
		register   func()
	}{
		{"filter each", `{"keep":[0,2]}`, "filter", func() {
			filter.Each(func(it pdk.Item, _ *none) bool { return it.Score() > 0.3 })
		}},
		{"filter rows", `{"keep":[1]}`, "filter", func() {
			filter.Handle(func(*pdk.Request, *none) ([]uint32, error) { return []uint32{1}, nil })
		}},
		{"filter nothing left", `{"keep":[]}`, "filter", func() {
			filter.Handle(func(*pdk.Request, *none) ([]int, error) { return nil, nil })
		}},
		{"rerank scores", `{"scores":[{"row":0,"score":0.45},{"row":1,"score":0.05},{"row":2,"score":0.2}]}`, "rerank", func() {
			rerank.Scores(func(_ *pdk.Request, _ *none, scores []float64) error {
				for i := range scores {
					scores[i] /= 2
				}
				return nil
			})
		}},
		{"rerank order", `{"order":[2,1,0]}`, "rerank", func() {
			rerank.Order(func(*pdk.Request, *none) ([]int, error) { return []int{2, 1, 0}, nil })
		}},
		{"rerank both", `{"scores":[{"row":1,"score":1}],"order":[1,0,2]}`, "rerank", func() {
			rerank.Handle(func(_ *pdk.Request, _ *none, c *pdk.Changes) error {
				c.SetScore(1, 1)
				c.Order(1, 0, 2)
				return nil
			})
		}},
		{"process texts", `{"edits":[{"row":2,"content":"THREE"}]}`, "process", func() {
			process.Texts(func(it pdk.Item, _ *none) (string, error) {
				if len(it.Text()) < 5 {
					return it.Text(), nil
				}
				return strings.ToUpper(it.Text()), nil
			})
		}},
		{"process anything", `{"keep":[0,1],"edits":[{"row":0,"metadata":{"n":1,"f":1.0}}],"items":[{"content":"four","score":0.5}]}`, "process", func() {
			process.Handle(func(_ *pdk.Request, _ *none, c *pdk.Changes) error {
				c.Drop(2)
				c.SetMetadata(0, pdk.Metadata{"n": 1, "f": 1.0})
				c.Add(pdk.NewItem{Content: "four", Score: 0.5})
				return nil
			})
		}},
		{"no change", `{}`, "process", func() {
			process.Handle(func(*pdk.Request, *none, *pdk.Changes) error { return nil })
		}},
		{"no change by error", `{}`, "process", func() {
			process.Handle(func(_ *pdk.Request, _ *none, c *pdk.Changes) error {
				c.Keep()
				return fmt.Errorf("later: %w", pdk.ErrNoChange)
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pdktest.Isolate(t)
			tt.register()
			got := pdktest.Run(t, tt.op, &abi.ItemsRequest{Items: items})
			want := new(abi.Changes)
			if err := json.Unmarshal([]byte(tt.want), want); err != nil {
				t.Fatal(err)
			}
			if a, b := text(t, got), text(t, want); a != b {
				t.Errorf("got %s, want %s", a, b)
			}
		})
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestErrorsAreTheSameInBothLanes(t *testing.T) {
	type settings struct{ N int }
	for want, f := range map[string]func(*pdk.Request, *settings, *pdk.Changes) error{
		"no luck": func(*pdk.Request, *settings, *pdk.Changes) error { return errors.New("no luck") },
		"panic: runtime error: invalid memory address or nil pointer dereference": func(r *pdk.Request, _ *settings, _ *pdk.Changes) error {
			r.Items.Batch = nil
			return errors.New(r.Items.Text(0))
		},
		"panic: quota exceeded": func(*pdk.Request, *settings, *pdk.Changes) error { panic(pdk.ErrQuota) },
		"process: handler returned an error without text (*errors.errorString)": func(*pdk.Request, *settings, *pdk.Changes) error {
			return errors.New("")
		},
		"set score: row 0: 2 is not within 0..1": func(_ *pdk.Request, _ *settings, c *pdk.Changes) error {
			c.SetScore(0, 2)
			return nil
		},
	} {
		pdktest.Isolate(t)
		process.Handle(f)
		for _, lane := range lanes {
			got, err := pdktest.Call{Op: "process", Request: &abi.ItemsRequest{Items: items}}.In(lane)
			if err == nil || err.Error() != want {
				t.Errorf("%s lane: %v, %v, want %q", lane, got, err, want)
			}
		}
	}
}

func TestSettingsAreDecodedOncePerBytes(t *testing.T) {
	type settings struct {
		Min   float64
		calls int
	}
	pdktest.Isolate(t)
	var calls []int
	filter.Handle(func(_ *pdk.Request, s *settings) ([]int, error) {
		s.calls++
		calls = append(calls, s.calls)
		return nil, nil
	})
	for _, raw := range []string{`{"Min":1}`, `{"Min":1}`, `{"Min":2}`, ``, `{"Min":2}`} {
		req := &abi.ItemsRequest{Items: items, Settings: json.RawMessage(raw)}
		if _, err := (pdktest.Call{Op: "filter", Request: req}).In(pdktest.Batch); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(calls); got != "[1 2 1 1 1]" {
		t.Errorf("calls seen by the settings: %s", got)
	}
	req := &abi.ItemsRequest{Items: items, Settings: json.RawMessage(`{"Min":"1"}`)}
	for _, lane := range lanes {
		if _, err := (pdktest.Call{Op: "filter", Request: req}).In(lane); err == nil || !strings.HasPrefix(err.Error(), "settings: decode into") {
			t.Errorf("%s lane: %v", lane, err)
		}
	}
}

func TestHandlerSeesOnlyWhatTheManifestReads(t *testing.T) {
	pdktest.Isolate(t)
	filter.Each(func(it pdk.Item, _ *none) bool { return it.Text() == "" && it.Score() > 0.3 })
	call := pdktest.Call{Op: "filter", Request: &abi.ItemsRequest{Items: items}, Reads: []string{"score"}}
	for _, lane := range lanes {
		if got, err := call.In(lane); err != nil || fmt.Sprint(got.Keep) != "[0 2]" {
			t.Errorf("%s lane: keep %v, %v", lane, got, err)
		}
	}
	const want = "filter reads the column text, which Reads does not name (name it there and under reads in plugin.yaml, or do not read it)"
	if got := failure(t, func(tb testing.TB) { call.Run(tb) }); got != want {
		t.Errorf("failed with %q, want %q", got, want)
	}
	call.Reads = []string{"score", "text"}
	call.Run(t)
}

func TestRunFails(t *testing.T) {
	flip := false
	for _, tt := range []struct {
		name, want string
		call       pdktest.Call
		f          func(*pdk.Request, *none, *pdk.Changes) error
	}{
		{name: "handler fails", want: "process in the batch lane: no luck",
			f: func(*pdk.Request, *none, *pdk.Changes) error { return errors.New("no luck") }},
		{name: "answers differ", want: "process answers differ",
			f: func(_ *pdk.Request, _ *none, c *pdk.Changes) error {
				if flip = !flip; flip {
					c.Drop(0)
				}
				return nil
			}},
		{name: "host refuses", want: "process: a host refuses the answer: ",
			f: func(_ *pdk.Request, _ *none, c *pdk.Changes) error { c.Keep(1, 0); return nil }},
		{name: "not in writes", want: "process: a host refuses the answer: ",
			call: pdktest.Call{Writes: []abi.Change{abi.ChangeText}},
			f:    func(_ *pdk.Request, _ *none, c *pdk.Changes) error { c.Drop(0); return nil }},
	} {
		pdktest.Isolate(t)
		process.Handle(tt.f)
		call := tt.call
		call.Op, call.Request = "process", &abi.ItemsRequest{Items: items}
		if got := failure(t, func(tb testing.TB) { call.Run(tb) }); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: failed with %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOperationsThatAreNotThere(t *testing.T) {
	pdktest.Isolate(t)
	for want, op := range map[string]abi.Operation{
		"observe: no such operation on rows (import its package)":                             "observe",
		"classify: no such operation on rows (import its package)":                            "classify",
		"retrieve: no handler is registered (call Handle of its package in an init function)": "retrieve",
	} {
		if _, err := (pdktest.Call{Op: op, Request: &abi.ItemsRequest{}}).In(pdktest.JSON); err == nil || err.Error() != want {
			t.Errorf("%s: %v", op, err)
		}
	}
	if _, err := pdktest.Document[none]("observe", none{}); err == nil {
		t.Error("an operation whose package is not linked answers")
	}
}

func TestSecondHandlerPanics(t *testing.T) {
	pdktest.Isolate(t)
	register := func() { retrieve.Handle(func(*pdk.Request, *none) ([]pdk.NewItem, error) { return nil, nil }) }
	register()
	defer func() {
		if got := fmt.Sprint(recover()); got != "retrieve: a handler is registered twice (a plugin has one per operation)" {
			t.Errorf("panic %q", got)
		}
	}()
	register()
}

func TestDocuments(t *testing.T) {
	pdktest.Isolate(t)
	classify.Handle(func(q *pdk.Query, _ *none) (string, error) { return q.Metadata["label"].(string), nil })
	memory.Handle(func(r *pdk.Request, _ *none) ([]pdk.NewItem, error) {
		if r.Query().Text == "" {
			return nil, nil
		}
		return []pdk.NewItem{{Content: "remembered"}}, nil
	})
	counttokens.Handle(func(texts []string, _ *none) ([]int, error) { return []int{1}, nil })
	format.Handle("odd", func(*format.Window, *none) (any, error) { return func() {}, nil })

	label, err := pdktest.Document[abi.ClassifyReply]("classify", abi.QueryRequest{Query: abi.Query{Metadata: abi.Metadata{"label": "x"}}})
	if err != nil || label.Label != "x" {
		t.Errorf("classify: %v, %v", label, err)
	}
	if _, err := pdktest.Document[abi.ClassifyReply]("classify", abi.QueryRequest{}); err == nil || !strings.HasPrefix(err.Error(), "panic: interface conversion") {
		t.Errorf("classify that panics: %v", err)
	}
	if reply, err := pdktest.Document[abi.MemoryReply]("memory", abi.ItemsRequest{}); reply != nil || err != nil {
		t.Errorf("memory without items: %v, %v", reply, err)
	}
	if _, err := pdktest.Document[abi.CountReply]("count_tokens", abi.CountRequest{Texts: []string{"a", "b"}}); err == nil || err.Error() != "count_tokens: 1 counts for 2 texts (return one per text)" {
		t.Errorf("count_tokens: %v", err)
	}
	if _, err := pdktest.Document[abi.FormatReply]("format", abi.FormatRequest{}); err == nil || err.Error() != "format: encode output: json: unsupported type: func()" {
		t.Errorf("format: %v", err)
	}
	if _, err := pdktest.Document[abi.ClassifyReply]("classify", 7); err == nil || !strings.HasPrefix(err.Error(), "classify: decode request: ") {
		t.Errorf("classify of a number: %v", err)
	}
}

func TestInit(t *testing.T) {
	type settings struct{ Name string }
	pdktest.Isolate(t)
	if err := pdktest.Init(settings{Name: "kept"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := pdk.InitSettings[settings](); err != nil || s.Name != "kept" {
			t.Errorf("settings without a handler: %v, %v", s, err)
		}
	}
	setup.Handle(func(s *settings) error { return fmt.Errorf("hello %s", s.Name) })
	if err := pdktest.Init(settings{Name: "Ada"}); err == nil || err.Error() != "hello Ada" {
		t.Errorf("init: %v", err)
	}
}
