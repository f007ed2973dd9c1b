// Package pipeline builds token-budgeted context windows for language models.
//
// A [Pipeline] takes a [Query] through six stages (system prompts, memory,
// steps, window, format, result) and needs no plugin host: every stage has a
// native Go form, and a plugin is just another [Step].
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
// Items are values, and a step returns the list that counts from then on. A step
// that fails has no effect: under [Skip] the items are exactly those from before
// it, whatever it did to the slice and the maps it was given. To be sure of that,
// the build hands out deep copies where a policy or a timeout asks for them; a
// step that is marked [Isolated] promises to need none.
//
// # What fits
//
// By default the counts of the items must fit: the first that fit, by priority and
// score. Config.Fit has the formatted output counted instead. Package fill has this and
// the other rules of a window: strategies, budgets, cuts and orders.
//
// # Errors
//
// Every failed build returns a [*BuildError] with the [Diagnostics] gathered
// until then. Steps, memory providers, enrichers, tokenizers, formatters and
// callbacks may panic; that is an error like another ([ErrPanic]). When the
// context of the build ends, the build ends, whatever the policies say.
//
// # Other parts
//
// The items, queries and windows of a build are those of package core, which has their
// methods. Package format writes windows for model APIs. Package explain has what
// Config.Explain records of each item, package promptcache compares the prompts of two
// builds. Package memory has a conversation that forgets its oldest turns, or condenses
// them with a [Compactor]. Package agent edits the message list of an agent loop before
// each model call. [Fuse], [Hybrid] and [RoundRobin] merge result lists. Package tokens
// counts tokens. The package needs a 64-bit platform.
package pipeline

import _ "github.com/anchor-host/anchor-host/internal/only64"
