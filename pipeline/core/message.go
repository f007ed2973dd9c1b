package core

import "github.com/anchor-host/anchor-host/pipeline/message"

// The types of messages. Package message describes them.
type (
	// Message is one message of a list for a model.
	Message = message.Message
	// Role is the author of a turn or message.
	Role = message.Role
)

// The roles. RoleDeveloper is the name of some APIs for the role of system instructions. Only
// a message has it.
const (
	RoleUser      = message.RoleUser
	RoleAssistant = message.RoleAssistant
	RoleSystem    = message.RoleSystem
	RoleTool      = message.RoleTool
	RoleDeveloper = message.RoleDeveloper
)

// DefaultMessageOverhead is the number of tokens that a message takes besides its texts.
// Models of the OpenAI family use so many for the role and the separators.
const DefaultMessageOverhead = 3
