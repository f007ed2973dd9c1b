package pdk

import "github.com/anchor-host/anchor-host/abi"

// The documents of the contract, in the package that an author imports anyway.
type (
	// Query is the question that a build collects context for: text, metadata, chat history,
	// embedding.
	Query = abi.Query
	// NewItem is an item that a plugin adds. Content is required. The host makes the id and
	// counts the tokens.
	NewItem = abi.NewItem
	// Metadata are named values: nil, bool, int64, float64, string, and []any and
	// map[string]any of such values. Handlers may also set other integers and floats.
	Metadata = abi.Metadata
	// Turn is one utterance of a conversation.
	Turn = abi.Turn
	// Message is one entry of the message list of an agent loop.
	Message = abi.Message
	// MessagePart is one piece of a message, for a plugin whose manifest reads message_parts.
	MessagePart = abi.MessagePart
	// MessageMedia describes an image, a document or an audio without its content.
	MessageMedia = abi.MessageMedia
	// AgentState is the state of an agent between its model calls.
	AgentState = abi.AgentState
	// StateChange names the parts of that state that a provider changes; nil parts stay.
	StateChange = abi.StateChange
	// Event is one event of a build, for package observe.
	Event = abi.Event
)
