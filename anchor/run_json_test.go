package anchor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// freeTexts are JSON of free form, and whether it may be stored.
var freeTexts = map[string]bool{
	`{"a":1,"b":[{"a":null}]}`: true, `123456789012345678901234567890`: true, `null`: true,
	`{"a":1,"a":2}`: false, `[{"b":{"c":1,"c":1}}]`: false, `nope`: false, `[`: false, `1 2`: false,
	strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990): false,
}

// What a run has stored it can read, export and import: what could not be read is refused
// before it is stored.
func TestRunStoresWhatItReads(t *testing.T) {
	for text, fine := range freeTexts {
		app, run := workRun(t)
		ctx := t.Context()
		raw := json.RawMessage(text)
		if _, err := run.Plan(ctx, []string{"a"}, "", false); err != nil {
			t.Fatal(err)
		}
		_, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "x", Data: raw}, agentrun.PushOptions{})
		accepts(t, text, "push", err, fine)
		for name, c := range map[string]agentrun.StepChange{"inputs": {Inputs: raw}, "outputs": {Outputs: raw}, "checks": {Checks: raw}} {
			_, err = run.ChangeStep(ctx, 1, c)
			accepts(t, text, name, err, fine)
		}
		var call pipeline.Message
		err = call.UnmarshalJSON([]byte(`{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"},"x":` + text + `}]}`))
		if err == nil {
			_, err = app.Assemble(ctx, []pipeline.Message{call, message.NewResult("1", "", "x")}, AssembleOptions{Run: "fix"})
		}
		accepts(t, text, "tool calls", err, fine)
		readable(t, text, app, run)
		copied := store.NewMemory()
		var b strings.Builder
		if err := store.Export(ctx, app.store, &b, store.DefaultTenant); err != nil {
			t.Fatal(err)
		}
		if _, err := store.ImportChecked(ctx, copied, strings.NewReader(b.String()), store.DefaultTenant, agentstore.Check); err != nil {
			t.Errorf("%.40q: import: %v", text, err)
		}
	}
}

func accepts(t *testing.T, text, what string, err error, fine bool) {
	t.Helper()
	if fine != (err == nil) {
		t.Errorf("%.40q: %s: %v", text, what, err)
	}
}

// readable reads a run in each way.
func readable(t *testing.T, text string, app *App, run *agentrun.Run) {
	t.Helper()
	ctx := t.Context()
	_, err := run.Frames(ctx, 0, 0)
	_, errPlans := run.Plans(ctx)
	_, errState := run.State(ctx)
	_, errPush := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "y"}, agentrun.PushOptions{})
	_, errBuild := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{})
	_, errAssemble := app.Assemble(ctx, []pipeline.Message{message.New(pipeline.RoleUser, "q")}, AssembleOptions{Run: "fix"})
	if err := errors.Join(err, errPlans, errState, errPush, errBuild, errAssemble); err != nil {
		t.Errorf("%.40q: %v", text, err)
	}
}

// Records of an older store name a member of free JSON twice: the last one counts. Elsewhere
// a member that is given twice is an error.
func TestRunReadsOlderRecords(t *testing.T) {
	app, run := workRun(t)
	ctx := t.Context()
	if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "x", Data: json.RawMessage(`{"a":1,"b":2}`)}, agentrun.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Plan(ctx, []string{"a"}, "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := run.ChangeStep(ctx, 1, agentrun.StepChange{Inputs: json.RawMessage(`{"a":1,"b":2}`)}); err != nil {
		t.Fatal(err)
	}
	calls := json.RawMessage(`[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"},"x":{"a":1,"b":2}}]`)
	if _, err := app.Assemble(ctx, []pipeline.Message{fromJSON(pipeline.RoleAssistant, `"content":"x","tool_calls":`+string(calls))}, AssembleOptions{Run: "fix"}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := store.Export(ctx, app.store, &b, store.DefaultTenant); err != nil {
		t.Fatal(err)
	}
	old := strings.ReplaceAll(b.String(), `"b":2}`, `"a":2}`)
	if strings.Count(old, `{"a":1,"a":2}`) != 3 {
		t.Fatal(old)
	}
	if _, err := run.Forget(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ImportChecked(ctx, app.store, strings.NewReader(old), store.DefaultTenant, agentstore.Check); err != nil {
		t.Fatal(err)
	}
	list, err := run.Frames(ctx, 0, 0)
	if err != nil || len(list) != 1 || string(list[0].Data) != `{"a":2}` {
		t.Errorf("frames %+v, %v", list, err)
	}
	plans, err := run.Plans(ctx)
	if err != nil || string(plans[0].Steps[0].Inputs) != `{"a":2}` {
		t.Errorf("plans %+v, %v", plans, err)
	}
	readable(t, "older", app, run)
	twice := strings.Replace(old, `"summary":"x"`, `"summary":"x","summary":"x"`, 1)
	if _, err := store.ImportChecked(ctx, store.NewMemory(), strings.NewReader(twice), "t", agentstore.Check); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("a summary twice: %v", err)
	}
}

// fromJSON reads a message with a role and other members, in JSON.
func fromJSON(role pipeline.Role, members string) (m pipeline.Message) {
	if err := m.UnmarshalJSON([]byte(`{"role":"` + string(role) + `",` + members + `}`)); err != nil {
		panic(err)
	}
	return m
}
