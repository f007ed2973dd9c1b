package frames

import (
	"slices"
	"sort"
)

// view is the window over a log. Eviction always removes the oldest frame that is not
// protected. So the window consists of all protected frames and the newest of the others.
// The view keeps them in two lists that grow only at the end; the start of the second list
// moves. Readers share the frames, which never change.
type view struct {
	pinned       []*Frame // protected, in order
	rolling      []*Frame // the others, from index head on, in order
	head         int
	byID         map[uint64]*Frame
	weight       uint64 // of all
	pinnedWeight uint64
}

// push adds a frame and evicts under the limits in force at its push.
func (v *view) push(f *Frame, l Limits) {
	weight := f.Weight()
	switch {
	case f.Kind.Protected():
		v.pinned = append(v.pinned, f)
		v.pinnedWeight += weight
		v.admit(f, weight)
	case l.MaxTokens > 0 && v.pinnedWeight+weight > l.MaxTokens:
		// It does not fit together with the protected frames, even without all others. So
		// evicting them would not help.
	default:
		v.rolling = append(v.rolling, f)
		v.admit(f, weight)
	}
	for v.exceeds(l) && v.head < len(v.rolling) {
		v.evictOldest()
	}
}

func (v *view) admit(f *Frame, weight uint64) {
	if v.byID == nil {
		v.byID = make(map[uint64]*Frame)
	}
	v.byID[f.ID] = f
	v.weight += weight
}

func (v *view) exceeds(l Limits) bool {
	return l.MaxFrames > 0 && v.len() > int(l.MaxFrames) || l.MaxTokens > 0 && v.weight > l.MaxTokens
}

func (v *view) evictOldest() {
	f := v.rolling[v.head]
	v.rolling[v.head] = nil
	v.head++
	delete(v.byID, f.ID)
	v.weight -= f.Weight()
	if v.head > len(v.rolling)/2 && v.head >= 32 {
		v.rolling = slices.Delete(v.rolling, 0, v.head)
		v.head = 0
	}
}

func (v *view) len() int { return len(v.pinned) + len(v.rolling) - v.head }

// newest returns the frames within the limits: all protected ones and the newest
// others, in order. The limits do not change the view.
func (v *view) newest(l Limits) []*Frame {
	rolling := v.rolling[v.head:]
	if l.MaxFrames > 0 {
		room := max(0, int64(l.MaxFrames)-int64(len(v.pinned)))
		rolling = rolling[max(0, int64(len(rolling))-room):]
	}
	if l.MaxTokens > 0 {
		rolling = fitting(rolling, v.pinnedWeight, l.MaxTokens)
	}
	return merge(v.pinned, rolling)
}

// fitting returns the newest frames whose weights fit, without those that would not
// fit alone.
func fitting(frames []*Frame, used, limit uint64) []*Frame {
	var fit []*Frame
	alone := used
	for _, f := range slices.Backward(frames) {
		weight := f.Weight()
		if alone+weight > limit {
			continue
		}
		if used += weight; used > limit {
			break
		}
		fit = append(fit, f)
	}
	slices.Reverse(fit)
	return fit
}

// merge merges two lists in order of the ids.
func merge(a, b []*Frame) []*Frame {
	out := make([]*Frame, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].ID < b[0].ID {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// position returns how many frames of the window come before an id.
func (v *view) position(id uint64) int {
	return before(v.pinned, id) + before(v.rolling[v.head:], id)
}

func before(frames []*Frame, id uint64) int {
	return sort.Search(len(frames), func(i int) bool { return frames[i].ID >= id })
}
