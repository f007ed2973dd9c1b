// Package providers holds the built-in context providers of an agent loop. Each can be
// switched off. [New] makes a chain of them and of others:
//
//	chain, err := providers.New(providers.Config{
//		Extra:   []agent.Provider{account},
//		Enforce: true,
//	})
//	if err != nil {
//		return err
//	}
//	a, err := chain.Assemble(ctx, &state, state.Messages, agent.Budget{MaxTokens: 16000})
//
// # The built-in providers
//
// [Observing] (7) turns old messages into observations, and [Reflecting] (8) old
// observations into a reflection; both are off unless they are asked for. [Observation]
// (10) puts the observations and the reflection of the state before the conversation.
// [Compaction] (20) cuts large results and replaces old messages by a summary, unless there are observations,
// because both replace the same messages. [Truncation] (30) leaves out the oldest messages
// that do not fit. The gaps between the priorities are for providers of applications.
//
// # What lasts
//
// The list that a chain returns is for one model call. Observing, observation and
// compaction also write their change to the Messages of the state, so that the next call
// begins with it. Truncation never does, so that the messages that it leaves out are not
// lost. Messages of other providers are not written back. So a provider can add the same
// message before every call.
//
// The list given to a run should be the Messages of the state, or be made from them. When a
// provider has rewritten messages so that those of the state are no longer found in the
// list, or when the state holds none, the whole new list is written back.
//
// The message of the user to which the oldest message belongs stays with it: some APIs refuse a
// list that begins with the assistant, and an answer says little without its question. Both
// providers use the whole budget, but leave room in a list that goes on growing (see [Memory]), so
// that the beginning of the prompt stays the same and a model's cache holds.
package providers
