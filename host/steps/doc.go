// Package steps turns a plugin's operations into the interfaces of package pipeline.
//
//	p, err := h.Load(ctx, spec, host.PluginConfig{})
//	step, err := steps.New(p, abi.OpFilter, steps.Options{Step: "recent"})
//	built, err := pipeline.New(pipeline.Config{Steps: []pipeline.StepConfig{{Name: "recent", Priority: 20, Step: step}}})
//
// A guest receives items and answers with changes. This package makes rows of the items
// that the guest may see, and applies the changes to a copy of the list. Package host has
// checked by then what the answer may do, and has charged its time and memory to the call;
// see [host.Operation].
//
// All values that this package makes from a plugin are safe for concurrent use, and valid
// as long as the plugin. Their calls fail with a *[host.PluginError].
//
// Guest filters and rerankers see neither system prompts nor the conversation: a reranker with
// top_k 3 would otherwise drop the system prompt. No scope shows system prompts to a guest.
package steps

// The files of this package, in the order to read them.
//
//	how an operation takes its place in a build    options, scope
//	what a guest is shown, and what it changes     rows, changes
//	steps and their parts                          step, parts, moduleinfo
//	the rest of a pipeline, and provider chains    output, provider, messageparts
