package record

import "github.com/anchor-host/anchor-host/pipeline/core"

// matcher finds for each item after a stage the same item before it. It reuses its lists
// for the next match.
type matcher struct {
	from, to []int32 // after -> before and before -> after, -1 for none
	ids      map[string]int32
	heads    map[itemIdentity]int32
	next     []int32
	rank     []int32
	isMoved  []bool
}

// itemIdentity has the properties that two items must share to be the same item. Each stage
// of the search leaves those empty that it ignores.
type itemIdentity struct {
	id, text string
	source   core.Source
}

// identities are the stages of the search, the strictest first. If no id repeats, the last
// is enough.
var identities = [...]func(*core.Item) itemIdentity{
	func(it *core.Item) itemIdentity { return itemIdentity{it.ID, it.Content, it.Source} },
	func(it *core.Item) itemIdentity { return itemIdentity{id: it.ID, source: it.Source} },
	func(it *core.Item) itemIdentity { return itemIdentity{id: it.ID} },
}

// match returns the pairs in both directions. The caller knows that the first items of both
// lists are the same.
func (m *matcher) match(before, after []core.Item, first int) (from, to []int32) {
	m.from, m.to = m.from[:0], m.to[:0]
	for i := range after {
		m.from = append(m.from, pairedUpTo(i, first))
	}
	for j := range before {
		m.to = append(m.to, pairedUpTo(j, first))
	}
	for i, j := len(after)-1, len(before)-1; i >= first && j >= first && sameItem(&after[i], &before[j]); i, j = i-1, j-1 {
		m.from[i], m.to[j] = int32(j), int32(i)
	}
	if !m.distinct(before, after) {
		for _, identity := range identities {
			m.pair(before, after, identity)
		}
	}
	return m.from, m.to
}

func pairedUpTo(i, first int) int32 {
	if i < first {
		return int32(i)
	}
	return -1
}

// distinct pairs the remaining items by their ids. When an id repeats among them, it makes
// no pairs and returns false.
func (m *matcher) distinct(before, after []core.Item) bool {
	if m.ids == nil {
		m.ids = make(map[string]int32, len(before))
	}
	clear(m.ids)
	for j := range before {
		if m.to[j] >= 0 {
			continue
		}
		size := len(m.ids)
		if m.ids[before[j].ID] = int32(j); len(m.ids) == size {
			return false
		}
	}
	for i := range after {
		if m.from[i] >= 0 {
			continue
		}
		if j, ok := m.ids[after[i].ID]; ok {
			if m.to[j] >= 0 {
				m.forget(i)
				return false
			}
			m.from[i], m.to[j] = j, int32(i)
		}
	}
	return true
}

// forget removes the pairs that distinct made before it reached after[end]. The item before
// the stage of each such pair is in the table.
func (m *matcher) forget(end int) {
	for _, j := range m.ids {
		if i := m.to[j]; i >= 0 && int(i) < end {
			m.from[i], m.to[j] = -1, -1
		}
	}
}

// pair pairs the remaining items by an identity. Items of equal identity are paired in order.
func (m *matcher) pair(before, after []core.Item, identity func(*core.Item) itemIdentity) {
	if m.heads == nil {
		m.heads = make(map[itemIdentity]int32, len(before))
	}
	clear(m.heads)
	m.next = append(m.next[:0], m.to...)
	for j := len(before) - 1; j >= 0; j-- {
		if m.to[j] >= 0 {
			continue
		}
		key := identity(&before[j])
		m.next[j] = -1
		if head, ok := m.heads[key]; ok {
			m.next[j] = head
		}
		m.heads[key] = int32(j)
	}
	for i := range after {
		if m.from[i] >= 0 {
			continue
		}
		key := identity(&after[i])
		if j, ok := m.heads[key]; ok && j >= 0 {
			m.from[i], m.to[j] = j, int32(i)
			m.heads[key] = m.next[j]
		}
	}
}

// moved reports for each item after a stage whether its rank among the items that stay has
// changed. It returns nil when no rank has changed.
func (m *matcher) moved(from, to []int32) []bool {
	last, ordered := int32(-1), true
	for _, j := range from {
		if j >= 0 {
			ordered = ordered && j > last
			last = j
		}
	}
	if ordered {
		return nil
	}
	m.rank = append(m.rank[:0], to...)
	stay := int32(0)
	for j := range to {
		if to[j] >= 0 {
			m.rank[j] = stay
			stay++
		}
	}
	m.isMoved = m.isMoved[:0]
	stay = 0
	for _, j := range from {
		m.isMoved = append(m.isMoved, j >= 0 && m.rank[j] != stay)
		if j >= 0 {
			stay++
		}
	}
	return m.isMoved
}
