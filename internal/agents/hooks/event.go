package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The clients that have hooks.
const (
	Claude  = "claude"
	Codex   = "codex"
	Copilot = "copilot"
)

// Clients lists the clients that have hooks.
var Clients = []string{Claude, Codex, Copilot}

// MaxBody is the maximum size of an event in bytes. A tool may have printed most of it.
const MaxBody = 64 << 20

// Kind says what happened. The zero value is an event that this package does not know.
type Kind string

// The kinds of events.
const (
	SessionStart  Kind = "session_start"
	Prompt        Kind = "prompt"
	ToolUsed      Kind = "tool_used"
	BeforeCompact Kind = "before_compact"
	AfterCompact  Kind = "after_compact"
	SubagentStart Kind = "subagent_start"
	SubagentStop  Kind = "subagent_stop"
	Stop          Kind = "stop"
	SessionEnd    Kind = "session_end"
)

// kinds are the names of events in all clients, in lower case without signs.
var kinds = map[string]Kind{
	"sessionstart": SessionStart, "userpromptsubmit": Prompt, "userpromptsubmitted": Prompt, "posttooluse": ToolUsed,
	"precompact": BeforeCompact, "postcompact": AfterCompact, "subagentstart": SubagentStart, "subagentstop": SubagentStop,
	"stop": Stop, "agentstop": Stop, "sessionend": SessionEnd,
}

// Event is an event of a session, in the same form for all clients. What a client does not say is empty.
type Event struct {
	// Client is one of [Clients], and Name what it calls the event.
	Client, Name string
	Kind         Kind
	// Session names the session, and Agent the subagent, if one is meant.
	Session, Agent string
	// Dir is the folder that the session works in.
	Dir string
	// Source says why a session started, such as resume.
	Source string
	// Prompt is what the user wrote.
	Prompt string
	// Reply is the last message of the agent.
	Reply string
	// Summary is what a compaction made of the conversation.
	Summary string
	// Tool is the name of a tool, and Result what it returned: any JSON value.
	Tool   string
	Result json.RawMessage
	// pascal says that the event has the form of Claude Code, which Copilot can have, too.
	pascal bool
}

// wire has the members of events that matter, under the names of all clients.
type wire struct {
	Name     string          `json:"hook_event_name"`
	Session  string          `json:"session_id"`
	Session2 string          `json:"sessionId"`
	Dir      string          `json:"cwd"`
	Source   string          `json:"source"`
	Prompt   string          `json:"prompt"`
	Reply    string          `json:"last_assistant_message"`
	Summary  string          `json:"compact_summary"`
	Agent    string          `json:"agent_id"`
	Tool     string          `json:"tool_name"`
	Tool2    string          `json:"toolName"`
	Result   json.RawMessage `json:"tool_response"`
	Result2  json.RawMessage `json:"toolResult"`
	Result3  json.RawMessage `json:"tool_result"`
}

// The bounds of names that come from a client, in bytes.
const maxName = 256

// Decode reads the event of a client. name is the name of the event for clients that do not say it in the document.
// Members that are unknown, missing or of another type than today are left out.
func Decode(client, name string, data []byte) (*Event, error) {
	if !slices.Contains(Clients, client) {
		return nil, fmt.Errorf("hook: unknown client %.40q (want %s)", client, strings.Join(Clients, ", "))
	}
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\xef\xbb\xbf"))
	if len(data) == 0 {
		return nil, errors.New("hook: the event is empty (want a JSON object on stdin)")
	}
	var w wire
	err := json.Unmarshal(data, &w)
	var wrong *json.UnmarshalTypeError
	if err != nil && (!errors.As(err, &wrong) || wrong.Field == "") {
		return nil, fmt.Errorf("hook: read the event: %w", err)
	}
	e := &Event{
		Client: client, Name: first(name, w.Name), Session: first(w.Session, w.Session2), Agent: w.Agent, Dir: w.Dir,
		Source: w.Source, Prompt: w.Prompt, Reply: w.Reply, Summary: w.Summary, Tool: first(w.Tool, w.Tool2),
		pascal: w.Name != "" || client != Copilot,
	}
	for _, result := range []json.RawMessage{w.Result, w.Result2, w.Result3} {
		if len(result) > 0 && e.Result == nil {
			e.Result = result
		}
	}
	for _, text := range []*string{&e.Name, &e.Session, &e.Agent, &e.Tool} {
		if len(*text) > maxName {
			return nil, fmt.Errorf("hook: read the event: a name of %d bytes (at most %d)", len(*text), maxName)
		}
	}
	e.Kind = kinds[strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(e.Name))]
	return e, nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
