package eval

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
)

// reasonWords are the reasons of the budget in the words of a report.
var reasonWords = map[pipeline.OverflowReason]string{
	pipeline.OverflowWindow:        "window full",
	pipeline.OverflowMinimums:      "room kept for the minimums of other sources",
	pipeline.OverflowSourceCap:     "allocation of its source used up",
	pipeline.OverflowSourceDropped: "its source dropped for exceeding its allocation",
	pipeline.OverflowSharedPool:    "shared pool used up",
}

// words returns a reason of the budget in words.
func words(reason pipeline.OverflowReason) string {
	if w, ok := reasonWords[reason]; ok {
		return w
	}
	if reason == "" {
		return "no reason given"
	}
	return string(reason)
}

// String describes the fate in words.
func (f FateCount) String() string {
	switch f.Fate {
	case InWindow:
		return "in the window"
	case NeverFound:
		return "never found"
	case Dropped:
		return fmt.Sprintf("removed by step %q", f.Step)
	default:
		return "left out by the budget: " + words(pipeline.OverflowReason(f.Reason))
	}
}

// String describes in words where the document ended.
func (d *Relevant) String() string {
	switch d.Fate {
	case InWindow:
		return fmt.Sprintf("in the window, rank %d", d.Ranks[len(d.Ranks)-1])
	case NeverFound:
		return "never found"
	case Dropped:
		return fmt.Sprintf("removed by step %q", d.Step)
	default:
		return fmt.Sprintf("left out by the budget at rank %d: %s, %d tokens short",
			d.Ranks[len(d.Ranks)-2], words(d.Reason), max(0, d.Tokens-d.Available))
	}
}
