package builtdoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/store"
)

// Recorded reads the result in the record of a build. name is the ID of the record, and content says
// whether the record has the texts.
func Recorded(name string, result json.RawMessage, content bool) (*Doc, error) {
	d, err := Decode(name, result)
	if err != nil {
		return nil, fmt.Errorf("build %.100q: read its record: %w: %w", name, store.ErrCorrupt, err)
	}
	d.Hidden = !content
	return d, nil
}

// Verdict says where one item ended, and why.
type Verdict struct {
	ID string `json:"id"`
	// In is true for an item of the window.
	In       bool            `json:"in"`
	Source   pipeline.Source `json:"source"`
	Priority int             `json:"priority"`
	Score    float64         `json:"score"`
	Tokens   int             `json:"tokens"`
	// BroughtBy is the step that added the item, or "system prompts" or "memory".
	BroughtBy string `json:"brought_by"`
	Why       string `json:"why"`
	// Lacked is the number of further tokens that the item would have needed.
	Lacked int `json:"lacked_tokens,omitempty"`
	// DisplacedBy names some of the items that used the room.
	DisplacedBy []string `json:"displaced_by,omitempty"`
	// Excerpt is the beginning of the text. It is empty where texts are not kept.
	Excerpt string `json:"excerpt"`
}

// Verdicts returns the verdicts about items: first those of the window, then those that were left
// out, then those that steps dropped, in the order of the steps.
func Verdicts(traces []explain.ItemTrace, steps []pipeline.StepDiagnostic) (list []Verdict) {
	for _, s := range sorted(traces, steps) {
		list = append(list, verdictOf(s))
	}
	return list
}

// sorted returns traces in the order of [Verdicts].
func sorted(traces []explain.ItemTrace, steps []pipeline.StepDiagnostic) []*explain.ItemTrace {
	numbers := map[string]int{}
	for i := range steps {
		numbers[steps[i].Name] = i
	}
	list := make([]*explain.ItemTrace, len(traces))
	for i := range traces {
		list[i] = &traces[i]
	}
	slices.SortStableFunc(list, func(a, b *explain.ItemTrace) int {
		return cmp.Or(cmp.Compare(outcomeOrder[a.Outcome], outcomeOrder[b.Outcome]), placeOf(a, numbers)-placeOf(b, numbers))
	})
	return list
}

// outcomeOrder is the order in which items are listed, by their outcome.
var outcomeOrder = map[explain.Outcome]int{explain.InWindow: 0, explain.OutOfWindow: 1, explain.DroppedByStep: 2, explain.Undecided: 3}

// placeOf orders the traces of one outcome: by the place in the window or in the list, or
// by the step that dropped the item.
func placeOf(s *explain.ItemTrace, steps map[string]int) int {
	last := s.Last()
	switch {
	case s.Outcome == explain.DroppedByStep:
		return steps[last.Step]
	case last.Place == nil:
		return 0
	case s.Outcome == explain.InWindow:
		return last.Place.To
	}
	return last.Place.From
}

// verdictOf summarizes a trace in one line.
func verdictOf(s *explain.ItemTrace) Verdict {
	v := Verdict{
		ID: s.ID, In: s.Outcome == explain.InWindow, Source: s.Source, Priority: s.Priority, Score: s.Score, Tokens: s.Tokens,
		BroughtBy: BroughtBy(s.AddedBy()), Why: Reason(s), Excerpt: plain.Excerpt(s.Excerpt),
	}
	if b := s.Last().Budget; b != nil {
		v.Lacked, v.DisplacedBy = b.Lacked, b.DisplacedBy
	}
	return v
}

// Explanation says what happened to each item of a build, and how long its parts took.
type Explanation struct {
	// Build is the ID of the record.
	Build string `json:"build"`
	// Failed is true for a build that failed. Its items have no verdict about the window.
	Failed bool `json:"failed"`
	// Items are in the order of [Verdicts]. It is empty for a record that was too large for traces.
	Items []ItemExplanation `json:"items"`
	// Steps are those that succeeded, Failures those that did not.
	Steps    []pipeline.StepDiagnostic `json:"steps"`
	Failures []pipeline.StepFailure    `json:"step_failures"`
	// Times are the times of the stages, and TimeMS is that of the build, in milliseconds.
	Times  pipeline.StageTimes `json:"times_ms"`
	TimeMS float64             `json:"build_time_ms"`
}

// ItemExplanation is the verdict about an item, with its history.
type ItemExplanation struct {
	Verdict
	// History has one sentence for each thing that happened to the item, in order.
	History []string `json:"history"`
}

// Explain explains a build.
func (d *Doc) Explain() *Explanation {
	e := &Explanation{
		Build: d.Name, Failed: d.Failed, Items: []ItemExplanation{}, Steps: []pipeline.StepDiagnostic{}, Failures: []pipeline.StepFailure{},
		Times: d.Times, TimeMS: d.TimeMS,
	}
	for _, s := range sorted(d.Traces, d.Steps) {
		it := ItemExplanation{Verdict: verdictOf(s), History: make([]string, len(s.Events))}
		for i := range s.Events {
			it.History[i] = Sentence(&s.Events[i])
		}
		e.Items = append(e.Items, it)
	}
	e.Steps, e.Failures = append(e.Steps, d.Steps...), append(e.Failures, d.Failures...)
	return e
}
