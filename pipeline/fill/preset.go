package fill

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// presetReserve is the share, in percent, that every preset reserves for the answer.
const presetReserve = 15

// presetShare is the share of one source in percent of the total.
type presetShare struct {
	source   core.Source
	percent  int
	priority int
}

// presets holds the shares by name. The rest is the shared pool.
var presets = []struct {
	name   string
	shares []presetShare
}{
	{"chat", []presetShare{{core.SourceSystem, 10, 10}, {core.SourceMemory, 10, 8}, {core.SourceConversation, 20, 7}, {core.SourceRetrieval, 25, 5}}},
	{"rag", []presetShare{{core.SourceSystem, 10, 10}, {core.SourceMemory, 5, 8}, {core.SourceConversation, 10, 7}, {core.SourceRetrieval, 40, 5}}},
	{"agent", []presetShare{{core.SourceSystem, 15, 10}, {core.SourceMemory, 10, 8}, {core.SourceConversation, 15, 7}, {core.SourceRetrieval, 20, 5}, {core.SourceTool, 15, 6}}},
}

// PresetNames lists the names that [PresetBudget] knows.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i := range presets {
		names[i] = presets[i].name
	}
	return names
}

// PresetBudget divides total tokens by the shares of the preset "chat", "rag" or "agent",
// each rounded down. The shares are minimums. Those of the sources in caps are caps too. It
// returns an error if a share would be 0 tokens, or if a source in caps has no share. The
// smallest total is 10 for chat and agent, and 20 for rag.
func PresetBudget(name string, total int, caps ...core.Source) (*Budget, error) {
	for i := range presets {
		if presets[i].name == name {
			b, err := newPreset(name, presets[i].shares, total)
			if err != nil {
				return nil, err
			}
			return b, b.capShares(name, caps)
		}
	}
	return nil, fmt.Errorf("budget: preset %q: %w (want one of %v)", name, core.ErrInvalid, PresetNames())
}

func newPreset(name string, shares []presetShare, total int) (*Budget, error) {
	if total <= 0 {
		return nil, fmt.Errorf("budget: preset %s: total %d: %w (want 1 or more)", name, total, core.ErrInvalid)
	}
	least := 1 // so that no share is 0 tokens
	for _, s := range shares {
		least = max(least, (100+s.percent-1)/s.percent)
	}
	if total < least {
		return nil, fmt.Errorf("preset %s of %d tokens: %w (want %d or more)", name, total, core.ErrInvalid, least)
	}
	b := &Budget{TotalTokens: total, ReserveTokens: percent(total, presetReserve), preset: true}
	for _, s := range shares {
		b.Allocations = append(b.Allocations, Allocation{
			Source: s.source, MinTokens: percent(total, s.percent), Priority: s.priority, Overflow: OverflowTruncate,
		})
	}
	if err := b.Validate(); err != nil {
		return nil, fmt.Errorf("preset %s of %d tokens: %w", name, total, err)
	}
	return b, nil
}

// capShares makes the shares of the sources caps.
func (b *Budget) capShares(name string, caps []core.Source) error {
	for _, s := range caps {
		at := slices.IndexFunc(b.Allocations, func(a Allocation) bool { return a.Source == s })
		if at < 0 {
			return fmt.Errorf("budget: caps: preset %s has no share of source %.100q: %w (leave it out)", name, s, core.ErrInvalid)
		}
		b.Allocations[at].MaxTokens = b.Allocations[at].MinTokens
	}
	return nil
}

// percent returns p hundredths of total, rounded down, without overflow.
func percent(total, p int) int {
	return total/100*p + total%100*p/100
}
