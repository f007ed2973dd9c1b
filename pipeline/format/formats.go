package format

import (
	"cmp"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Options are what a configuration says of the built-in formats.
type Options struct {
	// Params are what the body states besides the window.
	Params Params
	// Demanded is the number of tokens of the answer for an API that demands one. 0: that of Params.
	Demanded int
	// Caching, Breakpoints and CacheModel are Caching, Breakpoints and Model of [Anthropic]. Without
	// Caching there are no breakpoints.
	Caching                 bool
	Breakpoints, CacheModel string
	// Cite is that of [Anthropic]. Other APIs have no blocks that a model can cite.
	Cite bool
}

// builtins make the built-in formatters. What FormatType returns is the name that a configuration, a
// request and the command line have for one.
var builtins = []func(Options) core.Formatter{
	newAnthropic,
	func(o Options) core.Formatter { return OpenAI{Params: o.Params} },
	func(o Options) core.Formatter { return Responses{Params: o.Params} },
	func(o Options) core.Formatter { return Gemini{Params: o.Params} },
	func(Options) core.Formatter { return Generic{} },
}

func newAnthropic(o Options) core.Formatter {
	f := Anthropic{Caching: o.Caching, Model: o.CacheModel, Cite: o.Cite, Params: o.Params}
	f.Params.MaxOutputTokens = cmp.Or(o.Demanded, f.Params.MaxOutputTokens)
	if o.Caching && o.Breakpoints == BreakpointsAuto {
		f.Breakpoints = BreakpointsAuto
	}
	return f
}

// All returns the built-in formatters, each with its default options.
func All() (all []core.Formatter) {
	for _, make := range builtins {
		all = append(all, make(Options{}))
	}
	return all
}

// New returns the built-in formatter of that name, and nil if there is none. The empty name is [Default].
func New(name string, o Options) core.Formatter {
	for _, make := range builtins {
		if f := make(o); f.FormatType() == cmp.Or(name, Default) {
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
