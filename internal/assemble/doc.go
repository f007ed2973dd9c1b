// Package assemble turns a configuration or a build request into a pipeline or
// a provider chain with its plugins loaded.
//
//	a, err := assemble.New(ctx, &loaded.Config, assemble.Options{PluginDir: "plugins"})
//	if err != nil {
//		return err
//	}
//	defer a.Close(context.Background())
//	result, err := a.Build(ctx, pipeline.Query{Text: "how do contexts end?"})
//
// A plugin that is missing or broken stops only what refers to it: its step
// fails as a call of the plugin would, so the step's policy decides, which is
// to skip unless the configuration says otherwise. A plugin whose instance is
// required stops everything.
//
// [NewChain] makes the provider chain of an agent of the same configuration.
//
// [Validate] checks a configuration against the plugin folder without running
// anything.
package assemble
