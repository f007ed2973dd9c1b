// Package assemble compiles a configuration into pipelines and provider chains with their plugins loaded.
//
//	g, err := assemble.Open(loaded, assemble.Options{})
//	defer g.Close(context.Background())
//	p, err := g.Pipeline(ctx, "")    // loads plugins, makes steps: once
//	built, err := p.Build(ctx, pipeline.Query{Text: "how do contexts end?"}, &assemble.Overrides{Config: &loaded.Config})
//
// A [Generation] has the plugins of a configuration, each loaded once, and its compiled parts. A [Pipeline]
// is what all builds of a named pipeline share, and [Overrides] what a build has in its place. An [Agent]
// makes the provider chains for agents.
//
// A missing or broken plugin affects only the steps that use it. Such a step fails as if a call
// of the plugin had failed, and is skipped. If the plugin must answer, compiling the pipeline fails.
//
// [Validate] checks a configuration against the plugin folder without running
// anything.
package assemble
