package fill

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// OverflowStrategy says what happens to a source that exceeds its allocation.
type OverflowStrategy string

// The strategies. The zero value is OverflowTruncate.
const (
	// OverflowTruncate keeps whole items while they fit. It cuts no texts.
	OverflowTruncate OverflowStrategy = "truncate"
	// OverflowDrop drops all items of the source.
	OverflowDrop OverflowStrategy = "drop"
)

// Allocation bounds one source from above, from below, or both.
type Allocation struct {
	Source core.Source `json:"source"`
	// MaxTokens is the cap in tokens: the source never has more. It chooses among the items
	// of the source before the window is filled. 0 is no cap; MinTokens is then needed.
	MaxTokens int `json:"max_tokens,omitempty"`
	// MinTokens is the room, in tokens, that items of other sources cannot take while this
	// source has items for it. What the source does not use is free for all. 0 is none.
	MinTokens int `json:"min_tokens,omitempty"`
	// Priority is 1 to 10, or 0 for none. It has no effect, because the priority of the
	// items decides. A build warns when it is set.
	Priority int `json:"priority,omitempty"`
	// Overflow says what happens above MaxTokens. It is OverflowTruncate when empty.
	Overflow OverflowStrategy `json:"overflow_strategy,omitempty"`
}

// Budget divides the tokens of a window among the sources.
type Budget struct {
	// TotalTokens bounds the sum of the allocations and the reserve. The size of the
	// window is Config.MaxTokens; a build warns when the two differ.
	TotalTokens int `json:"total_tokens"`
	// ReserveTokens are kept free for the answer of the model.
	ReserveTokens int          `json:"reserve_tokens,omitempty"`
	Allocations   []Allocation `json:"allocations,omitempty"`
	// EnforceSharedPool limits the sources without an allocation, together, to
	// SharedPool. When false, only the window limits them.
	EnforceSharedPool bool `json:"enforce_shared_pool,omitempty"`

	preset bool // the allocation priorities are the preset's, not the user's
}

// Validate checks every bound, that no source has two allocations, and that
// allocations and reserve fit into the total. Errors wrap [ErrInvalid] or
// [ErrBudget].
func (b *Budget) Validate() error {
	if b.TotalTokens <= 0 {
		return fmt.Errorf("budget: total_tokens %d: %w (want 1 or more)", b.TotalTokens, core.ErrInvalid)
	}
	if b.ReserveTokens < 0 {
		return fmt.Errorf("budget: reserve_tokens %d: %w (want 0 or more)", b.ReserveTokens, core.ErrInvalid)
	}
	// Each subtraction stays within int, where a sum of huge caps might not.
	left := b.TotalTokens - b.ReserveTokens
	var seen [core.NumSources]bool
	for i := range b.Allocations {
		a := &b.Allocations[i]
		if err := a.validate(); err != nil {
			return fmt.Errorf("budget: allocations[%d]: %w", i, err)
		}
		if seen[a.Source.Index()] {
			return fmt.Errorf("budget: allocations[%d]: second allocation of source %.100q: %w (merge the two)", i, a.Source, core.ErrInvalid)
		}
		seen[a.Source.Index()] = true
		if left >= 0 {
			left -= a.share()
		}
	}
	if left < 0 {
		return fmt.Errorf("budget: allocations and reserve exceed total budget of %d tokens: %w", b.TotalTokens, ErrBudget)
	}
	return nil
}

func (a *Allocation) validate() error {
	switch {
	case !a.Source.Valid():
		return fmt.Errorf("source %.100q: %w (want one of %v)", a.Source, core.ErrInvalid, core.Sources)
	case a.MinTokens < 0:
		return fmt.Errorf("min_tokens %d: %w (want 0 or more)", a.MinTokens, core.ErrInvalid)
	case a.MaxTokens < 0 || a.MaxTokens == 0 && a.MinTokens == 0:
		return fmt.Errorf("max_tokens %d: %w (want 1 or more)", a.MaxTokens, core.ErrInvalid)
	case a.MaxTokens > 0 && a.MinTokens > a.MaxTokens:
		return fmt.Errorf("min_tokens %d: %w (want at most max_tokens, %d)", a.MinTokens, core.ErrInvalid, a.MaxTokens)
	case a.Priority != 0 && (a.Priority < core.MinPriority || a.Priority > core.MaxPriority):
		return fmt.Errorf("priority %d: %w (want %d to %d)", a.Priority, core.ErrInvalid, core.MinPriority, core.MaxPriority)
	case a.Overflow != "" && a.Overflow != OverflowTruncate && a.Overflow != OverflowDrop:
		return fmt.Errorf("overflow_strategy %.100q: %w (want %s or %s)", a.Overflow, core.ErrInvalid, OverflowTruncate, OverflowDrop)
	}
	return nil
}

// share returns the part of the total that the allocation takes: its cap, or its minimum if
// it has none.
func (a *Allocation) share() int {
	if a.MaxTokens > 0 {
		return a.MaxTokens
	}
	return a.MinTokens
}

// SharedPool returns the tokens that are left after the reserve and all allocations.
func (b *Budget) SharedPool() int {
	pool := b.TotalTokens - b.ReserveTokens
	for i := range b.Allocations {
		pool -= b.Allocations[i].share()
	}
	return pool
}

// Allocation returns the share of the source: its cap, or its minimum if it has no cap. A
// source without an allocation shares the pool.
func (b *Budget) Allocation(s core.Source) int {
	for i := range b.Allocations {
		if b.Allocations[i].Source == s {
			return b.Allocations[i].share()
		}
	}
	return b.SharedPool()
}

// OverflowStrategy returns the strategy of the source, or truncate when it has no
// allocation.
func (b *Budget) OverflowStrategy(s core.Source) OverflowStrategy {
	for i := range b.Allocations {
		if a := &b.Allocations[i]; a.Source == s && a.Overflow != "" {
			return a.Overflow
		}
	}
	return OverflowTruncate
}

func (b *Budget) clone() *Budget {
	if b == nil {
		return nil
	}
	out := *b
	out.Allocations = append([]Allocation(nil), b.Allocations...)
	return &out
}

// warnings lists the settings that have no effect on a window of maxTokens.
func (b *Budget) warnings(maxTokens int) []string {
	var out []string
	if b.TotalTokens != maxTokens {
		out = append(out, fmt.Sprintf("budget: total_tokens is %d and max_tokens is %d: the window follows max_tokens (set both to the same number)", b.TotalTokens, maxTokens))
	}
	for i := range b.Allocations {
		if a := &b.Allocations[i]; a.Priority != 0 && !b.preset {
			out = append(out, fmt.Sprintf("budget: allocation of %s: nothing reads priority %d (the priority of the items decides)", a.Source, a.Priority))
		}
	}
	return out
}

// ErrBudget means that a budget leaves no room.
var ErrBudget = errors.New("budget exceeded")
