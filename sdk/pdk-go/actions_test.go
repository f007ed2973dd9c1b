package pdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// TestActions reaches every import of the SDK, and every way to fail, in both
// lanes of one instance: none of them may hurt the next call.
func TestActions(t *testing.T) {
	g := newGuest(t, "actions")
	g.config = map[string]string{"region": "eu"}
	if status, _ := g.document(abi.OpInit, []byte(`{"settings":{"greeting":"hello"}}`)); status != 0 {
		t.Fatalf("init: status %d: %s", status, g.err)
	}
	for _, tt := range []struct{ do, arg, want, err string }{
		{do: "nothing"},
		{do: "greet", want: "hello Ada"},
		{do: "panic", arg: "this", err: "panic: cannot go on with this"},
		{do: "index", err: "panic: runtime error: index out of range"},
		{do: "error", arg: "all", err: "all is wrong"},
		{do: "config", arg: "region", want: "eu true"},
		{do: "config", arg: "zone", want: " false"},
		{do: "log", arg: "noise"},
		{do: "tokens", arg: "one two", want: "2"},
		{do: "http", arg: "https://example.com/", want: "200 PING"},
		{do: "embed", arg: "four", want: "query 2 [[4 2] [0 0]]"},
		{do: "search", arg: "four", want: "four 2 0000803f0000003f"},
		{do: "llm", arg: "four", want: `four {"type":"object"}, llm: refused: no`},
		{do: "batch", arg: "https://example.com/", want: "201 y PING, 0 timeout"},
		{do: "kv", arg: "key", want: "stored"},
		{do: "greet", want: "hello Ada"},
	} {
		req := &abi.ItemsRequest{Query: abi.Query{Text: "Ada"}, Items: []abi.Item{{Content: "a"}, {Content: "b"}}}
		req.Settings, _ = json.Marshal(map[string]string{"do": tt.do, "arg": tt.arg})
		for lane, call := range map[string]func(*abi.ItemsRequest) *abi.Changes{"batch": g.inBatch, "json": g.inJSON} {
			got := ""
			if changes := call(req); len(changes.Edits) > 0 {
				got = *changes.Edits[0].Content
			}
			if got != tt.want {
				t.Errorf("%s %s in the %s lane: text %q, want %q", tt.do, tt.arg, lane, got, tt.want)
			}
			if !strings.HasPrefix(g.err, tt.err) || (tt.err == "") != (g.err == "") {
				t.Errorf("%s %s in the %s lane: error %q, want %q", tt.do, tt.arg, lane, g.err, tt.err)
			}
		}
	}
	if !strings.Contains(g.requested, `"timeout_ms":2`) || strings.Count(g.requested, `"https://example.com/"`) != 2 {
		t.Errorf("requested %q", g.requested)
	}
	if want := "trace: noise,warn: noise again"; !strings.HasPrefix(strings.Join(g.logs, ","), want) {
		t.Errorf("logged %q, want %q", g.logs, want)
	}
	if !strings.Contains(g.stderr.String(), "goroutine") {
		t.Error("the stack of a panic is not on stderr")
	}
}

func TestFullStoresAreReported(t *testing.T) {
	for status, why := range map[uint32]string{1: "quota exceeded", 2: "the host has no room"} {
		g := newGuest(t, "actions")
		g.kvStatus = status
		g.inBatch(&abi.ItemsRequest{Items: []abi.Item{{}}, Settings: json.RawMessage(`{"do":"kv","arg":"key"}`)})
		if want := `kv: set "key": ` + why; g.err != want {
			t.Errorf("error %q, want %q", g.err, want)
		}
	}
}

func TestInitRefusesBadSettings(t *testing.T) {
	g := newGuest(t, "actions")
	for in, want := range map[string]string{
		`{"settings":{}}`:               "greeting is empty",
		`{"settings":{"greeting":1}}`:   "settings: decode into main.Init: json: cannot unmarshal number",
		`{"settings":{"greeting":"hi"}`: "init: decode request: unexpected end of JSON input",
	} {
		if status, _ := g.document(abi.OpInit, []byte(in)); status != int32(abi.StatusError) || !strings.HasPrefix(g.err, want) {
			t.Errorf("%s: status %d, error %q, want %q", in, status, g.err, want)
		}
	}
}

func TestOperationWithoutHandlerSaysSo(t *testing.T) {
	g := newGuest(t, "all")
	for _, info := range abi.Operations {
		if info.Op == abi.OpInit {
			continue
		}
		status, _ := g.document(info.Op, []byte(`{}`))
		if want := string(info.Op) + ": no handler is registered"; status != int32(abi.StatusError) || !strings.HasPrefix(g.err, want) {
			t.Errorf("%s: status %d, error %q", info.Op, status, g.err)
		}
	}
	if status, _ := g.document(abi.OpInit, []byte(`{}`)); status != 0 {
		t.Errorf("init without a handler: status %d, error %q", status, g.err)
	}
}

// inBatch calls process in the batch lane; no change and errors are no changes.
func (g *guest) inBatch(req *abi.ItemsRequest) *abi.Changes {
	g.tb.Helper()
	status, out := g.batch(abi.OpProcess, req, abi.AllColumns)
	if status != 0 {
		return &abi.Changes{}
	}
	c, err := abi.DecodeChanges(out)
	if err != nil {
		g.tb.Fatal(err)
	}
	return c
}

// inJSON does the same in the JSON lane.
func (g *guest) inJSON(req *abi.ItemsRequest) *abi.Changes {
	g.tb.Helper()
	in, err := abi.AppendItemsRequest(nil, abi.ItemRows(req.Items), abi.AllColumns, envelope(req))
	if err != nil {
		g.tb.Fatal(err)
	}
	status, out := g.document(abi.OpProcess, in)
	if status != 0 {
		return &abi.Changes{}
	}
	c, err := abi.DecodeChangesJSON([]byte(out))
	if err != nil {
		g.tb.Fatal(err)
	}
	return c
}
