package core

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Source says where an item comes from. The zero value is not a source.
type Source string

// The six sources.
const (
	SourceRetrieval    Source = "retrieval"
	SourceMemory       Source = "memory"
	SourceSystem       Source = "system"
	SourceUser         Source = "user"
	SourceTool         Source = "tool"
	SourceConversation Source = "conversation"
)

// Sources lists the six sources in a fixed order.
var Sources = []Source{
	SourceRetrieval, SourceMemory, SourceSystem, SourceUser, SourceTool, SourceConversation,
}

// NumSources is the number of sources.
const NumSources = 6

// Index returns the place of s in Sources, or -1.
func (s Source) Index() int {
	switch s {
	case SourceRetrieval:
		return 0
	case SourceMemory:
		return 1
	case SourceSystem:
		return 2
	case SourceUser:
		return 3
	case SourceTool:
		return 4
	case SourceConversation:
		return 5
	}
	return -1
}

// Valid reports whether s is one of the six sources.
func (s Source) Valid() bool { return s.Index() >= 0 }

// DefaultPriority returns the priority that the pipeline gives to items of source s that it
// makes itself: 10 for system prompts, 8 for memory, 7 for conversation, 6 for tool
// results, 5 for everything else.
func (s Source) DefaultPriority() int {
	switch s {
	case SourceSystem:
		return 10
	case SourceMemory:
		return 8
	case SourceConversation:
		return 7
	case SourceTool:
		return 6
	}
	return 5
}

// IsContext reports whether items of the source are context, neither instructions nor
// turns of a conversation.
func (s Source) IsContext() bool {
	return s != SourceSystem && s != SourceMemory && s != SourceConversation
}

// The bounds of Item.Priority.
const (
	MinPriority = 1
	MaxPriority = 10
)

// DefaultItemPriority is the priority of an item in a document that states none,
// whatever its source. Items that the pipeline makes itself have the default of
// their source ([Source.DefaultPriority]).
const DefaultItemPriority = 5

// Item is one piece of context. Items are values: a step returns a new slice
// and does not change the one it was given.
type Item struct {
	// ID names the item. It is not checked for uniqueness.
	ID string `json:"id"`
	// Content is the text that goes into the window. It may be empty.
	Content string `json:"content"`
	Source  Source `json:"source"`
	// Score is the relevance, 0 to 1.
	Score float64 `json:"score"`
	// Priority orders the fill of the window, 1 to 10; higher is kept first.
	Priority int `json:"priority"`
	// TokenCount is the number of tokens of Content; 0 means not counted yet. The build
	// does not check a count that is given.
	TokenCount int `json:"token_count"`
	// Metadata holds nil, bool, int64, float64, string, []any and
	// map[string]any values.
	Metadata map[string]any `json:"metadata"`
	// CreatedAt orders turns and facts in the formatted output. An item whose CreatedAt is
	// the zero value gets the time at which the build began. A zero time that has a
	// location other than UTC stays as it is.
	CreatedAt time.Time `json:"created_at"`
	// Sequence orders items of equal CreatedAt: a lower number is earlier. 0 means that the
	// item has no number.
	Sequence int64 `json:"sequence,omitempty"`

	// turn permits a role that metadata alone do not permit; see SetTurn. Without a role it has
	// the parts of SetParts.
	turn *Message
	// vector is what SetVector has given.
	vector *vector
}

// Validate checks the bounds of every field and names the first that fails.
func (it *Item) Validate() error {
	// NaN fails the comparison, so it is refused.
	if it.Score >= 0 && it.Score <= 1 && it.Priority >= MinPriority && it.Priority <= MaxPriority && it.TokenCount >= 0 && it.Source.Valid() {
		return nil
	}
	return it.invalid()
}

// invalid returns an error that names the first field out of bounds.
func (it *Item) invalid() error {
	switch {
	case !it.Source.Valid():
		return fmt.Errorf("item %.100q: source %.100q: %w (want one of %v)", it.ID, it.Source, ErrInvalid, Sources)
	case math.IsNaN(it.Score) || it.Score < 0 || it.Score > 1:
		return fmt.Errorf("item %.100q: score %v: %w (want 0 to 1)", it.ID, it.Score, ErrInvalid)
	case it.Priority < MinPriority || it.Priority > MaxPriority:
		return fmt.Errorf("item %.100q: priority %d: %w (want %d to %d)", it.ID, it.Priority, ErrInvalid, MinPriority, MaxPriority)
	case it.TokenCount < 0:
		return fmt.Errorf("item %.100q: token_count %d: %w (want 0 or more)", it.ID, it.TokenCount, ErrInvalid)
	}
	return nil
}

// ValidateItems names the place of the first invalid item.
func ValidateItems(items []Item) error {
	for i := range items {
		if err := items[i].Validate(); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return nil
}

// CompareAge orders items by time, then by sequence number. It is negative when a is older
// than b, positive when b is older, and 0 otherwise.
func CompareAge(a, b *Item) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Sequence, b.Sequence))
}
