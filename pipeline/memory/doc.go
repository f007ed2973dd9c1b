// Package memory is what a program remembers beside the documents it searches: a
// conversation, and facts that outlive it.
//
// A [Manager] has both and is a [pipeline.MemoryProvider]:
//
//	m, err := memory.New(memory.Config{
//		Facts: memory.NewFacts(),  // or memory.NewStoreFacts(s, tenant)
//		Log:   memory.NewLog(s, tenant, conversationID),
//	})
//	if err != nil {
//		return err
//	}
//	if err := m.Load(ctx); err != nil {
//		return err
//	}
//	_, _, err = m.Add(ctx, memory.Entry{Content: "Prefers tea.", UserID: "ann"})
//	…
//	p, err := pipeline.New(pipeline.Config{Memory: m})
//
// # Facts
//
// An [Entry] is one fact; its JSON is that of the seed. The manager adds, updates,
// searches and deletes entries and recognizes content it knows; [Facts] only keeps
// them, in memory or in a store. A fact belongs to a user and a session, or to
// nobody: facts of different owners are never taken for one another.
//
// Facts are forgotten in three ways: they expire, [Manager.Delete] and
// [Manager.Forget] delete them, and a [Collector] takes those that have decayed
// ([Ebbinghaus], [Linear]). [Manager.Touch] notes that facts were used,
// and [Manager.Edit] changes one.
//
// # The conversation
//
// The conversation is a [SlidingWindow]; a [Log] keeps all of its turns,
// and puts the window back to where it was. Turns can become facts: an [Extractor] takes
// them from the turns, a [Consolidator] compares them with those that exist.
// [Manager.PromoteLog] does so for what was added to a log since the last time, and
// [Manager.Consolidate] puts the facts in order.
//
// # Locks
//
// Callbacks, extractors and embedders are called so that they may read the memory. A
// consolidator and an embedder must not write to the manager that calls them.
package memory
