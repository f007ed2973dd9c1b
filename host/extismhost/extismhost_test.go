package extismhost_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/extismhost"
	"github.com/anchor-host/anchor-host/host/spec"
)

// fake is an SDK whose guest answers as the test says.
type fake struct {
	status uint32
	out    string
	err    error
	// hang waits for the end of the context.
	hang bool
	// sent are the calls: the function and the input.
	sent []string
}

func (f *fake) CallWithContext(ctx context.Context, function string, input []byte) (uint32, []byte, error) {
	f.sent = append(f.sent, function+" "+string(input))
	if f.hang {
		<-ctx.Done()
		return 1, nil, errors.New("module closed")
	}
	if function == "anchor_init" {
		return 0, nil, nil
	}
	return f.status, []byte(f.out), f.err
}

func module(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testdata/wasm", name, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t *testing.T, name, manifest string) *extismhost.Plugin {
	t.Helper()
	p, err := extismhost.Read(module(t, name), []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func start(t *testing.T, p *extismhost.Plugin, f *fake, op abi.Operation, o extismhost.Options) *extismhost.Operation {
	t.Helper()
	i, err := p.Start(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := i.Operation(op, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefusesWhatOtherHostsCannotRun(t *testing.T) {
	for name, want := range map[string]string{
		"foreign": "does not export anchor_abi_1", "kv-ungranted": "imports extism:host/user.anchor_kv_get", "batch-keep-first": "takes only batches",
	} {
		side, _ := os.ReadFile(filepath.Join("../../testdata/wasm", name, "plugin.yaml"))
		if _, err := extismhost.Read(module(t, name), side); !errors.Is(err, extismhost.ErrNotPortable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if _, err := extismhost.Read([]byte("\x00asm"), nil); !errors.Is(err, spec.ErrNotWasm) {
		t.Errorf("no module: %v", err)
	}
}

const withInit = `{abi: 1, name: picky, version: 0.1.0, operations: {init: {}, filter: {reads: [score, none],
  settings: {type: object, properties: {min: {type: number, default: 0.5}}}}},
  settings: {type: object, required: [k], properties: {k: {type: integer}, word: {type: string, default: fox}}}}`

// Init is the first call of an instance, with the defaults filled in, and the guest is sent only what its manifest reads.
func TestSendsDefaultsAndOnlyWhatIsRead(t *testing.T) {
	p, f := read(t, "init-fails", withInit), &fake{status: 1}
	if _, err := p.Start(t.Context(), f, nil); !errors.Is(err, spec.ErrConfig) || len(f.sent) > 0 {
		t.Errorf("settings that lack k: error %v, calls %v", err, f.sent)
	}
	i, err := p.Start(t.Context(), f, map[string]any{"k": 7})
	if err != nil {
		t.Fatal(err)
	}
	if config, err := p.Config(map[string]any{"k": 7}); err != nil || fmt.Sprint(config) != "map[k:7 word:fox]" {
		t.Errorf("config %v, error %v", config, err)
	}
	op, err := i.Operation(abi.OpFilter, extismhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	items := []abi.Item{{ID: "secret", Content: "secret", Score: 0.25}}
	got, err := op.Run(t.Context(), items, &abi.Envelope{Query: &abi.Query{Text: "secret"}, Settings: []byte(`{"secret":1}`)})
	if err != nil || len(got) != 1 {
		t.Errorf("status 1 is no change: %v, %v", got, err)
	}
	want := []string{`anchor_init {"settings":{"k":7,"word":"fox"}}`,
		`anchor_filter {"query":{"query_str":""},"columns":["score"],"items":[{"score":0.25}],"settings":{"min":0.5}}`}
	if fmt.Sprint(f.sent) != fmt.Sprint(want) {
		t.Errorf("sent\n%q, want\n%q", f.sent, want)
	}
	for name, o := range map[string]extismhost.Options{
		"setting": {Settings: map[string]any{"max": 1}}, "column": {Reads: []string{"nothing"}}, "source": {Source: "system"}, "priority": {MaxPriority: 11},
	} {
		if _, err := i.Operation(abi.OpFilter, o); !errors.Is(err, spec.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, op := range []abi.Operation{abi.OpInit, abi.OpRerank} {
		if _, err := i.Operation(op, extismhost.Options{}); !errors.Is(err, spec.ErrNoOperation) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

const documents = `{abi: 1, name: documents, version: 0.1.0, operations: {process: {reads: [text], writes: [keep, text, items, order, score]},
  format: {reads: [text]}, provide: {reads: [messages]}, classify: {}, transform_query: {}, compact: {}}}`

// Each answer breaks one rule of the contract, and nothing changes.
func TestRefusesAnswers(t *testing.T) {
	long := strings.Repeat("a", 200)
	for name, c := range map[string]struct {
		status uint32
		out    string
		err    error
		want   abi.Reason
	}{
		"nothing":            {0, "", nil, abi.ReasonInvalidOutput},
		"no JSON":            {0, "keep", nil, abi.ReasonInvalidOutput},
		"unknown member":     {0, `{"drop":[0]}`, nil, abi.ReasonInvalidOutput},
		"row that is not":    {0, `{"keep":[0,7]}`, nil, abi.ReasonInvalidOutput},
		"half of an order":   {0, `{"order":[1]}`, nil, abi.ReasonInvalidOutput},
		"score above 1":      {0, `{"scores":[{"row":0,"score":2}]}`, nil, abi.ReasonInvalidOutput},
		"priority":           {0, `{"edits":[{"row":0,"priority":9}]}`, nil, abi.ReasonDenied},
		"metadata":           {0, `{"edits":[{"row":0,"metadata":{"a":1}}]}`, nil, abi.ReasonDenied},
		"system":             {0, `{"items":[{"content":"x","score":1,"source":"system"}]}`, nil, abi.ReasonDenied},
		"priority of a new":  {0, `{"items":[{"content":"x","score":1,"priority":9}]}`, nil, abi.ReasonDenied},
		"too many items":     {0, `{"items":[{"content":"x","score":1},{"content":"y","score":1},{"content":"z","score":1}]}`, nil, abi.ReasonOutputTooLarge},
		"too many tokens":    {0, `{"edits":[{"row":0,"content":"` + long + `"}]}`, nil, abi.ReasonOutputTooLarge},
		"too many bytes":     {0, `{"keep":[0],` + strings.Repeat(" ", 500) + `"order":[0]}`, nil, abi.ReasonOutputTooLarge},
		"status of an error": {1 << 31, `{"keep":[]}`, nil, abi.ReasonGuestError},
		"error, status 1":    {1, `{"keep":[]}`, errors.New("no rules"), abi.ReasonGuestError},
		"time of the SDK":    {1, "", context.DeadlineExceeded, abi.ReasonTimeout},
	} {
		f := &fake{status: c.status, out: c.out, err: c.err}
		op := start(t, read(t, "documents", documents), f, abi.OpProcess, extismhost.Options{MaxItems: 2, MaxTokens: 40, MaxOutput: 400})
		items := []abi.Item{{Content: "one", Score: 0.5, Priority: 5, Source: "retrieval"}, {Content: "two", Score: 0.5, Priority: 5, Source: "retrieval"}}
		got, err := op.Run(t.Context(), items, nil)
		var failed *extismhost.Error
		if !errors.As(err, &failed) || failed.Code != c.want || fmt.Sprint(got) != fmt.Sprint(items) {
			t.Errorf("%s: error %v, want %s; items %v", name, err, c.want, got)
		}
	}
}

func TestAppliesChanges(t *testing.T) {
	items := []abi.Item{{ID: "a", Content: "one", Score: 0.1, Source: "retrieval"}, {ID: "b", Content: "two", Score: 0.9, Source: "retrieval"}, {ID: "c", Content: "three", Score: 0.5, Source: "retrieval"}}
	for out, want := range map[string]string{
		`{"keep":[0,2]}`:    "a one 0.1, c three 0.5",
		`{"keep":[]}`:       "",
		`{"order":[2,0,1]}`: "c three 0.9, a one 0.5, b two 0.1", // the scores follow the order
		`{"keep":[0],"items":[{"key":"k","content":"new","score":0.3}]}`:                                      "a one 0.1, documents:k new 0.3",
		`{"keep":[0,1],"order":[1,0],"scores":[{"row":0,"score":1}],"edits":[{"row":1,"content":"changed"}]}`: "b changed 0.9, a one 1",
	} {
		op := start(t, read(t, "documents", documents), &fake{out: out}, abi.OpProcess, extismhost.Options{})
		got, err := op.Run(t.Context(), items, nil)
		var text []string
		for _, it := range got {
			text = append(text, fmt.Sprint(it.ID, " ", it.Content, " ", it.Score))
		}
		if s := strings.Join(text, ", "); err != nil || s != want {
			t.Errorf("%s: %q, error %v, want %q", out, s, err, want)
		}
	}
	if items[1].Content != "two" || items[0].Score != 0.1 {
		t.Errorf("the caller's items changed: %v", items)
	}
}

func TestDocuments(t *testing.T) {
	p := read(t, "documents", documents)
	f := &fake{out: `{"format_type":"x","output":"y"}`}
	op := start(t, p, f, abi.OpFormat, extismhost.Options{})
	var reply abi.FormatReply
	changed, err := op.Ask(t.Context(), &abi.FormatRequest{Items: []abi.Item{{ID: "secret", Content: "text", Score: 0.5}}, Query: "q", Settings: []byte(`{"secret":1}`)}, &reply)
	if err != nil || !changed || string(reply.Output) != `"y"` || f.sent[0] != `anchor_format {"items":[{"content":"text"}],"max_tokens":0,"query":"q","used_tokens":0}` {
		t.Errorf("changed %v, %s, error %v, sent %q", changed, reply.Output, err, f.sent)
	}
	f.status = 1
	if _, err := op.Ask(t.Context(), &abi.FormatRequest{}, &reply); err == nil || !strings.Contains(err.Error(), "no output") {
		t.Errorf("a formatter that changes nothing: %v", err)
	}
	if _, err := op.Ask(t.Context(), abi.FormatRequest{}, &reply); !errors.Is(err, spec.ErrConfig) {
		t.Errorf("a document that is no pointer: %v", err)
	}
	f = &fake{out: `{"state":{"observations":["mine now"]}}`}
	provide := start(t, p, f, abi.OpProvide, extismhost.Options{})
	if _, err := provide.Ask(t.Context(), &abi.ProvideRequest{}, &abi.ProvideReply{}); err == nil || strings.Contains(f.sent[0], "observations") {
		t.Errorf("a provider replaces what it was not sent: %v, sent %s", err, f.sent[0])
	}
}

// A call that hangs ends with its context, and the library tells why.
func TestCallsEndWithTheirContext(t *testing.T) {
	op := start(t, read(t, "documents", documents), &fake{hang: true}, abi.OpProcess, extismhost.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := op.Run(ctx, nil, nil)
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	_, over := op.Run(late, nil, nil)
	var a, b *extismhost.Error
	if !errors.As(err, &a) || !errors.As(over, &b) || a.Code != abi.ReasonCancelled || b.Code != abi.ReasonTimeout {
		t.Errorf("errors %v and %v", err, over)
	}
}

func TestNative(t *testing.T) {
	if status, err := extismhost.Native("Error code: 1"); status != 1 || err != nil {
		t.Errorf("no change is %d, %v", status, err)
	}
	for _, message := range []string{"Error code: 2", "no rules", ""} {
		if status, err := extismhost.Native(message); status < 2 || err == nil {
			t.Errorf("%q is %d, %v", message, status, err)
		}
	}
}
