package request

// Setting is one option of a build with its name in each interface. An empty name means that the
// interface does not have it.
type Setting struct {
	// Field is the field of anchor.BuildOptions, Flag the flag of "anchor-host build", and
	// Member the path in a [Request].
	Field, Flag, Member string
	// Beside says why the field and the flag cannot be combined with a request. Empty: they can.
	Beside string
	// NoFlag says why there is no flag. Empty: there is one.
	NoFlag string
}

// inRequest says why fields and flags cannot be combined with a request.
const inRequest = "the request states it"

// Why a setting has no flag.
const (
	inFile = "anchor.yaml and requests state it"
	inSet  = "--set states it"
	code   = "it is Go code"
)

// Settings are all options of a build.
var Settings = []Setting{
	{"", "", "query", inRequest, "it is the argument"},
	{"", "query-file", "", inRequest, ""},
	{"", "set", "", inRequest, ""},
	{"Pipeline", "pipeline", "pipeline", inRequest, ""},
	{"MaxTokens", "max-tokens", "window.max_tokens", inRequest, ""},
	{"Tokenizer", "", "counting.tokenizer", inRequest, inSet},
	{"Model", "model", "counting.model", inRequest, ""},
	{"Fit", "", "window.fit", inRequest, inSet},
	{"FitOptions", "", "window.message_overhead", inRequest, inFile},
	{"", "", "window.priming", inRequest, inFile},
	{"", "", "window.tools_text", inRequest, inFile},
	{"", "", "window.cut_min_tokens", inRequest, inFile},
	{"", "", "window.answer", inRequest, inFile},
	{"Fill", "", "window.fill", inRequest, inSet},
	{"Truncate", "", "window.truncate", inRequest, inSet},
	{"Order", "", "window.order", inRequest, inSet},
	{"Tools", "", "window.tools", inRequest, inFile},
	{"IncludeQuery", "", "window.include_query", inRequest, inSet},
	{"Format", "format", "format", inRequest, ""},
	{"FormatOptions", "", "format_options", inRequest, inFile},
	{"Formatter", "", "", inRequest, code},
	{"Preset", "", "", inRequest, inSet},
	{"Budget", "", "window.budget", inRequest, inFile},
	{"SystemPrompts", "", "window.system_prompts", inRequest, inFile},
	{"Conversation", "conversation", "", "", ""},
	{"Turns", "", "conversation", inRequest, inFile},
	{"Remember", "remember", "", "", ""},
	{"Items", "items", "items", inRequest, ""},
	{"", "", "steps", inRequest, inFile},
	{"Only", "only-steps", "", "", ""},
	{"Skip", "skip-steps", "", "", ""},
	{"AllowPartial", "allow-partial", "allow_partial", inRequest, ""},
	{"Explain", "explain", "explain", inRequest, ""},
	{"Tenant", "tenant", "", "", ""},
	{"User", "user", "", "", ""},
	{"Session", "session", "", "", ""},
	{"Timeout", "timeout", "", "", ""},
	{"Previous", "previous", "", "", ""},
	{"Callbacks", "", "", "", code},
	{"ID", "", "", "", code},
	{"Key", "", "", "", code},
	{"RequestID", "", "", "", code},
	{"", "store", "", "", ""},
	{"", "request", "", "", ""},
	{"", "config", "", "", ""},
	{"", "plugins", "", "", ""},
	{"", "cache-dir", "", "", ""},
	{"", "log-level", "", "", ""},
	{"", "strict", "", "", ""},
	{"", "record", "", "", ""},
	{"", "output", "", "", ""},
}

// RefusedFlag says why a flag of "anchor-host build" cannot be combined with a request. It
// returns "" if it can.
func RefusedFlag(flag string) string {
	for _, s := range Settings {
		if s.Flag == flag {
			return s.Beside
		}
	}
	return inRequest
}
