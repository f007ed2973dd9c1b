package eval

import (
	"cmp"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Fate says where a relevant document ended.
type Fate string

// The fates.
const (
	// InWindow means that the document is in the window.
	InWindow Fate = "in_window"
	// NeverFound means that no step retrieved it.
	NeverFound Fate = "never_found"
	// Dropped means that a step removed it.
	Dropped Fate = "dropped"
	// Cut means that it reached the window stage and got no place in the window.
	Cut Fate = "cut"
)

// Relevant is one relevant document of a query.
type Relevant struct {
	Document string `json:"document"`
	Grade    int    `json:"grade"`
	Fate     Fate   `json:"fate"`
	// Step is the step that dropped it.
	Step string `json:"step,omitempty"`
	// Reason is why the budget left it out. Tokens is the size of its best item, and
	// Available the number of tokens that were free.
	Reason    pipeline.OverflowReason `json:"reason,omitempty"`
	Tokens    int                     `json:"tokens,omitempty"`
	Available int                     `json:"available_tokens,omitempty"`
	// Ranks are its ranks after each stage, from 1; 0 means that it was absent.
	Ranks []int `json:"ranks"`
}

// follow determines the fate of every relevant document.
func follow(g Grades, stages []stage, r *Ranker, overflow []pipeline.OverflowItem) []Relevant {
	list := make([]Relevant, 0, g.Relevant())
	for id, grade := range g {
		if grade > 0 {
			list = append(list, Relevant{Document: id, Grade: grade, Ranks: make([]int, len(stages))})
		}
	}
	slices.SortFunc(list, func(a, b Relevant) int {
		return cmp.Or(cmp.Compare(b.Grade, a.Grade), cmp.Compare(a.Document, b.Document))
	})
	place := make(map[string]int, len(list))
	for i := range list {
		place[list[i].Document] = i
	}
	for s := range stages {
		for rank, x := range stages[s].rows {
			if i, ok := place[x.document]; ok {
				list[i].Ranks[s] = rank + 1
			}
		}
	}
	for i := range list {
		list[i].settle(stages, r, overflow)
	}
	return list
}

// settle determines the fate from the ranks.
func (d *Relevant) settle(stages []stage, r *Ranker, overflow []pipeline.OverflowItem) {
	last := len(d.Ranks) - 1
	for last >= 0 && d.Ranks[last] == 0 {
		last--
	}
	switch {
	case last < 0:
		d.Fate = NeverFound
	case last == len(stages)-1:
		d.Fate = InWindow
	case last < len(stages)-2:
		d.Fate, d.Step = Dropped, stages[last+1].name
	default:
		d.Fate = Cut
		d.explain(stages[last].rows[d.Ranks[last]-1].item, r, overflow)
	}
}

// explain finds the reason for which the best item was left out.
func (d *Relevant) explain(best *pipeline.Item, r *Ranker, overflow []pipeline.OverflowItem) {
	for i := range overflow {
		o := &overflow[i]
		if o.Source != pipeline.SourceRetrieval || r.Document(&o.Item) != d.Document {
			continue
		}
		if d.Reason == "" || o.ID == best.ID {
			d.Reason, d.Tokens, d.Available = o.Reason, o.TokenCount, o.Available
		}
		if o.ID == best.ID {
			return
		}
	}
}
