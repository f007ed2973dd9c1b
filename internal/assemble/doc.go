// Package assemble turns a configuration or a build request into pipelines and provider
// chains with their plugins loaded.
//
//	g := assemble.Open(&loaded.Config, assemble.Options{PluginDir: "plugins"})
//	defer g.Close(context.Background())
//	recipe, err := g.Recipe(ctx, &loaded.Config)    // loads plugins, makes steps: once
//	assembly, err := recipe.Assembly(ctx, assemble.Build{Config: &loaded.Config})    // for each build
//	result, err := assembly.Build(ctx, pipeline.Query{Text: "how do contexts end?"})
//
// A [Generation] has the plugins of a configuration, each loaded once. A [Recipe] has the
// parts of its builds that may be plugins, and an [Assembly] is the pipeline of a build.
//
// A plugin that is missing or broken stops only what refers to it: its step
// fails as a call of the plugin would, so the step's policy decides, which is
// to skip unless the configuration says otherwise. A plugin whose instance is
// required stops everything.
//
// [ChainRecipe] makes the provider chains of an agent of the same configuration.
//
// [Validate] checks a configuration against the plugin folder without running
// anything.
package assemble
