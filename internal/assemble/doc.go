// Package assemble turns a configuration or a build request into pipelines and provider
// chains with their plugins loaded.
//
//	g := assemble.Open(&loaded.Config, assemble.Options{PluginDir: "plugins"})
//	defer g.Close(context.Background())
//	recipe, err := g.Recipe(ctx, &loaded.Config)    // loads plugins, makes steps: once
//	assembly, err := recipe.Assembly(ctx, assemble.Build{Config: &loaded.Config})    // for each build
//	result, err := assembly.Build(ctx, pipeline.Query{Text: "how do contexts end?"})
//
// A [Generation] has the plugins of a configuration, each loaded once. A [Recipe] has the parts
// that all its builds share. An [Assembly] is the pipeline of a build.
//
// A missing or broken plugin affects only the steps that use it. Such a step fails as if a call
// of the plugin had failed, and is skipped. If the plugin must answer, making the recipe fails.
//
// A [ChainRecipe] makes the provider chains for the agents of a configuration.
//
// [Validate] checks a configuration against the plugin folder without running
// anything.
package assemble
