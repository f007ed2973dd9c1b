// Package agentstore keeps agent runs in a store: the frames of a run, the state that
// its provider chain works on, and its intents, plans and snapshots.
//
//	s, err := agentstore.Open(ctx, "", "full")
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	run := agentstore.Run{Store: s, Tenant: "default", ID: "run-1"}
//	state, err := run.Load(ctx)
//
// Conversations and facts are kept by package memory, under kinds of their own.
package agentstore
