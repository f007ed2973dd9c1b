package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DefaultTopK is the number of facts that a search returns if it states no number.
const DefaultTopK = 5

// Filter selects facts. The zero value selects all facts that have not expired. A fact must
// meet all conditions that are set.
type Filter struct {
	UserID    string
	SessionID string
	// Users are users of which the fact must have one. "" stands for facts without a user. nil
	// selects facts of all users.
	Users []string
	// Sessions are sessions of which the fact must have one. "" stands for facts without a
	// session. nil selects facts of all sessions.
	Sessions []string
	Type     Type
	// Tags are tags that the fact must have, all of them.
	Tags []string
	// CreatedAfter and CreatedBefore bound the time of creation. Both bounds are exclusive.
	CreatedAfter  time.Time
	CreatedBefore time.Time
	// Expired also selects facts that have expired.
	Expired bool
}

// Matches reports whether the filter selects an entry at the given time.
func (f *Filter) Matches(e *Entry, now time.Time) bool {
	switch {
	case !f.Expired && e.Expired(now),
		f.UserID != "" && f.UserID != e.UserID,
		f.SessionID != "" && f.SessionID != e.SessionID,
		f.Users != nil && !slices.Contains(f.Users, e.UserID),
		f.Sessions != nil && !slices.Contains(f.Sessions, e.SessionID),
		f.Type != "" && f.Type != e.Type,
		!f.CreatedAfter.IsZero() && !e.CreatedAt.After(f.CreatedAfter),
		!f.CreatedBefore.IsZero() && !e.CreatedAt.Before(f.CreatedBefore):
		return false
	}
	return !slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(e.Tags, tag) })
}

// apply returns the entries that the filter selects.
func (f *Filter) apply(entries []*Entry, now time.Time) []*Entry {
	var out []*Entry
	for _, e := range entries {
		if f.Matches(e, now) {
			out = append(out, e)
		}
	}
	return out
}

// search returns the entries whose content contains the query, in upper or lower case, the
// most relevant first, and of those that are equal the newest.
func search(entries []*Entry, query string) []*Entry {
	query = strings.ToLower(query)
	var out []*Entry
	for _, e := range entries {
		if strings.Contains(strings.ToLower(e.Content), query) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *Entry) int { return cmp.Or(cmp.Compare(b.Relevance, a.Relevance), newer(a, b)) })
	return out
}

// newer orders the entry that was written last first.
func newer(a, b *Entry) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), b.CreatedAt.Compare(a.CreatedAt))
}

// first returns the first n elements of a list. n 0 means DefaultTopK.
func first[T any](list []T, n int) []T {
	n = cmp.Or(n, DefaultTopK)
	return list[:min(n, len(list))]
}
