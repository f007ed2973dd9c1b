package frames_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

var (
	ctx   = context.Background()
	actor = frames.Actor{Kind: frames.Agent, ID: "planner"}
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A window of three frames forgets the oldest one that is not protected. The log
// forgets none.
func ExamplePipeline() {
	p := must(frames.New(ctx, actor, frames.Config{Limits: frames.Limits{MaxFrames: 3}}))
	for _, f := range []frames.Frame{
		{Kind: frames.Checkpoint, Summary: "tests are green"},
		{Kind: frames.StepSummary, Summary: "auth module read"},
		{Kind: frames.CodeChange, Summary: "auth.go +42 -15"},
		{Kind: frames.ToolCall, Summary: "go test: ok"},
	} {
		must(p.Push(ctx, f))
	}
	for _, f := range p.Window().Frames {
		fmt.Println(f.ID, f.Kind, "-", f.Summary)
	}
	fmt.Println("recalled:", must(p.Recall(ctx, 1))[0].Summary)
	// Output:
	// 0 checkpoint - tests are green
	// 2 code_change - auth.go +42 -15
	// 3 tool_call - go test: ok
	// recalled: auth module read
}

// From a request to a plan, and to the plan that replaces it.
func ExamplePlan() {
	in := must(frames.NewIntent(frames.Actor{Kind: frames.Human, ID: "ada"}, "Add pagination", noon))
	p := must(frames.New(ctx, actor, frames.Config{}))
	must(p.Push(ctx, must(in.Analyze("limit and offset for GET /users", noon))))

	plan := must(frames.NewPlan(actor, noon))
	plan.See(p.Window())
	step := frames.NewStep("read the handler", noon)
	step.Consume(0)
	step.Produce(must(p.Push(ctx, frames.Frame{Kind: frames.ErrorRecovery, Summary: "there is no handler"})))
	if err := step.Advance(frames.StepFailed, "no handler", noon); err != nil {
		log.Fatal(err)
	}
	plan.Steps = append(plan.Steps, step)

	next := must(plan.NewRevision(actor, noon))
	next.See(p.Window())
	in.Plan = next.ObjectID
	fmt.Println("first plan saw", *plan.FWindow, plan.ContextFrames)
	fmt.Println("second plan saw", *next.FWindow, next.ContextFrames)
	fmt.Println("second replaces first:", next.Previous == plan.ObjectID)
	fmt.Println("steps produced", plan.Steps[0].OFrames, plan.Steps[0].Status())
	// Output:
	// first plan saw {0 1} [0]
	// second plan saw {0 2} [0 1]
	// second replaces first: true
	// steps produced [1] failed
}

// A document is what a store keeps, and what the seed reads and writes.
func ExampleDocument() {
	var d frames.Document
	err := json.Unmarshal([]byte(`{
		"object_id": "0198f000-0000-7000-8000-000000000001", "object_type": "context_pipeline",
		"schema_version": 1, "created_at": "2026-01-01T12:00:00Z",
		"created_by": {"kind": "agent", "id": "planner"}, "visibility": "private",
		"frames": [{"frame_id": 4, "kind": {"other": "audit"}, "summary": "looked through", "created_at": "2026-01-01T12:00:01Z"}]
	}`), &d)
	if err != nil {
		log.Fatal(err)
	}
	p := must(frames.Restore(ctx, d, frames.Config{}))
	fmt.Println("next id:", p.NextFrameID())
	fmt.Println(string(must(json.Marshal(p.Window().Frames))))
	// Output:
	// next id: 5
	// [{"frame_id":4,"kind":{"other":"audit"},"summary":"looked through","created_at":"2026-01-01T12:00:01Z"}]
}

// The window follows from the log: a pipeline that has only its header and the log
// comes back as it was.
func ExampleMemoryLog() {
	var store frames.MemoryLog
	p := must(frames.New(ctx, actor, frames.Config{Log: &store, Limits: frames.Limits{MaxTokens: 100}}))
	header := frames.Document{Header: p.Header(), Limits: p.Limits()}
	for _, tokens := range []uint64{60, 30, 20} {
		must(p.Push(ctx, frames.Frame{Kind: frames.ToolCall, TokenEstimate: frames.Tokens(tokens)}))
	}
	again := must(frames.Restore(ctx, header, frames.Config{Log: &store}))
	fmt.Println("window:", again.Window().IDs(), "tokens:", again.TotalTokenEstimate(), "log:", store.Len())
	// Output: window: [1 2] tokens: 50 log: 3
}

// Frames as the memory of a build.
func ExampleFrameMemory() {
	p := must(frames.New(ctx, actor, frames.Config{Now: func() time.Time { return noon }}))
	must(p.Push(ctx, frames.Frame{Kind: frames.Checkpoint, Summary: "tests are green"}))
	must(p.Push(ctx, frames.Frame{Kind: frames.CodeChange, Summary: "auth.go +42 -15"}))
	build := must(pipeline.New(pipeline.Config{
		Memory: must(frames.NewFrameMemory(p, frames.MemoryConfig{})), Tokenizer: pipeline.WordTokenizer(), Formatter: format.Generic{},
	}))
	fmt.Println(must(build.Build(ctx, pipeline.Query{Text: "what next?"})).Output)
	// Output:
	// === MEMORY ===
	// [checkpoint] tests are green
	// [code_change] auth.go +42 -15
}

// Frames as observations of an agent loop.
func ExampleFrameMemory_Apply() {
	p := must(frames.New(ctx, actor, frames.Config{}))
	must(p.Push(ctx, frames.Frame{Kind: frames.StepSummary, Summary: "auth module read"}))
	chain := must(agent.NewChain(agent.Config{Providers: []agent.Provider{must(frames.NewFrameMemory(p, frames.MemoryConfig{}))}}))
	state := &agent.State{}
	must(chain.Run(ctx, state, []pipeline.Message{message.New(pipeline.RoleUser, "go on")}, agent.Budget{}))
	fmt.Println(state.Observations)
	// Output: [[frame 0 step_summary] auth module read]
}
