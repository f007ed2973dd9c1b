package frames

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

func TestPushAssignsIDsAndTime(t *testing.T) {
	p := newPipeline(t, Config{Now: ticking()})
	id, err := p.Push(t.Context(), Frame{ID: 77, Kind: StepSummary, Summary: "a"})
	if err != nil || id != 0 {
		t.Fatalf("id %d, %v; want 0, whatever the caller's was", id, err)
	}
	built := time.Date(2020, 5, 5, 5, 5, 5, 0, time.FixedZone("", 3600))
	id, err = p.Push(t.Context(), Frame{Kind: ToolCall, Summary: "b", CreatedAt: built, Data: json.RawMessage(` {"a" : 1} `), TokenEstimate: Tokens(0)})
	if err != nil || id != 1 {
		t.Fatalf("id %d, %v; want 1", id, err)
	}
	a, _ := p.Frame(0)
	b, _ := p.Frame(1)
	if !a.CreatedAt.After(p.Header().CreatedAt) || a.CreatedAt.Location() != time.UTC {
		t.Errorf("created at %v", a.CreatedAt)
	}
	if !b.CreatedAt.Equal(built) || b.CreatedAt.Location() != time.UTC {
		t.Errorf("time of a pre-built frame is %v, want %v in UTC", b.CreatedAt, built)
	}
	if string(b.Data) != `{"a":1}` || b.TokenEstimate.IsZero() || !a.TokenEstimate.IsZero() {
		t.Errorf("data %s, estimates %v %v", b.Data, a.TokenEstimate, b.TokenEstimate)
	}
}

func TestPushRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		frame Frame
		want  string
	}{
		"no kind":      {t.Context(), Frame{}, `frame: kind "": invalid value (want one of [intent_analysis step_summary code_change system_state error_recovery checkpoint tool_call], or Other)`},
		"unknown kind": {t.Context(), Frame{Kind: "audit"}, `frame: kind "audit": invalid value (want one of [intent_analysis step_summary code_change system_state error_recovery checkpoint tool_call], or Other)`},
		"broken data":  {t.Context(), Frame{Kind: ToolCall, Data: json.RawMessage(`{`)}, `frame: data: unexpected end of JSON input (want JSON)`},
		"year":         {t.Context(), Frame{Kind: ToolCall, CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, `frame: created_at: year 10000: invalid value (want 0 to 9999)`},
		"ended":        {ended, Frame{Kind: ToolCall}, `context canceled`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPipeline(t, Config{})
			if _, err := p.Push(c.ctx, c.frame); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if p.NextFrameID() != 0 || p.Len() != 0 {
				t.Error("a refused push used an id or entered the window")
			}
		})
	}
}

