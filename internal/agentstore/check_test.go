package agentstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// An import takes what can be read again, and names the line of what cannot.
func TestCheck(t *testing.T) {
	const uuid, at = `"0199a7c2-7d1e-7b52-9f5e-2b0c3f6a1d11"`, `"2030-01-02T15:04:05Z"`
	frame := `{"frame_id":%d,"kind":"checkpoint","summary":"s","created_at":` + at + `}`
	by := frames.Actor{Kind: frames.Human, ID: "ada"}
	intent, err := frames.NewIntent(by, "p", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := frames.NewPlan(by, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	long, err := frames.NewPlan(by, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	long.Steps = slices.Repeat([]frames.PlanStep{frames.NewStep("s", time.Time{})}, agentstore.MaxSteps+1)
	wordy, err := frames.NewIntent(by, strings.Repeat("p", agentstore.MaxIntent+1), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{`{"kind":"plan","stream":"r","id":"` + long.ObjectID.String() + `","data":` + toJSON(t, long) + `}`, "1001 steps (want at most 1000)"},
		{`{"kind":"intent","stream":"r","id":"` + wordy.ObjectID.String() + `","data":` + toJSON(t, wordy) + `}`, "1048577 bytes (want at most 1048576"},
		{`{"kind":"fact","data":{"content":"x"}}`, ""},
		{`{"kind":"turn","stream":"c","data":{"role":"user","content":"x"}}`, ""},
		{`{"kind":"turn","stream":"c","id":"#7","seq":7,"data":{"role":"user","content":"x","token_count":1}}`, ""},
		{`{"kind":"digest","stream":"c","id":"digest","data":{"text":"x","count":1,"through":4,"kept":[2]}}`, ""},
		{`{"kind":"relation","id":"` + memory.RelationID(&memory.Relation{Source: "a", Fact: "f"}) + `","data":{"source":"a","fact":"f"}}`, ""},
		{`{"kind":"relation","id":"x","data":{"source":"a","fact":"f"}}`, "id"},
		{`{"kind":"relation","data":{"source":"a"}}`, "relation"},
		{`{"kind":"relation","stream":"s","data":{"source":"a","fact":"f"}}`, "stream"},
		{`{"kind":"promoted","stream":"c","id":"promoted","data":{"through":4}}`, ""},
		{`{"kind":"promoted","stream":"c","data":{"through":4}}`, "id"},
		{`{"kind":"promoted","stream":"c","id":"promoted","data":{"through":-1}}`, "through"},
		{`{"kind":"promoted","stream":"c","id":"promoted","data":{"to":1}}`, "to"},
		{`{"kind":"state","stream":"r","data":{"reflection":"x"}}`, ""},
		{`{"kind":"frame","stream":"r","id":"3","seq":4,"data":` + fmt.Sprintf(frame, 3) + `}`, ""},
		{`{"kind":"turn","stream":"c","last":7}`, ""},
		{`{"kind":"fact","data":{}}`, "fact"},
		{`{"kind":"fact","data":[]}`, "fact"},
		{`{"kind":"fact","stream":"c","data":{"content":"x"}}`, "stream"},
		{`{"kind":"facts","data":{"content":"x"}}`, "want one of build, build_detail, cost, cut, digest, fact, frame, intent, kv, note, order, owner, plan, promoted, relation, run, snapshot, state, turn"},
		{`{"kind":"turn","data":{"role":"user","content":"x"}}`, "stream"},
		{`{"kind":"turn","stream":"c","data":{"role":"king","content":"x"}}`, "role"},
		{`{"kind":"turn","stream":"c","data":{"role":"user","content":"x","token_count":-1}}`, "token_count"},
		{`{"kind":"turn","stream":"c","data":{"role":"user","text":"x"}}`, "text"},
		{`{"kind":"turn","stream":"c","data":null}`, "object"},
		{`{"kind":"turn","stream":"c","id":"x","data":{"role":"user","content":"x"}}`, "id"},
		{`{"kind":"turn","stream":"c","seq":4294967295,"data":{"role":"user","content":"x"}}`, "seq"},
		{`{"kind":"turn","stream":"c","last":4294967295}`, "seq"},
		{`{"kind":"turn","stream":"c","last":0}`, "last"},
		{`{"kind":"turn","stream":"c","last":5,"data":1}`, "last"},
		{`{"kind":"digest","stream":"c","id":"other","data":{"through":4}}`, "id"},
		{`{"kind":"digest","stream":"c","id":"digest","data":{"through":-1}}`, "through"},
		{`{"kind":"digest","stream":"c","id":"digest","data":{"through":4294967295}}`, "through"},
		{`{"kind":"digest","stream":"c","id":"digest","data":{"through":4,"kept":[5]}}`, "kept"},
		{`{"kind":"state","stream":"r","data":{"nonsense":1}}`, "nonsense"},
		{`{"kind":"frame","stream":"r","id":"x","data":` + fmt.Sprintf(frame, 3) + `}`, "id"},
		{`{"kind":"frame","stream":"r","id":"3","seq":3,"data":` + fmt.Sprintf(frame, 3) + `}`, "seq 3"},
		{`{"kind":"frame","stream":"r","id":"3","data":` + fmt.Sprintf(frame, 3) + `}`, "seq 0"},
		{`{"kind":"intent","stream":"r","id":"other","data":` + toJSON(t, intent) + `}`, "want \"" + intent.ObjectID.String()},
		{`{"kind":"intent","stream":"r","id":"` + intent.ObjectID.String() + `","data":` + toJSON(t, intent) + `}`, ""},
		{`{"kind":"plan","stream":"r","id":"other","data":` + toJSON(t, plan) + `}`, "want \"" + plan.ObjectID.String()},
		{`{"kind":"plan","stream":"r","id":"` + plan.ObjectID.String() + `","data":` + toJSON(t, plan) + `}`, ""},
		{`{"kind":"plan","stream":"r","id":"x","data":{"steps":7}}`, "plan"},
		{`{"kind":"snapshot","stream":"r","data":` + toJSON(t, frames.TakeSnapshot(nil, "l", time.Time{})) + `}`, ""},
		{`{"kind":"snapshot","stream":"r","id":"x","data":` + toJSON(t, frames.TakeSnapshot(nil, "l", time.Time{})) + `}`, "want # and its number"},
		{`{"kind":"snapshot","stream":"r","data":{"label":"l"}}`, "missing"},
		{`{"kind":"cost","id":"2026-11-28","data":{"lines":[{"key":"k","model":"m","calls":1,"usd":0.5}]}}`, ""},
		{`{"kind":"cost","id":"today","data":{"lines":[]}}`, "want a day"},
		{`{"kind":"cost","stream":"r","id":"2026-11-28","data":{"lines":[]}}`, "have none"},
		{`{"kind":"cost","id":"2026-11-28","data":{"lines":[{"key":"k","model":"m","usd":-5}]}}`, "no number below 0"},
		{`{"kind":"run","stream":"r","id":"pipeline","data":{"object_id":` + uuid + `}}`, "run"},
	} {
		_, err := store.ImportChecked(t.Context(), store.NewMemory(), strings.NewReader("\n"+tt.line), "t", agentstore.Check)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.line, err)
		case tt.want != "" && (!errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.line, err, tt.want)
		}
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
