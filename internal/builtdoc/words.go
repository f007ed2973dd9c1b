package builtdoc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// budgetReasons name the budget that an item exceeded, in the words of the output.
var budgetReasons = map[explain.BudgetKind]string{
	explain.BudgetWindow:      "window full",
	explain.BudgetMinimums:    "room kept for the minimums of other sources",
	explain.BudgetSource:      "allocation of its source used up",
	explain.BudgetWholeSource: "its source exceeds its allocation and is dropped",
	explain.BudgetSharedPool:  "shared pool used up",
}

// Reason says in a few words why an item is in the window or not.
func Reason(s *explain.ItemTrace) string {
	last := s.Last()
	switch s.Outcome {
	case explain.InWindow:
		if last.Actions.Has(explain.Cut) {
			return "its beginning fits"
		}
		return "fits"
	case explain.OutOfWindow:
		if last.Budget != nil {
			return budgetReasons[last.Budget.Kind]
		}
		return "left out"
	case explain.DroppedByStep:
		return fmt.Sprintf("removed by step %q", last.Step)
	}
	return "the build failed first"
}

// Sentence describes one event of a trace.
func Sentence(e *explain.Event) string {
	switch {
	case e.Actions.Has(explain.Admitted):
		return sayAdmitted(e)
	case e.Actions.Has(explain.LeftOut):
		return sayLeftOut(e)
	}
	s := strings.ReplaceAll(e.Actions.String(), "_", " ") + " by " + Actor(e.Origin)
	if changes := Changes(e); len(changes) > 0 {
		s += ": " + strings.Join(changes, ", ")
	}
	return s
}

// Actor names who did something.
func Actor(stage explain.Origin) string {
	if stage.Stage != "step" {
		return BroughtBy(stage) + plugin(stage.ModuleInfo)
	}
	return fmt.Sprintf("step %q", plain.Cell(stage.Step)) + plugin(stage.ModuleInfo)
}

// plugin names a plugin with the beginning of its digest, which is enough to distinguish two
// versions.
func plugin(m explain.ModuleInfo) string {
	const short = len("sha256:") + 12
	digest := plain.Cell(m.Module)
	if len(digest) > short {
		digest = digest[:short]
	}
	switch {
	case m.Plugin == "":
		return ""
	case digest == "":
		return fmt.Sprintf(" (plugin %s)", plain.Cell(m.Plugin))
	}
	return fmt.Sprintf(" (plugin %s, %s)", plain.Cell(m.Plugin), digest)
}

// Changes lists the values that an event changed.
func Changes(e *explain.Event) []string {
	var list []string
	add := func(name, from, to string) { list = append(list, fmt.Sprintf("%s %s → %s", name, from, to)) }
	integers := func(name string, c *explain.Change[int]) {
		if c != nil {
			add(name, strconv.Itoa(c.From), strconv.Itoa(c.To))
		}
	}
	switch p := e.Place; {
	case p == nil:
	case p.From == 0:
		list = append(list, fmt.Sprintf("place %d of the list", p.To))
	case p.To == 0:
		list = append(list, fmt.Sprintf("place %d of the list", p.From))
	default:
		integers("place in the list", p)
	}
	switch s := e.Score; {
	case s == nil:
	case e.Actions.Has(explain.Added):
		list = append(list, "score "+Score(s.To))
	default:
		add("score", Score(s.From), Score(s.To))
	}
	integers("priority", e.Priority)
	integers("tokens", e.Tokens)
	integers("bytes", e.Bytes)
	if e.Source != nil {
		add("source", string(e.Source.From), string(e.Source.To))
	}
	return list
}

// Score formats a score.
func Score(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

func sayAdmitted(e *explain.Event) string {
	s := "admitted"
	if e.Actions.Has(explain.Cut) {
		s = "cut and admitted"
	}
	if e.Place != nil {
		s += fmt.Sprintf(" at place %d of the window", e.Place.To)
	}
	if b := e.Budget; b != nil {
		s += fmt.Sprintf(": %d tokens of the %d that were left of %d", b.Needed, b.Available, b.Limit)
	}
	return s
}

func sayLeftOut(e *explain.Event) string {
	b := e.Budget
	if b == nil {
		return "left out"
	}
	s := fmt.Sprintf("left out, %s: %d tokens, %d left of %d, %d short", budgetReasons[b.Kind], b.Needed, b.Available, b.Limit, b.Lacked)
	switch {
	case len(b.DisplacedBy) > 0:
		s += ", displaced by " + plain.Cell(strings.Join(b.DisplacedBy, ", "))
	case b.Needed > b.Limit:
		s += ", too large for it"
	}
	return s
}

// BroughtBy names the part of a build that added an item.
func BroughtBy(stage explain.Origin) string {
	switch stage.Stage {
	case "step":
		return stage.Step
	case "system":
		return "system prompts"
	}
	return stage.Stage
}
