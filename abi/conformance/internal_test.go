package conformance

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// Answers are a guest's: whatever they are, they are judged, and one without
// trouble can be applied and compared.
func FuzzAnswers(f *testing.F) {
	for _, doc := range []string{`{"keep":[0,2],"edits":[{"row":0,"content":"x","metadata":{"a":[1]},"priority":3}],"order":[2,0]}`,
		`{"items":[{"content":"a","score":1}],"order":[3,2,1,0]}`, `{"queries":[{"query_str":"q"}]}`, `{"counts":[1,2,3]}`,
		`{"messages":[{"role":"user","content":"x"}],"state":{"data":{}}}`, `{"format_type":"x","output":"y"}`, `{"tokens":1}`} {
		f.Add(uint8(2), false, []byte(doc))
	}
	change, err := abi.AppendChanges(nil, &abi.Changes{Keep: []uint32{1}, Scores: []abi.RowScore{{Row: 1, Score: 1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(3), true, change)
	d := &Description{MaxItems: 10, MaxTokens: 10, CountTokens: func(_ context.Context, texts ...string) ([]int, error) {
		return make([]int, len(texts)), nil
	}}
	f.Fuzz(func(t *testing.T, n uint8, batch bool, out []byte) {
		info := abi.Operations[int(n)%len(abi.Operations)]
		writes, _ := abi.ChangesOf(info.Writes)
		op := &Operation{Operation: info.Op, Reads: abi.AllColumns, Writes: writes, Sources: []string{"retrieval"}}
		lane := JSON
		if batch && info.Batch {
			lane = Batch
		}
		req := build(op, shape{n: 3}, 1, nil)
		rep, trouble := read(t.Context(), d, op, req, lane, &Answer{Output: out})
		if trouble != nil {
			if trouble.id == "" || trouble.detail == "" {
				t.Fatalf("trouble without a name: %+v", trouble)
			}
			return
		}
		rep.canonical(len(req.rows))
		if info.Reply == "Changes" {
			if err := rep.changes.Check(len(req.rows), abi.Grant{Writes: writes, MaxItems: 10, MaxPriority: 10, Sources: op.Sources}); err != nil {
				t.Fatalf("passed, but a host refuses it: %v", err)
			}
			finals(info.Op, req.rows, rep.changes)
		}
	})
}

// The kit sends a guest the parts of a request that it reads, and holds its answer against
// them.
func TestRequestsHaveThePartsRead(t *testing.T) {
	op := &Operation{Operation: abi.OpProvide, Parts: abi.PartsOf(abi.PartData)}
	req := build(op, shape{n: 3}, 1, nil)
	if doc := req.doc.(abi.ProvideRequest); len(doc.Messages) != 0 || doc.State.Messages != nil || doc.State.RunID != "" || doc.State.Data == nil {
		t.Errorf("request %+v", doc)
	}
	own := OwnCase{Request: json.RawMessage(`{"state":{"run_id":"r","data":{"n":1}},"messages":[{"role":"user","content":"hi"}]}`)}
	req, err := own.request(op, nil)
	if err != nil {
		t.Fatal(err)
	}
	if doc := req.doc.(abi.ProvideRequest); len(doc.Messages) != 0 || doc.State.RunID != "" || doc.State.Data == nil {
		t.Errorf("own request %+v", doc)
	}
	rep := new(reply)
	if trouble := rep.readDocument(t.Context(), &Description{}, op, req, []byte(`{"messages":[]}`)); trouble == nil || trouble.id != caseMessages {
		t.Errorf("messages of a guest that reads none: %v", trouble)
	}
	for answer, broken := range map[string]bool{`{"state":{"observations":[]}}`: true, `{"state":{"reflection":""}}`: true, `{"state":{"data":{}}}`: false} {
		if trouble := rep.readDocument(t.Context(), &Description{}, op, req, []byte(answer)); (trouble != nil) != broken || broken && trouble.id != caseState {
			t.Errorf("%s of a guest that reads data: %v", answer, trouble)
		}
	}
	op = &Operation{Operation: abi.OpFilter, Reads: abi.AllColumns, Parts: abi.PartsOf(abi.PartQueryText)}
	if q := build(op, shape{n: 1}, 1, nil).env.Query; q.Text == "" || q.ChatHistory != nil || q.Metadata != nil {
		t.Errorf("query %+v", q)
	}
}

// What a later host would send must be readable by today's readers, and mean
// the same.
func TestLaterRequestsAreSound(t *testing.T) {
	op := &Operation{Operation: abi.OpRerank, Reads: abi.AllColumns}
	for n := range 4 {
		req := build(op, shape{n: n, later: true}, 1, json.RawMessage(`{"k":1}`))
		b, err := req.encode(Batch)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := abi.OpenBatch(b)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := req.encode(JSON)
		if err != nil {
			t.Fatal(err)
		}
		items, err := abi.DecodeItemsRequest(doc)
		if err != nil {
			t.Fatal(err)
		}
		if batch.Len() != n || len(items.Items) != n || string(batch.Settings()) != `{"k":1}` || string(items.Settings) != `{"k":1}` {
			t.Errorf("%d rows: batch %d, document %d, settings %s %s", n, batch.Len(), len(items.Items), batch.Settings(), items.Settings)
		}
		for i := range n {
			if batch.Text(i) != req.rows[i].Content || items.Items[i].Content != req.rows[i].Content {
				t.Errorf("row %d: %q and %q, want %q", i, batch.Text(i), items.Items[i].Content, req.rows[i].Content)
			}
		}
	}
}

func TestFinals(t *testing.T) {
	rows := abi.ItemRows{{Content: "a", Score: 0.1}, {Content: "b", Score: 0.9}, {Content: "c", Score: 0.5}}
	edit := "B"
	for name, tt := range map[string]struct {
		op    abi.Operation
		c     *abi.Changes
		want  []uint32
		first float64
	}{
		"nothing": {abi.OpFilter, nil, []uint32{0, 1, 2}, 0.1},
		"keep":    {abi.OpFilter, &abi.Changes{Keep: []uint32{2}}, []uint32{2}, 0.5},
		"order":   {abi.OpRerank, &abi.Changes{Order: []uint32{2, 0, 1}}, []uint32{2, 0, 1}, 0.9},
		"scores":  {abi.OpRerank, &abi.Changes{Scores: []abi.RowScore{{Row: 0, Score: 1}}}, []uint32{0, 1, 2}, 1},
		"items": {abi.OpProcess, &abi.Changes{Keep: []uint32{1}, Edits: []abi.Edit{{Row: 1, Content: &edit}},
			Items: []abi.NewItem{{Content: "new", Score: 0.2}}}, []uint32{1, 3}, 0.9},
	} {
		var got []uint32
		list := finals(tt.op, rows, tt.c)
		for _, f := range list {
			got = append(got, f.row)
		}
		if !slices.Equal(got, tt.want) || list[0].score != tt.first {
			t.Errorf("%s: rows %v first score %v, want %v %v", name, got, list[0].score, tt.want, tt.first)
		}
	}
}

func TestGrown(t *testing.T) {
	series := func(f func(i int) int64) (list []int64) {
		for i := range 40 {
			list = append(list, f(i))
		}
		return list
	}
	for name, tt := range map[string]struct {
		samples []int64
		want    Verdict
	}{
		"steady":    {series(func(int) int64 { return 1 << 20 }), Pass},
		"settles":   {series(func(i int) int64 { return int64(min(i, 18)) << 20 }), Pass},
		"leaks":     {series(func(i int) int64 { return 1<<20 + int64(i/3)<<16 }), Fail},
		"one step":  {series(func(i int) int64 { return 4<<20 + int64(i/30)<<20 }), Pass},
		"one large": {series(func(i int) int64 { return 4<<20 + int64(i/30)<<24 }), Fail},
		"unknown":   {series(func(int) int64 { return 0 }), Skip},
		"few":       {[]int64{1, 1, 1, 1, 1}, Pass},
	} {
		if tt.samples[0] == 0 && tt.want != Skip {
			tt.samples[0] = 1
		}
		if got := grown(tt.samples, 1000); got.verdict != tt.want {
			t.Errorf("%s: %s %s", name, got.verdict, got.detail)
		}
	}
}

// A case may have as many items as a batch may have rows; to look each of them
// up in a list would take longer than tests may.
func TestFinalsOfManyRows(t *testing.T) {
	rows := make(abi.ItemRows, abi.MaxRows)
	c := &abi.Changes{Keep: make([]uint32, 0, len(rows))}
	for i := range rows {
		if i%3 > 0 {
			c.Keep = append(c.Keep, uint32(i))
		}
	}
	list := finals(abi.OpFilter, rows, c)
	if !slices.EqualFunc(list, c.Keep, func(f final, row uint32) bool { return f.row == row }) {
		t.Errorf("%d rows are left of %d kept", len(list), len(c.Keep))
	}
}

// An answer with parts edits a message of the request, and comes from a guest that reads them.
func TestPartsOfMessagesAreJudged(t *testing.T) {
	for reads, op := range map[bool]*Operation{
		true:  {Operation: abi.OpProvide, Parts: abi.PartsOf(abi.PartMessages, abi.PartMessageParts)},
		false: {Operation: abi.OpProvide},
	} {
		req := build(op, shape{n: 4}, 1, nil)
		sent := req.doc.(abi.ProvideRequest).Messages[1]
		if (sent.Parts != nil) != reads {
			t.Errorf("reads parts: %t, but is sent %+v", reads, sent)
		}
		for parts, fine := range map[string]bool{`[{"index":1}]`: true, `[{"index":0},{"type":"text","text":"x"}]`: true, `[{"index":2}]`: false, `[]`: false} {
			doc, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": sent.Role, "content": sent.Content, "parts": json.RawMessage(parts)}}})
			if err != nil {
				t.Fatal(err)
			}
			trouble := new(reply).readDocument(t.Context(), &Description{}, op, req, doc)
			if (trouble == nil) != (fine && reads) || trouble != nil && trouble.id != caseMessages {
				t.Errorf("reads parts: %t, answers %s: %v", reads, parts, trouble)
			}
		}
	}
}

// failure is a failed call that left a trace.
type failure struct {
	reason       abi.Reason
	wrote, stack string
}

func (f failure) Error() string                { return string(f.reason) }
func (f failure) Reason() string               { return string(f.reason) }
func (f failure) GuestTrace() (string, string) { return f.wrote, f.stack }

// A failure that an author of Go does not expect names TinyGo, and no other failure does.
func TestTroubleNamesTinyGo(t *testing.T) {
	for _, tt := range []struct {
		failure
		want string
	}{
		{failure{abi.ReasonTrap, "panic: on purpose\n", ""}, "recover"},
		{failure{abi.ReasonTrap, "a line\npanic: runtime error: index out of range\n", ""}, "recover"},
		{failure{abi.ReasonTrap, "panic: on purpose\n\ngoroutine 1 [running]:\n", ""}, ""},
		{failure{abi.ReasonTrap, "thread panicked at src/lib.rs:1\n", ""}, ""},
		{failure{abi.ReasonGuestError, "panic: only a word\n", ""}, ""},
		{failure{abi.ReasonMemory, "", "main.runtime.alloc(i32,i32) i32\n"}, "limits.memory"},
		{failure{abi.ReasonTimeout, "", "anchor:meter.tick()\nmain.runtime.alloc(i32,i32) i32\n"}, "limits.memory"},
		{failure{abi.ReasonMemory, "", "runtime.mallocgc(i64,i32,i32) i32\n"}, ""},
	} {
		got := callTrouble(JSON, tt.failure).detail
		if strings.Contains(got, "TinyGo") != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: got %q", tt.failure, got)
		}
	}
}
