package fill

import (
	"cmp"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// WindowOrder is the order in which the context of a window (retrieval, tool and user items)
// is written. In every order, system items come first and turns come in the order of time.
type WindowOrder string

// The orders. The zero value is OrderPriority.
const (
	// OrderPriority writes by priority, then by score, the best first.
	OrderPriority WindowOrder = "priority"
	// OrderLostInTheMiddle writes the best items at both ends and the others between
	// them, where models pay least attention: first, third, … fourth, second.
	OrderLostInTheMiddle WindowOrder = "lost_in_the_middle"
	// OrderChronological writes the oldest first.
	OrderChronological WindowOrder = "chronological"
	// OrderCacheStable writes by id: the same items make the same text, whatever
	// their scores, so that a prompt cache can reuse the prefix.
	OrderCacheStable WindowOrder = "cache_stable"
)

// WindowOrders lists the orders.
var WindowOrders = []WindowOrder{OrderPriority, OrderLostInTheMiddle, OrderChronological, OrderCacheStable}

// Arrange sorts the context items among picked into the order o; the others keep their
// places. picked are indices of items in the order of their priority.
func (o WindowOrder) Arrange(items []core.Item, picked []int32) {
	if o == "" || o == OrderPriority {
		return
	}
	context := make([]int32, 0, len(picked))
	for _, i := range picked {
		if items[i].Source.IsContext() {
			context = append(context, i)
		}
	}
	switch o {
	case OrderLostInTheMiddle:
		context = bestOutside(context)
	case OrderChronological:
		slices.SortStableFunc(context, func(a, b int32) int { return core.CompareAge(&items[a], &items[b]) })
	case OrderCacheStable:
		slices.SortStableFunc(context, func(a, b int32) int {
			return cmp.Or(cmp.Compare(items[a].ID, items[b].ID), cmp.Compare(items[a].Content, items[b].Content))
		})
	}
	next := 0
	for place, i := range picked {
		if items[i].Source.IsContext() {
			picked[place] = context[next]
			next++
		}
	}
}

// bestOutside distributes a list, best first, alternately to the beginning and the end.
func bestOutside(list []int32) []int32 {
	out := make([]int32, len(list))
	for rank, i := range list {
		if rank%2 == 0 {
			out[rank/2] = i
		} else {
			out[len(list)-1-rank/2] = i
		}
	}
	return out
}
