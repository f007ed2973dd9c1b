// Package pipeline builds token-budgeted context windows for language models.
//
// A [Pipeline] takes a [Query] through eight stages (query, system prompts, memory,
// enrichment, steps, counting, filling, format) and needs no plugin host: every stage
// has a native Go form, and a plugin is just another [Step].
//
//	p, err := pipeline.New(pipeline.Config{
//		MaxTokens:     4000,
//		SystemPrompts: []pipeline.SystemPrompt{{Content: "Answer from the documents."}},
//		Steps: []pipeline.StepConfig{
//			{Name: "search", Step: pipeline.RetrieverStep(index, 20)},
//			{Name: "fresh", Priority: 60, OnError: pipeline.Skip, Step: pipeline.FilterFunc(isRecent)},
//		},
//		Formatter: format.Anthropic{},
//	})
//	if err != nil {
//		return err
//	}
//	result, err := p.Build(ctx, pipeline.Query{Text: "how do contexts end?"})
//
// build.go shows one build from top to bottom.
//
// # What a step may do
//
// Items are values. The list that a step returns replaces the list of the build. A step
// that fails has no effect: under [Skip] the items are exactly those from before the step,
// whatever it did to the slice and the maps that it received. To guarantee this, the build
// passes deep copies to steps whose policy or timeout requires it. A step that is marked
// [Isolated] promises to need none.
//
// # What fits
//
// By default the token counts of the items must fit into the window, and items are tried in
// the order of their priority and score. With Config.Fit the build counts the formatted
// output instead. Package fill describes this and the other rules of a window: strategies,
// budgets, cuts and orders.
//
// # Errors
//
// Every failed build returns a [*BuildError] with the [Diagnostics] gathered until then.
// Steps, memory providers, enrichers, tokenizers, formatters and callbacks may panic; the
// build treats a panic as an error ([ErrPanic]). When the context of a build ends, the
// build ends, whatever the policies say.
//
// # Other parts
//
// Package core defines the items, queries and windows of a build, with their methods.
// Package format writes windows for model APIs. Package explain defines what Config.Explain
// records of each item, and package promptcache compares the prompts of two builds. Package
// memory has a conversation that forgets its oldest turns, or condenses them with a
// [Compactor]. Package agent edits the message list of an agent loop before each model call.
// [Fuse], [Hybrid] and [RoundRobin] merge result lists. This
// package needs a 64-bit platform.
package pipeline

import _ "github.com/anchor-host/anchor-host/internal/only64"
