package format

import (
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// All returns the built-in formatters, each with its default options. What FormatType returns
// is the name that a configuration, a request and the command line have for it.
func All() []core.Formatter {
	return []core.Formatter{Anthropic{}, OpenAI{}, Responses{}, Gemini{}, Generic{}}
}

// Named returns the built-in formatter of that name with its default options, and nil if
// there is none.
func Named(name string) core.Formatter {
	for _, f := range All() {
		if f.FormatType() == name {
			return f
		}
	}
	return nil
}

// Names returns the names of the built-in formatters.
func Names() []string {
	var names []string
	for _, f := range All() {
		names = append(names, f.FormatType())
	}
	return names
}
