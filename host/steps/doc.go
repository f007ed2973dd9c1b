// Package steps turns a plugin's operations into the interfaces of package pipeline.
//
//	p, err := h.Load(ctx, spec, host.PluginConfig{})
//	step, err := steps.New(p, abi.OpFilter, steps.Options{Step: "recent"})
//	built, err := pipeline.New(pipeline.Config{Steps: []pipeline.StepConfig{{Name: "recent", Priority: 20, Step: step}}})
//
// A guest is shown items and answers with changes. This package makes rows of the items
// that the guest may see and makes the changes to a copy of the list. What an answer may
// do is checked by package host before it comes here, where it also counts for the time
// and the memory of the call; see [host.Operation].
//
// What is made of a plugin is safe for concurrent use and lasts as long as the plugin.
// Calls fail with a *[host.PluginError].
package steps

// The files of this package, in the order to read them.
//
//	how an operation takes its place in a build    options, scope
//	what a guest is shown, and what it changes     rows, changes
//	steps and their parts                          step, parts, moduleinfo
//	the rest of a pipeline, and provider chains    output, provider
