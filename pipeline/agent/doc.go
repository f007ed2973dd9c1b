// Package agent prepares the messages of an agent before each of its model calls. A [Chain]
// runs context providers over the list by ascending priority. Package providers has the
// built-in providers.
//
// The files, in the order to read them:
//
//	provider, provider_json       what a provider is, and the state of an agent
//	chain, chain_run, chain_plan  the chain and one run of it
//	chain_diagnostics             what a run reports
//	message_units                 tool calls with their results
//	message_count, message_texts  the tokens of messages
//
// A provider that returns an empty list from one that was not empty has failed, because nobody
// means to send nothing. A run that is cancelled keeps the changes of the providers before; the
// one that was running has no effect.
package agent
