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

// cited adds the last step of a pipeline whose items name their sources as text. Because it is a
// step, whatever counts the items counts these lines.
func cited(parts pipeline.Config, c *config.Config) pipeline.Config {
	native := c.FormatOptions.Cite == config.CiteNative
	if f, ok := parts.Formatter.(format.Anthropic); native && ok && f.Cite {
		return parts
	}
	if !native && c.FormatOptions.Cite != config.CiteText {
		return parts
	}
	name := CiteStep
	for slices.ContainsFunc(parts.Steps, func(s pipeline.StepConfig) bool { return s.Name == name }) {
		name += "_"
	}
	parts.Steps = append(slices.Clip(parts.Steps), pipeline.StepConfig{Name: name, Priority: math.MaxInt, Step: builtinStep{cite}})
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
