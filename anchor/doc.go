// Package anchor is the front door for programs that embed anchor-host: anchor.yaml in,
// context windows out.
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
// One [App] serves any number of tenants and conversations at the same time. Plugins are
// loaded once, and steps are made once; what is different in one build is in its options.
package anchor