func TestFramesShareNothingWithCallers(t *testing.T) {
	p := newPipeline(t, Config{})
	data := json.RawMessage(`[1]`)
	if _, err := p.Push(t.Context(), Frame{Kind: ToolCall, Data: data}); err != nil {
		t.Fatal(err)
	}
	data[1] = '2'
	w := p.Window()
	w.Frames[0].Data[1] = '3'
	w.Frames[0].Summary = "changed"
	recalled, err := p.Recall(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	recalled[0].Data[1] = '4'
	p.Document().Frames[0].Data[1] = '5'
	if f, _ := p.Frame(0); string(f.Data) != "[1]" || f.Summary != "" {
		t.Errorf("frame has changed: %s %q", f.Data, f.Summary)
	}
}

func TestInvalidUTF8IsRepaired(t *testing.T) {
	p := newPipeline(t, Config{})
	if _, err := p.Push(t.Context(), Frame{Kind: Other("a\xff"), Summary: "b\xff", Data: json.RawMessage("\"c\xff\"")}); err != nil {
		t.Fatal(err)
	}
	f, _ := p.Frame(0)
	if f.Kind != Other("a\uFFFD") || f.Summary != "b\uFFFD" || string(f.Data) != "\"c\uFFFD\"" {
		t.Errorf("kept %q %q %q", string(f.Kind), f.Summary, f.Data)
	}
}

func TestEvictedFramesAreRecalled(t *testing.T) {
	p := newPipeline(t, Config{Limits: Limits{MaxFrames: 1}})
	for _, s := range []string{"a", "b", "c"} {
		push(t, p, StepSummary, s)
	}
	if _, ok := p.Frame(0); ok {
		t.Error("an evicted frame is still in the window")
	}
	got, err := p.Recall(t.Context(), 2, 0)
	if err != nil || len(got) != 2 || got[0].Summary != "c" || got[1].Summary != "a" {
		t.Errorf("recalled %v, %v", got, err)
	}
	if _, err := p.Recall(t.Context(), 3); !errors.Is(err, ErrNoFrame) || err.Error() != "pipeline: recall frame 3: no such frame" {
		t.Errorf("error %v", err)
	}
}

func TestTokenEviction(t *testing.T) {
	p := newPipeline(t, Config{Limits: Limits{MaxTokens: 100}})
	pushWeighing(t, p, Checkpoint, 20)
	pushWeighing(t, p, StepSummary, 50)
	pushWeighing(t, p, ToolCall, 30)
	wantIDs(t, p.Window().IDs(), 0, 1, 2)
	pushWeighing(t, p, ToolCall, 1) // 101: the oldest goes
	wantIDs(t, p.Window().IDs(), 0, 2, 3)
	if id := pushWeighing(t, p, ToolCall, 81); id != 4 {
		t.Errorf("id %d, want 4", id)
	}
	wantIDs(t, p.Window().IDs(), 0, 2, 3) // 4 never fits beside the checkpoint
	pushWeighing(t, p, IntentAnalysis, 200)
	wantIDs(t, p.Window().IDs(), 0, 5)
	pushWeighing(t, p, ToolCall, 0)
	wantIDs(t, p.Window().IDs(), 0, 5)
	if n := p.TotalTokenEstimate(); n != 220 {
		t.Errorf("total %d, want 220", n)
	}
}

func TestWeight(t *testing.T) {
	for _, c := range []struct {
		frame Frame
		want  uint64
	}{
		{Frame{}, 1},
		{Frame{Summary: "abcd"}, 1},
		{Frame{Summary: "äbcde"}, 2},
		{Frame{Summary: "abcd", Data: json.RawMessage(`[1]`)}, 2},
		{Frame{Summary: strings.Repeat("x", 100), TokenEstimate: Tokens(7)}, 7},
		{Frame{Summary: "x", TokenEstimate: Tokens(0)}, 0},
		{Frame{TokenEstimate: Tokens(math.MaxUint64)}, math.MaxUint32},
	} {
		if got := c.frame.Weight(); got != c.want {
			t.Errorf("weight of %+v is %d, want %d", c.frame, got, c.want)
		}
	}
}

func TestCountTokens(t *testing.T) {
	f := Frame{Summary: "three short words", Data: json.RawMessage(`"one"`)}
	if err := f.CountTokens(t.Context(), pipeline.WordTokenizer()); err != nil {
		t.Fatal(err)
	}
	if n, ok := f.TokenEstimate.Get(); n != 4 || !ok {
		t.Errorf("estimate %d, want 4", n)
	}
}

func TestTotalDoesNotWrap(t *testing.T) {
	p := newPipeline(t, Config{})
	pushWeighing(t, p, ToolCall, math.MaxUint64)
	pushWeighing(t, p, ToolCall, 2)
	if p.TotalTokenEstimate() != math.MaxUint64 || p.Window().TotalTokenEstimate() != math.MaxUint64 {
		t.Error("the sum of estimates wrapped around")
	}
}

func TestView(t *testing.T) {
	p := newPipeline(t, Config{})
	for i, kind := range []Kind{ToolCall, Checkpoint, ToolCall, ToolCall, IntentAnalysis, ToolCall} {
		pushWeighing(t, p, kind, uint64(10+i))
	}
	for _, c := range []struct {
		limits Limits
		ids    []uint64
		at     Positions
	}{
		{Limits{}, []uint64{0, 1, 2, 3, 4, 5}, Positions{0, 6}},
		{Limits{MaxFrames: 4}, []uint64{1, 3, 4, 5}, Positions{1, 6}},
		{Limits{MaxFrames: 3}, []uint64{1, 4, 5}, Positions{1, 6}},
		{Limits{MaxFrames: 1}, []uint64{1, 4}, Positions{1, 5}},
		{Limits{MaxTokens: 53}, []uint64{1, 3, 4, 5}, Positions{1, 6}},
		{Limits{MaxTokens: 52}, []uint64{1, 4, 5}, Positions{1, 6}},
		{Limits{MaxTokens: 36}, []uint64{0, 1, 4}, Positions{0, 5}}, // only 0 fits alone
		{Limits{MaxTokens: 1}, []uint64{1, 4}, Positions{1, 5}},
		{Limits{MaxFrames: 3, MaxTokens: 1000}, []uint64{1, 4, 5}, Positions{1, 6}},
	} {
		w := p.View(c.limits)
		wantIDs(t, w.IDs(), c.ids...)
		if w.Positions != c.at {
			t.Errorf("%+v: positions %v, want %v", c.limits, w.Positions, c.at)
		}
	}
	if p.Len() != 6 {
		t.Errorf("a view evicted: %d frames", p.Len())
	}
	if w := newPipeline(t, Config{}).Window(); len(w.Frames) != 0 || w.Positions != (Positions{}) {
		t.Errorf("window of an empty pipeline: %+v", w)
	}
}

func TestPositionsAreHalfOpen(t *testing.T) {
	p := newPipeline(t, Config{})
	for range 5 {
		push(t, p, ToolCall, "t")
	}
	w := p.Window()
	wantIDs(t, w.Slice(Positions{1, 3}).IDs(), 1, 2)
	wantIDs(t, w.Slice(Positions{3, 99}).IDs(), 3, 4)
	wantIDs(t, w.Slice(Positions{3, 1}).IDs())
	wantIDs(t, w.Slice(Positions{9, math.MaxUint32}).IDs())
	part := w.Slice(Positions{2, 4})
	if part.Positions != (Positions{2, 4}) {
		t.Errorf("positions %v", part.Positions)
	}
	wantIDs(t, part.Slice(Positions{0, 3}).IDs(), 2)
}

func TestIDsRunOut(t *testing.T) {
	d := newPipeline(t, Config{}).Document()
	d.NextFrameID = MaxFrameID
	p, err := Restore(t.Context(), d, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if id := push(t, p, ToolCall, "last"); id != MaxFrameID {
		t.Fatalf("id %d", id)
	}
	if _, err := p.Push(t.Context(), Frame{Kind: ToolCall}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	if p, err = Restore(t.Context(), p.Document(), Config{}); err != nil || p.Len() != 1 {
		t.Errorf("the full pipeline cannot be restored: %v", err)
	}
}

func TestAnalysisBeginsAPipeline(t *testing.T) {
	in, err := NewIntent(Actor{Kind: Human, ID: "ada"}, "Add pagination", epoch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Analyze(" ", epoch); !errors.Is(err, pipeline.ErrInvalid) || in.Status() != IntentDraft {
		t.Errorf("no content: %v, status %s", err, in.Status())
	}
	frame, err := in.Analyze("limit and offset for GET /users", epoch)
	if err != nil || in.Status() != IntentActive {
		t.Fatalf("status %s, %v", in.Status(), err)
	}
	p := newPipeline(t, Config{Limits: Limits{MaxFrames: 1}})
	if _, err := p.Push(t.Context(), frame); err != nil {
		t.Fatal(err)
	}
	push(t, p, StepSummary, "s")
	w := p.Window()
	if len(w.Frames) != 1 || w.Frames[0].Kind != IntentAnalysis || w.Frames[0].Summary != in.Content || w.Frames[0].ID != 0 {
		t.Errorf("window %+v", w)
	}
	if stored := toJSON(t, p); strings.Contains(stored, in.ObjectID.String()) {
		t.Errorf("the pipeline points back to the intent: %s", stored)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(t.Context(), Actor{Kind: Human, ID: " \t"}, Config{}); !errors.Is(err, pipeline.ErrInvalid) ||
		err.Error() != "pipeline: actor: id is empty: invalid value (say who creates this)" {
		t.Errorf("error %v", err)
	}
	log := new(MemoryLog)
	push(t, newPipeline(t, Config{Log: log}), ToolCall, "t")
	if _, err := New(t.Context(), actor, Config{Log: log}); !errors.Is(err, ErrOrder) {
		t.Errorf("a second pipeline on one log: %v", err)
	}
}

func TestRestoreReplaysTheLogAfterTheDocument(t *testing.T) {
	log := new(MemoryLog)
	p := newPipeline(t, Config{Log: log, Limits: Limits{MaxFrames: 2}})
	push(t, p, IntentAnalysis, "ia")
	push(t, p, StepSummary, "a")
	stored := p.Document()
	push(t, p, StepSummary, "b")
	push(t, p, StepSummary, "c")
	again, err := Restore(t.Context(), stored, Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, again.Window().IDs(), 0, 3)
	if again.NextFrameID() != 4 || log.Len() != 4 {
		t.Errorf("next id %d, log of %d", again.NextFrameID(), log.Len())
	}
}

func TestRestoreCopiesTheDocumentIntoAnEmptyLog(t *testing.T) {
	p := newPipeline(t, Config{Limits: Limits{MaxFrames: 2}})
	for _, s := range []string{"a", "b", "c", "d"} {
		push(t, p, StepSummary, s)
	}
	log := new(MemoryLog)
	again, err := Restore(t.Context(), p.Document(), Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	push(t, again, StepSummary, "e")
	wantIDs(t, again.Window().IDs(), 3, 4)
	got, err := again.Recall(t.Context(), 2)
	if err != nil || got[0].Summary != "c" {
		t.Errorf("frame of the document after its eviction: %v, %v", got, err)
	}
	if _, err := again.Recall(t.Context(), 1); !errors.Is(err, ErrNoFrame) {
		t.Errorf("frame evicted before the document: %v", err)
	}
}

func TestSummaryAndHeader(t *testing.T) {
	p := newPipeline(t, Config{})
	p.SetGlobalSummary("half done")
	if p.GlobalSummary() != "half done" || p.Document().GlobalSummary != "half done" {
		t.Error("global summary is lost")
	}
	h := p.Header()
	if h.ObjectID != p.ID() || h.ObjectType != TypePipeline ||
		h.HeaderVersion != 1 || h.SchemaVersion != 1 || h.Visibility != Private || h.Checksum != "" {
		t.Errorf("header %+v", h)
	}
	h.Tags["a"] = "b"
	if len(p.Header().Tags) != 0 {
		t.Error("the header is shared with its readers")
	}
	p.SetLimits(Limits{MaxFrames: 9})
	if p.Limits() != (Limits{MaxFrames: 9}) {
		t.Error("limits are lost")
	}
}
