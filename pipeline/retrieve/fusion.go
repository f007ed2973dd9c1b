package retrieve

// Fusion is a way to merge ranked lists.
type Fusion string

// The ways to merge lists.
const (
	// FusionWeighted scales the scores of each list so that its best item has 1 and its
	// worst has 0. If all scores of a list are equal, they become 1. The score of an item
	// is the weighted mean over the lists; a list without the item counts as 0.
	FusionWeighted Fusion = "weighted"
	// FusionRRF is reciprocal rank fusion: the score of an item is the sum of weight / (k +
	// rank) over the lists, where rank is its first place in the list, from 1.
	FusionRRF Fusion = "rrf"
)
