// Package conversation keeps the turns of a conversation within a number of tokens.
//
// A [SlidingWindow] has the newest turns, and a summary of those that have left. It is a
// [pipeline.MemoryProvider]. A [Log] keeps all turns in a store, and restores the window when a
// program starts again.
//
// A compactor condenses the oldest turns in the background: nobody who adds or reads turns waits
// for it. [Compactions] coordinates those of many conversations.
package conversation
