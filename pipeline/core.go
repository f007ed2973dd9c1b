package pipeline

import "github.com/anchor-host/anchor-host/pipeline/core"

// The documents of a build and their parts. They are those of package core, which formats and strategies
// share with this package: "go doc pipeline/core.Item" shows the fields of an item, and so on.
type (
	// Item is one piece of context. Its fields: go doc pipeline/core.Item
	Item = core.Item
	// Source says where an item comes from. Its methods: go doc pipeline/core.Source
	Source = core.Source
	// Query is the question that a build collects context for. Its fields: go doc pipeline/core.Query
	Query = core.Query
	// Turn is one utterance of a conversation. Its fields: go doc pipeline/core.Turn
	Turn = core.Turn
	// Role is the speaker of a turn or message. Its values: RoleUser and others
	Role = core.Role
	// Message is one entry of the message list that is sent to a model. Its fields: go doc pipeline/message.Message
	Message = core.Message
	// Window is a list of items within a number of tokens. Its fields: go doc pipeline/core.Window
	Window = core.Window
	// OverflowItem is an item that is not in the window. Its fields: go doc pipeline/core.OverflowItem
	OverflowItem = core.OverflowItem
	// OverflowReason says why an item is not in the window. Its values: OverflowWindow and others
	OverflowReason = core.OverflowReason
	// Tokenizer counts the tokens of a text as the models of one family do. Its methods: go doc pipeline/core.Tokenizer
	Tokenizer = core.Tokenizer
	// Formatter turns a filled window into the document that a model API takes. Its methods: go doc
	// pipeline/core.Formatter
	Formatter = core.Formatter
	// Formatted is the output of a formatter together with its type. A formatter returns it
	// if it learns the type only when it makes the output. Its fields: go doc pipeline/core.Formatted
	Formatted = core.Formatted
	// PanicError is a panic of a step, provider, formatter or callback. Its fields: go doc pipeline/core.PanicError
	PanicError = core.PanicError
)

// The six sources.
const (
	SourceRetrieval    = core.SourceRetrieval
	SourceMemory       = core.SourceMemory
	SourceSystem       = core.SourceSystem
	SourceUser         = core.SourceUser
	SourceTool         = core.SourceTool
	SourceConversation = core.SourceConversation
)

// The roles. Turns have the first four. Messages may also have RoleDeveloper, the role of
// instructions from the developer of an agent.
const (
	RoleUser      = core.RoleUser
	RoleAssistant = core.RoleAssistant
	RoleSystem    = core.RoleSystem
	RoleTool      = core.RoleTool
	RoleDeveloper = core.RoleDeveloper
)

// The reasons why an item is not in the window; see package core.
const (
	OverflowWindow        = core.OverflowWindow
	OverflowMinimums      = core.OverflowMinimums
	OverflowSourceCap     = core.OverflowSourceCap
	OverflowSourceDropped = core.OverflowSourceDropped
	OverflowSharedPool    = core.OverflowSharedPool
)

// The bounds and the default of an item's priority, and the size of a window whose
// configuration sets none.
const (
	MinPriority         = core.MinPriority
	MaxPriority         = core.MaxPriority
	DefaultItemPriority = core.DefaultItemPriority
	DefaultMaxTokens    = core.DefaultMaxTokens
)

// Sources lists the six sources in a fixed order.
var Sources = core.Sources
