package request

// Setting is one thing that a caller can say of a build, under each of its names; a name is empty
// where there is none.
type Setting struct {
	// Field is the field of anchor.BuildOptions, Flag the flag of "anchor-host build", and
	// Member the member of a [Request].
	Field, Flag, Member string
	// Beside says why field and flag are refused beside a request. Empty: they are honoured.
	Beside string
}

// Why fields and flags are refused beside a request.
const (
	inRequest = "the request states it"
	brought   = "a request brings what is remembered itself"
)

// Settings are all of them.
var Settings = []Setting{
	{"", "", "query", inRequest},
	{"", "query-file", "", inRequest},
	{"Pipeline", "pipeline", "pipeline", inRequest},
	{"MaxTokens", "max-tokens", "max_tokens", inRequest},
	{"Tokenizer", "tokenizer", "tokenizer", inRequest},
	{"Model", "model", "model", inRequest},
	{"Fit", "fit", "fit", inRequest},
	{"FitOptions", "", "fit_options", inRequest},
	{"Fill", "fill", "fill", inRequest},
	{"Truncate", "truncate", "truncate", inRequest},
	{"Order", "order", "order", inRequest},
	{"Format", "format", "format", inRequest},
	{"FormatOptions", "", "format_options", inRequest},
	{"Formatter", "", "", inRequest},
	{"Preset", "preset", "", inRequest},
	{"Budget", "", "budget", inRequest},
	{"SystemPrompts", "", "system_prompts", inRequest},
	{"Conversation", "conversation", "", inRequest},
	{"Turns", "", "conversation", inRequest},
	{"Remember", "remember", "", inRequest},
	{"Items", "items", "items", inRequest},
	{"", "", "steps", inRequest},
	{"Only", "", "", inRequest},
	{"Skip", "", "", inRequest},
	{"Explain", "explain", "explain", inRequest},
	{"Tenant", "tenant", "", ""},
	{"Timeout", "timeout", "", ""},
	{"Previous", "previous", "", ""},
	{"Callbacks", "", "", ""},
	{"", "store", "", brought},
	{"", "request", "", ""},
	{"", "config", "", ""},
	{"", "plugins", "", ""},
	{"", "cache-dir", "", ""},
	{"", "log-level", "", ""},
	{"", "strict", "", ""},
	{"", "output", "", ""},
}

// RefusedFlag says why a flag of "anchor-host build" is refused beside a request, nothing
// for one that is honoured.
func RefusedFlag(flag string) string {
	for _, s := range Settings {
		if s.Flag == flag {
			return s.Beside
		}
	}
	return inRequest
}
