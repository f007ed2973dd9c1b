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
	// InWindow: the model gets to see it.
	InWindow Fate = "in_window"
	// NeverFound: no step brought it.
	NeverFound Fate = "never_found"
	// Dropped: a step took it away.
	Dropped Fate = "dropped"
	// Cut: it reached the window stage and was left out there.
	Cut Fate = "cut"
)

// Relevant is one relevant document of a query.
type Relevant struct {
	Document string `json:"document"`
	Grade    int    `json:"grade"`
	Fate     Fate   `json:"fate"`
	// Step is the step that dropped it.
	Step string `json:"step,omitempty"`
	// Reason is why the budget left it out, Tokens what its best item needed and
	// Available what was left.
	Reason    pipeline.OverflowReason `json:"reason,omitempty"`
	Tokens    int                     `json:"tokens,omitempty"`
	Available int                     `json:"available_tokens,omitempty"`
	// Ranks are its places after each stage, from 1; 0 is none.
	Ranks []int `json:"ranks"`
}

// follow finds out what became of every relevant document.
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

// settle works out the fate from the ranks.
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
