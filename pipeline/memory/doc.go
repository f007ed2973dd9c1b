// Package memory keeps what a program remembers besides the documents that it searches: a
// conversation, and facts that outlive the conversation.
//
// A [Manager] has both. It is a [pipeline.MemoryProvider]:
//
//	m, err := memory.New(memory.Config{
//		Facts: memory.NewFacts(),  // or memory.NewStoreFacts(s, tenant)
//		Log:   conversation.NewLog(s, tenant, conversationID),
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
// An [Entry] is one fact. The manager adds, updates, searches
// and deletes entries, and recognizes content that is stored already. [Facts] only keeps
// the entries, in memory or in a store. A fact belongs to a user and a session, or to
// nobody. Facts of different owners are never treated as the same fact.
//
// Facts are forgotten in three ways: they expire, [Manager.Delete] and [Manager.Forget]
// delete them, and a [Collector] deletes those that have decayed ([Ebbinghaus], [Linear]).
// [Manager.Touch] notes that facts were used, and [Manager.Edit] changes one.
//
// # The conversation
//
// The conversation is a [conversation.SlidingWindow]. A [conversation.Log] keeps all of its
// turns, and restores the window when a program starts again. Turns can become facts: an
// [Extractor] takes facts from turns, and a [Consolidator] compares them with the stored
// ones. [Manager.PromoteLog] does this for the turns that a log has received since the last
// time. [Manager.Consolidate] merges, shortens and removes stored facts.
//
// # Locks
//
// Callbacks, extractors and embedders may read the memory while they run. A consolidator
// and an embedder must not write to the manager that calls them.
//
// Facts are taken from the log and not from the turns that leave the window: adding a turn then
// waits for no model, and a failure loses nothing. Two processes may both read the same turns;
// equal facts are stored once.
package memory
