package assemble

import (
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// CiteStep is the name of the step that writes before each item where it is from.
const CiteStep = "cite"

// cited adds the last step of a pipeline whose items name their sources. Because it is a step,
// whatever counts the items counts these lines; those that a formatter writes are counted with the
// items, whose own counts do not have them.
func cited(parts pipeline.Config, c *config.Config) pipeline.Config {
	change := cite
	switch f, ok := parts.Formatter.(format.Anthropic); {
	case c.FormatOptions.Cite == config.CiteNative && ok && f.Cite:
		change = countAgain(f)
	case c.FormatOptions.Cite != config.CiteNative && c.FormatOptions.Cite != config.CiteText:
		return parts
	}
	name := CiteStep
	for slices.ContainsFunc(parts.Steps, func(s pipeline.StepConfig) bool { return s.Name == name }) {
		name += "_"
	}
	parts.Steps = append(slices.Clip(parts.Steps), pipeline.StepConfig{Name: name, Priority: math.MaxInt, Step: builtinStep{change}})
	return parts
}

func cite(items []pipeline.Item) []pipeline.Item {
	for i := range items {
		if text := format.Cite(&items[i]); text != items[i].Content {
			items[i].Content, items[i].TokenCount = text, 0
		}
	}
	return items
}

// countAgain returns a change that has items counted with what a formatter writes beside them.
func countAgain(f format.Anthropic) func([]pipeline.Item) []pipeline.Item {
	return func(items []pipeline.Item) []pipeline.Item {
		for i := range items {
			if f.Beside(&items[i]) != "" {
				items[i].TokenCount = 0
			}
		}
		return items
	}
}
