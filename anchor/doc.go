// Package anchor is the main entry point for Go programs that embed anchor-host. It loads
// anchor.yaml and builds context windows.
//
//	app, err := anchor.Load("anchor.yaml", anchor.Options{})
//	if err != nil {
//		return err
//	}
//	defer app.Close(context.Background())
//	result, err := app.Build(ctx, pipeline.Query{Text: "how do contexts end?"}, anchor.BuildOptions{
//		Tenant: "acme", Conversation: "chat-7", Remember: true,
//	})
//
// One [App] serves any number of tenants and conversations at the same time. Plugins are loaded
// once, and steps are made once. Options change single builds. An App can do what the commands
// build, assemble, memory, frames and eval of anchor-host do:
//
//   - [App.Build] and [App.BuildRequest] build context windows. [App.Assemble] prepares the
//     messages of an agent.
//   - [App.Facts], [App.Conversation] and [App.Run] are what the store keeps of a tenant.
//     [App.Export], [App.Import] and [App.ForgetTenant] take all of it.
//   - [App.Evaluate] measures retrieval, and compares two configurations.
//   - [Options.Components] adds retrievers and other parts in Go. [LoadBytes] and [LoadFS] take a
//     configuration that is in no file.
//   - [App.Plugins] says which plugins are ready. [App.Reload] reads the file again while
//     builds go on.
//
// The other commands, such as doctor, explain, init and those of plugin, exist on the command
// line only.
//
// Several Apps, in one process or in several processes, may share a store.
package anchor
